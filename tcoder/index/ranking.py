"""The order of files from their features. Pure: features in, scores out; the weights are fitted, see `weights.json`."""

from collections.abc import Mapping
from functools import cache
from importlib.resources import files

import msgspec
from msgspec import Struct

from tcoder.index.languages import ROLE_FACTORS, role_of

CANDIDATES = 200
RANK_SCALE = 2.0
Features = Mapping[str, Mapping[str, float]]


class Weights(Struct, frozen=True, forbid_unknown_fields=True):
    """`first` orders all files by features of their own. Of the best of them `values` weighs all features and `ranks`
    what place each feature alone would give: 1 for the first, half of it for the third, and so on. `fitted_on` says
    where the figures come from."""

    first: dict[str, float]
    values: dict[str, float]
    ranks: dict[str, float]
    fitted_on: str = ""


@cache
def weights() -> Weights:
    """The fitted weights that ship with tcoder."""
    return msgspec.json.decode((files("tcoder.index") / "weights.json").read_bytes(), type=Weights)


def order(features: Features, weighted: Mapping[str, float], limit: int) -> list[tuple[str, float]]:
    """Paths with the weighted sum of their features, best first; equal ones by path, so that answers are stable."""
    totals: dict[str, float] = {}
    for name, weight in weighted.items():
        if weight:
            for path, value in features.get(name, {}).items():
                totals[path] = totals.get(path, 0.0) + weight * value
    scored = [(path, total * ROLE_FACTORS[role_of(path)]) for path, total in totals.items() if total > 0]
    scored.sort(key=lambda pair: (-pair[1], pair[0]))
    return scored[:limit]


def places(values: Mapping[str, float]) -> dict[str, float]:
    """What place each path has by one feature alone, as `1 / (1 + place / 2)` with the first place 0."""
    scored = sorted(values, key=lambda path: (-values[path] * ROLE_FACTORS[role_of(path)], path))
    return {path: 1 / (1 + place / RANK_SCALE) for place, path in enumerate(scored)}


def refine(features: Features, fitted: Weights, limit: int) -> list[tuple[str, float]]:
    """The final order of candidates: the sum of weighted features and weighted places."""
    ranked = {f"{name} place": places(features.get(name, {})) for name, weight in fitted.ranks.items() if weight}
    weighted = dict(fitted.values) | {f"{name} place": weight for name, weight in fitted.ranks.items()}
    return order({**features, **ranked}, weighted, limit)
