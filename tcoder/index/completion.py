"""Fuzzy matching of paths for completion. Pure."""

from collections.abc import Iterable


def rank(paths: Iterable[str], fragment: str, limit: int) -> list[str]:
    """Paths that hold the fragment's characters in order, best first: the name's beginning, the name, the path, and
    then scattered ones; shorter paths first among equals."""
    wanted = fragment.lower().lstrip("./")
    if not wanted:
        return sorted(paths, key=lambda path: (path.count("/"), path))[:limit]
    scored: list[tuple[int, int, str]] = []
    for path in paths:
        lower = path.lower()
        at = lower.find(wanted)
        if at >= 0:
            start = lower.rstrip("/").rfind("/") + 1
            grade = 0 if lower.startswith(wanted, start) else 1 if at >= start else 2
            if at and grade == 2 and lower[at - 1] != "/":
                grade = 3
        elif _in_order(lower, wanted):
            grade = 4
        else:
            continue
        scored.append((grade, len(path), path))
    scored.sort()
    return [path for _, _, path in scored[:limit]]


def _in_order(text: str, wanted: str) -> bool:
    position = 0
    for character in wanted:
        position = text.find(character, position) + 1
        if not position:
            return False
    return True
