"""Running a command: what is asked and what comes back."""

from collections.abc import Callable
from typing import Protocol

from msgspec import Struct


class CommandResult(Struct, frozen=True):
    """`output` is the head and tail within the budget, without escape sequences; the whole lies in `spill` when it was
    cut (`omitted_bytes` > 0). `exit_code` is None when the command was ended (`timed_out`) or waits for input."""

    command: str
    exit_code: int | None
    output: str
    duration_s: float
    omitted_bytes: int = 0
    spill: str = ""
    timed_out: bool = False
    awaiting_input: bool = False
    cwd: str = ""
    notices: tuple[str, ...] = ()


class CommandRunner(Protocol):
    """Runs a bash command line in the workspace, inside the sandbox, with its whole process tree ended at the end."""

    async def run(
        self,
        command: str,
        *,
        timeout_s: float,
        cwd: str = "",
        on_output: Callable[[str], None] | None = None,
    ) -> CommandResult:
        """`cwd` is relative to the workspace root. Cancelling ends the process tree before it returns."""
        ...
