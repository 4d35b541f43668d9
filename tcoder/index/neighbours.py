"""What the best files say about others: those that past commits changed with them, those in the same folder. Pure."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from posixpath import dirname

from tcoder.index.history import History
from tcoder.index.languages import role_of

LEADERS = 5
NEAR = 40
FOLDER_FILES = 4
# a commit that changed more says little about which of its files belong together
MAX_TOGETHER = 12
RARELY_CHANGED = 3


def neighbours(ordered: Sequence[tuple[str, float]], history: History) -> dict[str, dict[str, float]]:
    """Features by name from paths with their scores, best first: `together` for what was changed together with the
    best files, `folder` for what is in a folder with some of the best."""
    source = [(path, score) for path, score in ordered[: 3 * NEAR] if role_of(path) == "source"][:NEAR]
    if not source:
        return {"together": {}, "folder": {}}
    best = source[0][1]
    shares = {path: score / best for path, score in source}
    return {
        "together": _together({path: shares[path] for path, _ in source[:LEADERS]}, history),
        "folder": _folder(shares, [path for path, _ in ordered]),
    }


def _together(leaders: Mapping[str, float], history: History) -> dict[str, float]:
    """For each leader the share of its commits that changed a file, too, small commits counting more."""
    found: defaultdict[str, float] = defaultdict(float)
    for leader, share in leaders.items():
        commits = history.changing(leader)
        weight = share / (len(commits) + RARELY_CHANGED)
        for commit in commits:
            if 1 < len(commit.files) <= MAX_TOGETHER:
                each = weight / len(commit.files) ** 0.5
                for path in commit.files:
                    if path != leader:
                        found[path] += each
    return dict(found)


def _folder(shares: Mapping[str, float], paths: Sequence[str]) -> dict[str, float]:
    by_folder: defaultdict[str, list[float]] = defaultdict(list)
    for path, share in shares.items():
        by_folder[dirname(path)].append(share)
    sums = {folder: sum(sorted(found, reverse=True)[:FOLDER_FILES]) for folder, found in by_folder.items()}
    return {path: sums[folder] for path in paths if (folder := dirname(path)) in sums}
