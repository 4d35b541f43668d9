"""One try at the task, with what it did to the checks."""

from typing import Literal

from msgspec import Struct

AttemptVerdict = Literal["solved", "better", "same", "worse", "invalid", "repeated"]


class Attempt(Struct, frozen=True):
    """`failing_before` and `failing_after` count failing tests (-1 = not run); `signature` names the error that was
    left, so that two equal failures can be told; `diff` is a unified diff."""

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
