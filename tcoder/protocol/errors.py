"""One family of errors, one class per boundary. `message` says what failed, `hint` what to do about it."""

from typing import Literal

ErrorKind = Literal[
    "auth",
    "bad_request",
    "bad_response",
    "content_filter",
    "context_full",
    "network",
    "overloaded",
    "quota",
    "rate_limit",
    "timeout",
    "truncated",
    "unknown_model",
]

RETRYABLE: frozenset[ErrorKind] = frozenset({"network", "overloaded", "rate_limit", "timeout", "truncated"})


class TcoderError(Exception):
    """Base of every error that tcoder explains; anything else that escapes is a bug."""

    kind: str = "error"

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message} ({self.hint})" if self.hint else self.message


class UsageError(TcoderError):
    """Wrong flags, settings or arguments."""

    kind = "usage"


class NoModelError(TcoderError):
    """No model is configured."""

    kind = "no_model"


class ModelError(TcoderError):
    """A model call failed. `failure` is its class; `retry_after_s` is what the provider asked for, if it did."""

    kind = "model"

    def __init__(self, failure: ErrorKind, message: str, hint: str = "", *, retry_after_s: float | None = None) -> None:
        super().__init__(message, hint)
        self.failure: ErrorKind = failure
        self.retry_after_s = retry_after_s

    @property
    def retryable(self) -> bool:
        return self.failure in RETRYABLE


class WeightsError(TcoderError):
    """Weights of a local model are missing, wrong or could not be fetched."""

    kind = "weights"


class WorkspaceError(TcoderError):
    """A file, the tree or git could not be used as asked."""

    kind = "workspace"


class PatchError(WorkspaceError):
    """An edit does not apply; the message names the nearest lines so that it can be corrected in one try."""

    kind = "patch"


class GitError(WorkspaceError):
    kind = "git"


class SandboxError(TcoderError):
    """The sandbox cannot hold on this machine."""

    kind = "sandbox"


class ToolError(TcoderError):
    """A tool call failed in a way the model should see and can correct."""

    kind = "tool"


class DeniedError(TcoderError):
    """Policy, a person or the sandbox refused."""

    kind = "denied"


class JournalError(TcoderError):
    """A stored session cannot be written or read."""

    kind = "journal"


class PluginError(TcoderError):
    kind = "plugin"
