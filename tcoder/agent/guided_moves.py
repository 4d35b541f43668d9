"""What the guided strategy tries in which order: cheap and likely first, each suspect before the next but one."""

from collections.abc import Iterator, Sequence
from typing import Literal

from msgspec import Struct

from tcoder.agent.suspects import Suspect

NEAR_BEST = 0.4
MAX_REWRITE_LINES = 60
HOT = 0.8


class Move(Struct, frozen=True):
    """One step: ask for the statements at gaps `first` to `last` (counted in the suspect's order) to be filled in, for
    the whole function anew, or try small edits without a model."""

    kind: Literal["fill", "rewrite", "edits"]
    suspect: Suspect
    first: int = 0
    last: int = 0
    temperature: float = 0.0
    seed: int = 0


def schedule(suspects: Sequence[Suspect], *, can_fill: bool) -> Iterator[Move]:
    """Moves in order; finite. The best suspect gets most; those far behind it, and statements outside of functions,
    come later. A model that cannot fill gaps is asked for whole functions first."""
    if not suspects:
        return
    best = suspects[0].score
    close = [one for one in suspects[:4] if one.score >= NEAR_BEST * best and one.unit.kind == "function"][:3]
    others = [one for one in suspects if one not in close]
    for at, suspect in enumerate(close):
        if can_fill:
            yield Move("edits", suspect, 0, (6, 3, 2)[at])
            yield Move("fill", suspect, 0, (8, 5, 4)[at])
        else:
            yield from _rewrites([suspect], 0.0, 1)
        yield Move("edits", suspect, 0, (26, 14, 10)[at])
        if at == 0:
            yield from _rewrites([suspect], 0.2, 2)
    yield from _rewrites(close[1:], 0.2, 2)
    for suspect in others[:4]:
        yield Move("edits", suspect, 0, 6)
        if can_fill:
            yield Move("fill", suspect, 0, 3)
        yield Move("edits", suspect, 6, 14)
    if can_fill:
        for at, suspect in enumerate(close):
            yield Move("fill", suspect, (8, 5, 4)[at], (18, 10, 8)[at])
            yield Move("fill", suspect, 0, (6, 4, 3)[at], HOT)
    for at, suspect in enumerate(close):
        yield Move("edits", suspect, (26, 14, 10)[at], (80, 50, 30)[at])
    for seed in (3, 4):
        yield from _rewrites(close, HOT, seed)
    for suspect in others[4:]:
        yield Move("edits", suspect, 0, 8)


def _rewrites(suspects: Sequence[Suspect], temperature: float, seed: int) -> Iterator[Move]:
    for suspect in suspects:
        if suspect.unit.length <= MAX_REWRITE_LINES:
            yield Move("rewrite", suspect, temperature=temperature, seed=seed)
