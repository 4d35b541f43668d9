"""What the guided strategy tries in which order: cheap and likely first, each suspect before the next but one."""

from collections.abc import Iterator, Sequence
from typing import Literal

from msgspec import Struct

from tcoder.agent.suspects import Suspect

NEAR_BEST = 0.4
CLOSE, REWRITTEN = 3, 4
MAX_REWRITE_LINES, MAX_FIRST_LINES = 60, 40
HOT = 0.8


class Move(Struct, frozen=True):
    """One step: ask for the statements at gaps `first` to `last` (counted in the suspect's order) to be filled in, for
    statements to be inserted there, for the whole function anew, or try small edits without a model."""

    kind: Literal["fill", "insert", "rewrite", "edits"]
    suspect: Suspect
    first: int = 0
    last: int = 0
    temperature: float = 0.0
    seed: int = 0


def schedule(suspects: Sequence[Suspect], *, can_fill: bool) -> Iterator[Move]:
    """Moves in order; finite. Small edits cost a short test run; a whole short function costs as much of a small
    model's time as three gaps, and repairs several lines at once; so both come before gaps. A little of every suspect
    comes before much of one, and hot answers last: a model that is asked again mostly says the same."""
    if not suspects:
        return
    best = suspects[0].score
    close = [one for one in suspects[: CLOSE + 1] if one.score >= NEAR_BEST * best and one.unit.kind == "function"]
    close = close[:CLOSE]
    others = [one for one in suspects if one not in close]
    tables = [one for one in others if one.unit.kind != "function" and one.unit.length > 1][:1]
    short = [one for one in suspects if one.unit.kind == "function" and one.unit.length <= MAX_FIRST_LINES]
    for at, suspect in enumerate(close):
        yield Move("edits", suspect, 0, (6, 4, 4)[at])
        if suspect in short or not can_fill:
            yield from _rewrites([suspect], 0.0, 1)
    if can_fill:
        for suspect in close[:1]:
            yield Move("fill", suspect, 0, 3)
        for suspect in tables:
            yield Move("fill", suspect, 0, 2)
    for suspect in others:
        yield Move("edits", suspect, 0, 3)
    yield from _rewrites([one for one in short[: REWRITTEN + CLOSE] if one not in close][:REWRITTEN], 0.0, 1)
    for at, suspect in enumerate(close):
        yield Move("edits", suspect, (6, 4, 4)[at], (18, 12, 10)[at])
        if can_fill:
            yield Move("fill", suspect, 3 if not at else 0, (6, 4, 4)[at])
            yield Move("insert", suspect, 0, 2)
    yield from _rewrites([one for one in close if one not in short], 0.0, 1)
    for suspect in others[:4]:
        yield Move("edits", suspect, 3, 12)
        if can_fill:
            yield Move("fill", suspect, 0, 2)
    yield from _rewrites(close, HOT, 2)
    for at, suspect in enumerate(close):
        yield Move("edits", suspect, (18, 12, 10)[at], (80, 50, 30)[at])
        if can_fill:
            yield Move("fill", suspect, (6, 4, 4)[at], (18, 12, 10)[at])
            yield Move("fill", suspect, 0, (6, 4, 3)[at], HOT)
            yield Move("insert", suspect, 2, 6)
    for seed in (3, 4):
        yield from _rewrites(close, HOT, seed)
    for suspect in others[4:]:
        yield Move("edits", suspect, 3, 8)


def _rewrites(suspects: Sequence[Suspect], temperature: float, seed: int) -> Iterator[Move]:
    for suspect in suspects:
        if suspect.unit.length <= MAX_REWRITE_LINES:
            yield Move("rewrite", suspect, temperature=temperature, seed=seed)
