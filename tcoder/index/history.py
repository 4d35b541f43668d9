"""What past commits say about a query: which were about the same, and what they changed. Pure."""

import math
from array import array
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from tcoder.index.past import Commit

K1, B = 1.2, 0.75
SIMILAR = 40
# a commit that lies this many commits back counts half as much as the last one
HALF_LIFE = 2_000


class Similar(NamedTuple):
    """A commit like the query, `score` relative to the best."""

    score: float
    commit: Commit


class Echo(NamedTuple):
    """Scores by path: `messages` is BM25 of all messages that touched a file, `fixes` sums the most similar commits;
    `similar` has these, best first."""

    messages: dict[str, float]
    fixes: dict[str, float]
    similar: tuple[Similar, ...]


class History:
    """Commits, newest first."""

    def __init__(self, commits: Sequence[Commit] = ()) -> None:
        self.commits = tuple(commits)
        self._postings: defaultdict[str, array[int]] = defaultdict(lambda: array("H"))
        lengths: defaultdict[str, int] = defaultdict(int)
        self._changing: defaultdict[str, array[int]] = defaultdict(lambda: array("H"))
        for ordinal, commit in enumerate(self.commits):
            length = 0
            for term, count in commit.terms.items():
                self._postings[term].append(ordinal)
                length += count
            for path in commit.files:
                lengths[path] += length
                self._changing[path].append(ordinal)
        self._lengths = dict(lengths)
        self._mean = max(sum(lengths.values()) / len(lengths), 1.0) if lengths else 1.0

    def changing(self, path: str) -> list[Commit]:
        """The commits that changed a file, newest first."""
        return [self.commits[ordinal] for ordinal in self._changing.get(path, ())]

    def echo(self, terms: Mapping[str, float]) -> Echo:
        """Score the files of commits whose messages share terms with a query."""
        total = len(self.commits)
        by_commit: defaultdict[int, float] = defaultdict(float)
        by_file: defaultdict[str, float] = defaultdict(float)
        mean = max(sum(len(commit.terms) for commit in self.commits) / max(total, 1), 1.0)
        for term, weight in sorted(terms.items()):
            found = self._postings.get(term)
            if not found:
                continue
            idf = math.log(1 + (total - len(found) + 0.5) / (len(found) + 0.5)) * weight
            counts: defaultdict[str, int] = defaultdict(int)
            for ordinal in found:
                commit = self.commits[ordinal]
                norm = K1 * (1 - B + B * len(commit.terms) / mean)
                by_commit[ordinal] += idf * (1 + K1) / (1 + norm)
                for path in commit.files:
                    counts[path] += 1
            for path, count in counts.items():
                by_file[path] += idf * count / (count + K1 * (1 - B + B * self._lengths[path] / self._mean))
        best = sorted(by_commit, key=lambda ordinal: (-by_commit[ordinal], ordinal))[:SIMILAR]
        top = by_commit[best[0]] if best else 1.0
        fixes: defaultdict[str, float] = defaultdict(float)
        similar: list[Similar] = []
        for ordinal in best:
            share = by_commit[ordinal] / top
            similar.append(Similar(share, self.commits[ordinal]))
            files = self.commits[ordinal].files
            for path in files:
                fixes[path] += share**2 * 0.5 ** (ordinal / HALF_LIFE) / math.sqrt(len(files))
        return Echo(dict(by_file), dict(fixes), tuple(similar))
