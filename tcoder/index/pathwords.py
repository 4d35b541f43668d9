"""Which paths have which words and names: an inverted index, kept up to date, so that a question looks at few paths."""

from collections import defaultdict
from collections.abc import Collection, Iterable

from tcoder.index.terms import path_terms, stem_terms

# a word of more than this many paths, and of more than this share of them, tells none from another
MANY, MANY_SHARE = 200, 0.05


class PathWords:
    def __init__(self, paths: Iterable[str]) -> None:
        self._paths: defaultdict[str, set[str]] = defaultdict(set)
        self._named: defaultdict[str, set[str]] = defaultdict(set)
        self._known = 0
        for path in paths:
            self.add(path)

    def add(self, path: str) -> None:
        """Take in a path that is not known yet."""
        self._known += 1
        self._named[path.rpartition("/")[2]].add(path)
        for term in path_terms(path):
            self._paths[term].add(path)

    def remove(self, path: str) -> None:
        """Forget a path that was taken in."""
        self._known -= 1
        _discard(self._named, path.rpartition("/")[2], path)
        for term in path_terms(path):
            _discard(self._paths, term, path)

    def named(self, name: str) -> list[str]:
        """The paths whose last part this is, sorted."""
        return sorted(self._named.get(name, ()))

    def scores(self, terms: Collection[str]) -> tuple[dict[str, float], dict[str, float]]:
        """How much of the terms is in a path, and how much of a file's name is among the terms; rare words count
        more. Paths that have none are left out."""
        # what the terms give is added up in their order, so that equal questions have equal answers
        most = max(MANY, MANY_SHARE * self._known)
        hits: defaultdict[str, list[str]] = defaultdict(list)
        counts: dict[str, int] = {}
        for term in terms:
            paths = self._paths.get(term, ())
            if 0 < len(paths) <= most:
                counts[term] = len(paths)
                for path in paths:
                    hits[path].append(term)
        whole: dict[str, float] = {}
        stems: dict[str, float] = {}
        for path, hit in hits.items():
            whole[path] = sum(1 / (1 + counts[term]) ** 0.5 for term in hit)
            own = stem_terms(path)
            if inside := [term for term in hit if term in own]:
                stems[path] = len(inside) / len(own) * sum(1 / (1 + counts[term]) ** 0.25 for term in inside)
        return whole, stems


def _discard(index: dict[str, set[str]], key: str, path: str) -> None:
    index[key].discard(path)
    if not index[key]:
        del index[key]
