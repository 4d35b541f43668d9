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
    """Moves in order; finite. Suspects far behind the best come in the later rounds only."""
    if not suspects:
        return
    best = suspects[0].score
    close = [suspect for suspect in suspects[:3] if suspect.score >= NEAR_BEST * best]
    others = [suspect for suspect in suspects if suspect not in close]
    if can_fill:
        for at, suspect in enumerate(close):
            yield Move("fill", suspect, 0, (6, 4, 3)[at])
    else:
        yield from _rewrites(close[:2], 0.0, 0)
    for at, suspect in enumerate(close):
        yield Move("edits", suspect, 0, (28, 18, 12)[at])
    yield from _rewrites(close[:2], 0.2, 1)
    for suspect in others[:4]:
        if can_fill:
            yield Move("fill", suspect, 0, 3)
        yield Move("edits", suspect, 0, 12)
    if can_fill:
        for at, suspect in enumerate(close):
            yield Move("fill", suspect, (6, 4, 3)[at], (16, 10, 8)[at])
    for at, suspect in enumerate(close):
        yield Move("edits", suspect, (28, 18, 12)[at], (70, 50, 30)[at])
    for seed in (2, 3):
        yield from _rewrites(close, HOT, seed)
    for suspect in others[4:]:
        yield Move("edits", suspect, 0, 8)


def _rewrites(suspects: Sequence[Suspect], temperature: float, seed: int) -> Iterator[Move]:
    for suspect in suspects:
        if suspect.unit.length <= MAX_REWRITE_LINES:
            yield Move("rewrite", suspect, temperature=temperature, seed=seed)
