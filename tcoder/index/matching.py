"""Evidence for a query: how well units and files fit its terms (BM25 over the stored postings)."""

import heapq
import math
from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple, Protocol

from tcoder.index.languages import ROLE_FACTORS, role_of
from tcoder.index.segment import IN_NAME, IN_PARENT, MAX_COUNT, Posting, unpack
from tcoder.index.store import SegmentHead

UNIT_K1, UNIT_B = 1.2, 0.6
FILE_K1, FILE_B = 1.2, 0.75
NAME_WEIGHT, PARENT_WEIGHT = 5, 2
# work per query is bounded: entries of files that are read, files whose units are scored, files per identifier
MAX_ENTRIES = 400_000
BEST_FILES = 240
MAX_NAMED = 100
SEEK = 6
_COUNTS = tuple(
    (mark & MAX_COUNT) + NAME_WEIGHT * bool(mark & IN_NAME) + PARENT_WEIGHT * bool(mark & IN_PARENT)
    for mark in range(256)
)


class Postings(Protocol):
    def postings(self, term: str) -> list[tuple[int, bytes]]: ...


class LoadedSegment:
    """A segment's arrays in memory. `paths[ordinal]` are the files that have this content now."""

    def __init__(self, head: SegmentHead) -> None:
        self.id = head.id
        self.unit_content = memoryview(head.unit_content).cast("I")
        self.unit_length = memoryview(head.unit_length).cast("H")
        self.file_length = memoryview(head.file_length).cast("I")
        self.paths: list[tuple[str, ...]] = [()] * head.contents
        self.first_unit = array("I", [0] * (head.contents + 1))
        for content in self.unit_content:
            self.first_unit[content + 1] += 1
        for ordinal in range(head.contents):
            self.first_unit[ordinal + 1] += self.first_unit[ordinal]
        self.words = sum(self.unit_length)
        self._file_norms: list[float] = []
        self._file_mean = 0.0

    def file_norms(self, mean: float) -> list[float]:
        """BM25's length term for every file."""
        if self._file_mean != mean:
            self._file_mean = mean
            self._file_norms = [FILE_K1 * (1 - FILE_B + FILE_B * n / mean) for n in self.file_length]
        return self._file_norms


@lru_cache(2)
def unit_norms(mean: float) -> tuple[float, ...]:
    """BM25's length term for units of every length that is stored."""
    return tuple(UNIT_K1 * (1 - UNIT_B + UNIT_B * n / mean) for n in range(0x10000))


class Matches(NamedTuple):
    """Scores by segment, by file ordinal and by unit, of the files in `chosen` (ordinals by segment); `names` count
    what stands in a unit's name alone; `idf` of every term that occurs; `named` lists for each identifier the units
    (segment, unit) whose name has it."""

    chosen: dict[int, list[int]]
    files: dict[int, list[float]]
    units: dict[int, list[float]]
    names: dict[int, dict[int, float]]
    idf: dict[str, float]
    named: dict[str, list[tuple[int, int]]]


class _Term(NamedTuple):
    weight: float
    postings: dict[int, Posting]


def match(
    store: Postings, segments: Mapping[int, LoadedSegment], terms: Mapping[str, float], identifiers: Iterable[str]
) -> Matches:
    """Score all files by their whole text, and the units of the best of them. `identifiers` are the terms for which
    names are collected."""
    contents = max(sum(len(segment.paths) for segment in segments.values()), 1)
    means = _means(segments.values())
    wanted = frozenset(identifiers)
    found: list[_Term] = []
    idf: dict[str, float] = {}
    named: dict[str, list[tuple[int, int]]] = {}
    for term in sorted(terms):
        postings = {id_: unpack(data) for id_, data in store.postings(term) if id_ in segments}
        if not postings:
            continue
        frequency = sum(len(posting.files) for posting in postings.values())
        idf[term] = math.log(1 + (contents - frequency + 0.5) / (frequency + 0.5)) if frequency < contents else 0.0
        found.append(_Term(idf[term] * terms[term], postings))
        if term in wanted:
            named[term] = [
                (id_, unit)
                for id_, posting in postings.items()
                for unit, mark in zip(posting.units, posting.marks, strict=True)
                if mark & IN_NAME
            ]
    # rare terms first: when there is too much to read, the common ones are left out
    found.sort(key=lambda term: -term.weight)
    files = _score_files(found, segments, means)
    chosen = _best(files, segments, named)
    units, names = _score_units(found, segments, means, chosen)
    return Matches(chosen, files, units, names, idf, named)


def _score_files(
    terms: list[_Term], segments: Mapping[int, LoadedSegment], means: tuple[float, float]
) -> dict[int, list[float]]:
    files = {id_: [0.0] * len(segment.paths) for id_, segment in segments.items()}
    entries = 0
    for weight, postings in terms:
        for id_, posting in postings.items():
            norms = segments[id_].file_norms(means[1])
            scores = files[id_]
            for ordinal, count in zip(posting.files, posting.counts, strict=True):
                scores[ordinal] += weight * count / (count + norms[ordinal])
            entries += len(posting.files)
        if entries > MAX_ENTRIES:
            break
    return files


def _best(
    files: Mapping[int, list[float]],
    segments: Mapping[int, LoadedSegment],
    named: Mapping[str, list[tuple[int, int]]],
) -> dict[int, list[int]]:
    """By segment the ordinals of the files whose units are worth scoring, ascending."""
    scored: list[tuple[float, int, int]] = []
    for id_, scores in files.items():
        paths = segments[id_].paths
        scored += [
            (score * ROLE_FACTORS[role_of(paths[at][0])], id_, at)
            for at, score in enumerate(scores)
            if score > 0 and paths[at]
        ]
    if len(scored) > BEST_FILES:
        scored = heapq.nlargest(BEST_FILES, scored)
    chosen: dict[int, set[int]] = {}
    for _, id_, ordinal in scored:
        chosen.setdefault(id_, set()).add(ordinal)
    for hits in named.values():
        for id_, unit in hits[:MAX_NAMED]:
            chosen.setdefault(id_, set()).add(segments[id_].unit_content[unit])
    return {id_: sorted(ordinals) for id_, ordinals in chosen.items()}


def _score_units(
    terms: list[_Term],
    segments: Mapping[int, LoadedSegment],
    means: tuple[float, float],
    chosen: Mapping[int, list[int]],
) -> tuple[dict[int, list[float]], dict[int, dict[int, float]]]:
    units: dict[int, list[float]] = {}
    names: dict[int, dict[int, float]] = {}
    norms = unit_norms(means[0])
    for id_, ordinals in chosen.items():
        segment = segments[id_]
        lengths = segment.unit_length
        scores = units[id_] = [0.0] * len(segment.unit_length)
        named = names[id_] = {}
        ranges = [(segment.first_unit[at], segment.first_unit[at + 1]) for at in ordinals]
        for weight, postings in terms:
            if id_ not in postings:
                continue
            all_units, marks = postings[id_].units, postings[id_].marks
            # a short posting is read whole, of a long one only what belongs to the chosen files
            pieces = [(0, len(marks))] if len(marks) < SEEK * len(ranges) else _pieces(all_units, ranges)
            for first, last in pieces:
                for unit, mark in zip(all_units[first:last], marks[first:last], strict=True):
                    count = _COUNTS[mark]
                    scores[unit] += weight * count / (count + norms[lengths[unit]])
                    if mark & IN_NAME:
                        named[unit] = named.get(unit, 0.0) + weight
    return units, names


def _pieces(units: Sequence[int], ranges: list[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """From where to where the units of each range stand."""
    at = 0
    for first, last in ranges:
        at = bisect_left(units, first, at)
        end = bisect_left(units, last, at)
        if end > at:
            yield at, end
        at = end


def _means(segments: Iterable[LoadedSegment]) -> tuple[float, float]:
    units = words = files = 0
    for segment in segments:
        units += len(segment.unit_length)
        files += len(segment.paths)
        words += segment.words
    return _rounded(words / max(units, 1)), _rounded(words / max(files, 1))


def _rounded(mean: float) -> float:
    """A mean to two digits: it then stays the same when a file changes, and so do the norms that depend on it."""
    return max(float(f"{mean:.1e}"), 1.0)
