"""The order of files from their features. Pure: features in, scores out; the weights are fitted, see `weights.json`."""

from collections.abc import Mapping
from functools import cache
from importlib.resources import files

import msgspec
from msgspec import Struct

from tcoder.index.languages import role_of
from tcoder.protocol.location import FileRole

CANDIDATES = 200
# a task is rarely about changing what is not source; what is named outright still gets to the top
ROLE_FACTORS: dict[FileRole, float] = {
    "source": 1.0,
    "data": 0.35,
    "docs": 0.3,
    "test": 0.4,
    "generated": 0.2,
    "vendored": 0.2,
}


class Weights(Struct, frozen=True, forbid_unknown_fields=True):
    """`first` orders all files by features of their own, `final` the best of them by all features. `fitted_on` says
    where the figures come from."""

    first: dict[str, float]
    final: dict[str, float]
    fitted_on: str = ""


@cache
def weights() -> Weights:
    """The fitted weights that ship with tcoder."""
    return msgspec.json.decode((files("tcoder.index") / "weights.json").read_bytes(), type=Weights)


def order(
    features: Mapping[str, Mapping[str, float]], weighted: Mapping[str, float], limit: int
) -> list[tuple[str, float]]:
    """Paths with the weighted sum of their features, best first; equal ones by path, so that answers are stable."""
    totals: dict[str, float] = {}
    for name, weight in weighted.items():
        if weight:
            for path, value in features.get(name, {}).items():
                totals[path] = totals.get(path, 0.0) + weight * value
    scored = [(path, total * ROLE_FACTORS[role_of(path)]) for path, total in totals.items() if total > 0]
    scored.sort(key=lambda pair: (-pair[1], pair[0]))
    return scored[:limit]
