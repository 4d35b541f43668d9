"""What a test runner is to tcoder: how its command is changed so that it tells more, and how its answer is read."""

from collections.abc import Callable, Mapping
from pathlib import Path

from msgspec import Struct

from tcoder.protocol.checks import CheckCommand, TestResult


class Invocation(Struct, frozen=True):
    """What is really run. `files` are put into a private folder, `$TCODER_CHECKS`, before; `environment` values may
    use it; `reports` are shell patterns of files in it that are brought back. Nothing of it is in the work tree."""

    command: str
    environment: Mapping[str, str] = {}
    files: Mapping[str, str] = {}
    reports: tuple[str, ...] = ()


class RunnerOutput(Struct, frozen=True):
    """What came back: the report files by name, the printed text (without escape sequences), the exit code (None =
    ended from outside)."""

    reports: Mapping[str, bytes]
    text: str
    exit_code: int | None
    root: Path


class Parsed(Struct, frozen=True):
    """`problem` says what could not be read or did not run; `tests` are what could be read all the same."""

    tests: tuple[TestResult, ...] = ()
    problem: str = ""


class Runner(Struct, frozen=True):
    """`invoke(command, select)` gives the invocation; an empty selection means all tests. `parse` never raises."""

    name: str
    invoke: Callable[[CheckCommand, tuple[str, ...]], Invocation]
    parse: Callable[[RunnerOutput], Parsed]


def plain_invocation(command: CheckCommand, select: tuple[str, ...]) -> Invocation:
    """The command as it is, with the selection as arguments."""
    return Invocation(" ".join([command.command, *(quote(name) for name in select)]))


def quote(text: str) -> str:
    """One shell word."""
    return "'" + text.replace("'", "'\\''") + "'"
