"""How a run ended."""

from enum import IntEnum
from typing import Literal

from msgspec import Struct

from tcoder.protocol.budget import Usage


class ExitCode(IntEnum):
    """The process's exit codes, part of the command-line contract."""

    DONE = 0
    BUG = 1
    USAGE = 2
    CHECKS_FAIL = 3
    DENIED = 4
    BUDGET = 5
    MODEL_UNUSABLE = 6
    NO_PROGRESS = 7
    RETRY_LATER = 75
    NO_MODEL = 78
    INTERRUPTED = 130
    TERMINATED = 143


Status = Literal[
    "done",
    "checks_fail",
    "denied",
    "budget",
    "model_unusable",
    "no_progress",
    "retry_later",
    "interrupted",
    "error",
]


class Duration(Struct, frozen=True):
    """Seconds: `harness` is what is neither model nor tools."""

    total: float = 0.0
    model: float = 0.0
    tools: float = 0.0
    harness: float = 0.0


class Outcome(Struct, frozen=True):
    """The end of a turn. `verified`: True = the tests that should pass do, False = they do not, None = nothing could
    be run. `answer` is the model's last text, or what tcoder says in its place."""

    status: Status
    exit_code: int
    answer: str
    verified: bool | None = None
    reason: str = ""
    usage: Usage = Usage()
    duration_s: Duration = Duration()
    warnings: tuple[str, ...] = ()
