"""Running a command: what is asked and what comes back."""

from collections.abc import Callable
from typing import Protocol

from msgspec import Struct


class CommandResult(Struct, frozen=True):
    """`output` is the head and tail within the budget, without escape sequences; the whole lies in `spill` when it was
    cut (`omitted_bytes` > 0). `exit_code` is None when the command was ended (`timed_out`) or waits for input: then
    `output` ends with what is on the screen, and the command lives on until it is answered, ended, or another one runs.
    `cwd` is the folder the next command starts in; `notices` are sentences about what else happened."""

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


class JobView(Struct, frozen=True):
    """Something that runs in the background, or ran: `number` names it within the session, `exit_code` is None while it
    runs and when it is not known. `pid` is the number that the operating system outside of the sandbox uses."""

    number: int
    command: str
    running: bool
    exit_code: int | None = None
    pid: int = 0
    output_bytes: int = 0


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
        """`cwd` is relative to the workspace root and holds for this command only; without it the command starts where
        the last one stopped. Cancelling ends the process tree before it returns."""
        ...
