"""Why a turn stops before the model says it is done."""

from tcoder.protocol.errors import ErrorKind, ModelError, TcoderError
from tcoder.protocol.outcome import ExitCode, Status


class Halt(TcoderError):  # noqa: N818 - a clean stop is no error
    """A clean stop with a status and an exit code. `answer` is what is told instead of the model's last word."""

    kind = "halt"

    def __init__(self, status: Status, code: ExitCode, reason: str, hint: str = "") -> None:
        super().__init__(reason, hint)
        self.status: Status = status
        self.code = code


def budget_spent(reason: str) -> Halt:
    return Halt("budget", ExitCode.BUDGET, reason, "raise the limit, or continue with `tcoder -c`")


def no_progress(reason: str, hint: str = "") -> Halt:
    return Halt("no_progress", ExitCode.NO_PROGRESS, reason, hint)


LATER: frozenset[ErrorKind] = frozenset({"network", "overloaded", "rate_limit", "timeout", "truncated"})


def of_model(error: ModelError) -> Halt:
    """A model that gave no answer: either worth retrying later (75) or not usable as it is (6)."""
    if error.failure in LATER:
        return Halt("retry_later", ExitCode.RETRY_LATER, error.message, error.hint)
    return Halt("model_unusable", ExitCode.MODEL_UNUSABLE, error.message, error.hint)


def refused(text: str) -> Halt:
    return Halt("model_unusable", ExitCode.MODEL_UNUSABLE, f"the model refused: {text[:300] or 'without a reason'}")
