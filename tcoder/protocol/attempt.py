"""One try at the task, with what it did to the checks."""

from decimal import Decimal
from typing import Literal

from msgspec import Struct

AttemptVerdict = Literal["solved", "better", "same", "worse", "invalid", "repeated"]


class Attempt(Struct, frozen=True):
    """`failing_before` and `failing_after` count failing tests (-1 = not run); `signature` names the error that was
    left, so that two equal failures can be told; `diff` is a unified diff against the state before the first attempt of
    the turn.

    `new_failures` are tests that passed before and fail now, the first of them. `patch_id` is a patch of this attempt
    (going back to it takes the attempt away), `checkpoint_id` the tree with it (going back to it brings it back).
    `fingerprint` is the same for patches that differ in layout and comments only, empty when it is not known; `base`
    names the tree that it applies to. `full` = all tests ran. `calls`, `tokens` and `cost` (US dollars) are what the
    model spent on it, cost None = unknown. An attempt with the number of an earlier one of its turn replaces it."""

    number: int
    hypothesis: str
    diff: str
    failing_before: int
    failing_after: int
    verdict: AttemptVerdict
    signature: str = ""
    patch_id: str = ""
    duration_s: float = 0.0
    variant: str = ""
    kept: bool = False
    new_failures: tuple[str, ...] = ()
    checkpoint_id: str = ""
    base: str = ""
    fingerprint: str = ""
    full: bool = True
    calls: int = 0
    tokens: int = 0
    cost: Decimal | None = None
