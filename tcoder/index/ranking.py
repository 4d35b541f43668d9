"""The order of files and symbols from what was found about them. Pure: features in, scores and reasons out."""

from typing import NamedTuple

from tcoder.protocol.location import FileRole

FEATURES = ("symbol", "file", "name", "path", "mention", "frame", "history", "exact")
ROLE_FACTORS: dict[FileRole, float] = {
    "source": 1.0,
    "data": 0.35,
    "docs": 0.3,
    "test": 0.4,
    "generated": 0.2,
    "vendored": 0.2,
}


class Candidate(NamedTuple):
    """A file with its features, each 0..1 of the best in this answer."""

    path: str
    role: FileRole
    features: dict[str, float]


def scale(values: dict[str, float]) -> dict[str, float]:
    """Values as shares of the largest."""
    top = max(values.values(), default=0.0)
    return {key: value / top for key, value in values.items() if value > 0} if top > 0 else {}


def score(candidate: Candidate, weights: dict[str, float]) -> float:
    total = sum(weights[name] * value for name, value in candidate.features.items())
    return total * ROLE_FACTORS[candidate.role]


def order(candidates: list[Candidate], weights: dict[str, float]) -> list[tuple[float, Candidate]]:
    """Best first; equal scores by path, so that an answer is always the same."""
    scored = [(score(candidate, weights), candidate) for candidate in candidates]
    return sorted(scored, key=lambda pair: (-pair[0], pair[1].path))
