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
    """Moves in order; finite. A little of every suspect first, since the cause is mostly among the first lines of one
    of them, then more of the best. A model that cannot fill gaps is asked for whole functions first."""
    if not suspects:
        return
    best = suspects[0].score
    close = [one for one in suspects[:4] if one.score >= NEAR_BEST * best and one.unit.kind == "function"][:3]
    others = [one for one in suspects if one not in close]
    for at, suspect in enumerate(close):
        yield Move("edits", suspect, 0, (6, 4, 4)[at])
        if can_fill:
            yield Move("fill", suspect, 0, (4, 3, 3)[at])
        else:
            yield from _rewrites([suspect], 0.0, 1)
    for suspect in others[:3]:
        yield Move("edits", suspect, 0, 4)
        if can_fill:
            yield Move("fill", suspect, 0, 2)
    for at, suspect in enumerate(close):
        yield Move("edits", suspect, (6, 4, 4)[at], (26, 14, 12)[at])
        yield from _rewrites([suspect], 0.2, 2)
        if can_fill:
            yield Move("fill", suspect, (4, 3, 3)[at], (9, 7, 6)[at])
    for suspect in others[:4]:
        yield Move("edits", suspect, 4, 14)
    if can_fill:
        for at, suspect in enumerate(close):
            yield Move("fill", suspect, (9, 7, 6)[at], (18, 12, 10)[at])
            yield Move("fill", suspect, 0, (6, 4, 3)[at], HOT)
    for at, suspect in enumerate(close):
        yield Move("edits", suspect, (26, 14, 12)[at], (80, 50, 30)[at])
    for seed in (3, 4):
        yield from _rewrites(close, HOT, seed)
    for suspect in others[4:]:
        yield Move("edits", suspect, 0, 8)


def _rewrites(suspects: Sequence[Suspect], temperature: float, seed: int) -> Iterator[Move]:
    for suspect in suspects:
        if suspect.unit.length <= MAX_REWRITE_LINES:
            yield Move("rewrite", suspect, temperature=temperature, seed=seed)
