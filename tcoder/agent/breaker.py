"""Notices a model that runs in circles: pure, over the last steps of a turn."""

from collections.abc import Sequence
from typing import Literal

from msgspec import Struct

WARN_REPEATS = 4
STOP_REPEATS = 8
WARN_CYCLES = 3
STOP_CYCLES = 5
LONGEST_CYCLE = 4
MEMORY = STOP_CYCLES * LONGEST_CYCLE


class Step(Struct, frozen=True):
    """One tool call with what came of it; `waits` marks a call that waits for something and may repeat."""

    call: str
    result: str
    waits: bool = False


class Finding(Struct, frozen=True):
    action: Literal["go", "warn", "stop"]
    reason: str = ""


GO = Finding("go")


def inspect(steps: Sequence[Step]) -> Finding:
    """Warn exactly when a pattern reaches its warning length, stop when it reaches its limit.

    A pattern is the same call with the same result, or a cycle of two to four calls with the same results. A call
    whose result differs each time is no pattern: something moves. Waiting calls may repeat four times as often.
    """
    if not steps:
        return GO
    patience = 4 if steps[-1].waits else 1
    repeats = _cycles(steps, 1)
    if repeats >= STOP_REPEATS * patience:
        return Finding("stop", f"the same call gave the same result {repeats} times")
    if repeats == WARN_REPEATS * patience:
        return Finding("warn", f"the same call gave the same result {repeats} times")
    for length in range(2, LONGEST_CYCLE + 1):
        cycles = _cycles(steps, length)
        if cycles >= STOP_CYCLES * patience:
            return Finding("stop", f"the same {length} calls with the same results came {cycles} times")
        if cycles == WARN_CYCLES * patience and repeats == 1 and len(steps) % length == 0:
            return Finding("warn", f"the same {length} calls with the same results came {cycles} times")
    return GO


def _cycles(steps: Sequence[Step], length: int) -> int:
    """How often the last `length` steps stand there in a row; cycles of one repeated step count as length one only."""
    last = tuple(steps[-length:])
    if len(last) < length or (length > 1 and len(set(last)) == 1):
        return 0
    count = 0
    end = len(steps)
    while end >= length and tuple(steps[end - length : end]) == last:
        count += 1
        end -= length
    return count
