"""Whether a failed call is tried again, and when. Pure."""

from tcoder.models.wire.faults import UnreachableError
from tcoder.protocol.errors import ErrorKind, ModelError

_TRIES: dict[ErrorKind, int] = {"rate_limit": 20, "overloaded": 8, "network": 5, "truncated": 3, "timeout": 1}
_TRIES_UNREACHABLE = 2
_FIRST_S: dict[ErrorKind, float] = {"overloaded": 1.0, "rate_limit": 1.0}
_LONGEST_S = 20.0


def wait_before_retry(
    error: ModelError, failures: int, waited_s: float, budget_s: float, chance: float
) -> float | None:
    """Seconds to wait before the next try; None = give up. `failures` counts from 1, `waited_s` is what was waited for
    this request already, `chance` in [0, 1) spreads clients that failed together. What the provider asks for is obeyed
    if the budget allows it, and never shortened."""
    if not error.retryable:
        return None
    tries = _TRIES_UNREACHABLE if isinstance(error, UnreachableError) else _TRIES.get(error.failure, 0)
    if failures > tries:
        return None
    if error.retry_after_s is not None:
        wait = error.retry_after_s + 0.25 * chance
    else:
        wait = min(_FIRST_S.get(error.failure, 0.4) * 2.0 ** (failures - 1), _LONGEST_S) * (0.5 + chance)
    return wait if waited_s + wait <= budget_s else None
