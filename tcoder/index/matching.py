"""Evidence for a query: how well units and files fit its terms (BM25 over the stored postings)."""

import heapq
import math
from array import array
from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import chain
from operator import mul
from typing import NamedTuple, Protocol

from tcoder.index.languages import ROLE_FACTORS, role_of
from tcoder.index.segment import IN_NAME, IN_PARENT, MAX_COUNT, Posting, unpack
from tcoder.index.store import SegmentHead

UNIT_K1, UNIT_B = 1.2, 0.6
FILE_K1, FILE_B = 1.2, 0.75
NAME_WEIGHT, PARENT_WEIGHT = 5, 2
# work per query is bounded: postings that are looked up, the terms that say most, entries of files that are read, files
# whose units are scored, files per identifier
MAX_LOOKUPS = 15_000
LEAST_TERMS = 24
MAX_TERMS = 60
MAX_ENTRIES = 150_000
BEST_FILES = 240
MAX_NAMED = 100
SEEK = 6
_COUNTS = tuple(
    (mark & MAX_COUNT) + NAME_WEIGHT * bool(mark & IN_NAME) + PARENT_WEIGHT * bool(mark & IN_PARENT)
    for mark in range(256)
)
# in so few files a word that all of them have still says something
FEW = 20


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
        self._factors: list[float] = []
        self._file_norms: list[float] = []
        self._file_mean = 0.0

    def attach(self, ordinal: int, paths: tuple[str, ...]) -> None:
        """Say which files have a content now."""
        self.paths[ordinal] = paths
        self._factors = []

    def detach_all(self) -> None:
        self.paths = [()] * len(self.paths)
        self._factors = []

    def role_factors(self) -> list[float]:
        """What each file's score is multiplied with for its role, 0 for a content that no file has."""
        if not self._factors:
            self._factors = [ROLE_FACTORS[role_of(paths[0])] if paths else 0.0 for paths in self.paths]
        return self._factors

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


class Part(NamedTuple):
    """What a part of the terms gives by itself, each of them weighing the same: scores by segment, by the ordinals of
    chosen files and by unit; `names` as in `Matches`."""

    files: dict[int, dict[int, float]]
    units: dict[int, dict[int, float]]
    names: dict[int, dict[int, float]]


class Matches(NamedTuple):
    """Scores by segment, by file ordinal and by unit, of the files in `chosen` (ordinals by segment); `names` count
    what stands in a unit's name alone; `idf` of every term that occurs; `named` lists for each identifier the units
    (segment, unit) whose name has it; `parts` in the order in which they were asked for."""

    chosen: dict[int, list[int]]
    files: dict[int, list[float]]
    units: dict[int, list[float]]
    names: dict[int, dict[int, float]]
    idf: dict[str, float]
    named: dict[str, list[tuple[int, int]]]
    parts: tuple[Part, ...] = ()


class _Term(NamedTuple):
    """`idf` is its weight in a part; `parts` are the numbers of those that it belongs to."""

    weight: float
    postings: dict[int, Posting]
    idf: float
    parts: tuple[int, ...]


def match(
    store: Postings,
    segments: Mapping[int, LoadedSegment],
    terms: Mapping[str, float],
    identifiers: Iterable[str],
    parts: Sequence[Collection[str]] = (),
) -> Matches:
    """Score all files by their whole text, and the units of the best of them. `identifiers` are the terms for which
    names are collected, `parts` are terms that are scored by themselves as well."""
    contents = max(sum(len(segment.paths) for segment in segments.values()), 1)
    means = _means(segments.values())
    wanted = frozenset(identifiers)
    found: list[_Term] = []
    idf: dict[str, float] = {}
    named: dict[str, list[tuple[int, int]]] = {}
    for term in _worth_reading(terms, len(segments)):
        postings = {id_: unpack(data) for id_, data in store.postings(term) if id_ in segments}
        if not postings:
            continue
        frequency = sum(len(posting.files) for posting in postings.values())
        idf[term] = (
            math.log(1 + (contents - frequency + 0.5) / (frequency + 0.5))
            if frequency < contents or contents <= FEW
            else 0.0
        )
        member = tuple(number for number, part in enumerate(parts) if term in part)
        found.append(_Term(idf[term] * terms[term], postings, idf[term], member))
        if term in wanted:
            named[term] = [
                (id_, unit)
                for id_, posting in postings.items()
                for unit, mark in zip(posting.units, posting.marks, strict=True)
                if mark & IN_NAME
            ]
    # rare terms first: when there is too much to read, the common ones are left out
    found.sort(key=lambda term: -term.weight)
    found = found[:MAX_TERMS]
    files = _score_files(found, segments, means)
    chosen = _best(files, segments, named)
    own = tuple(Part({}, {}, {}) for _ in parts)
    units, names = _score_units(found, segments, means, chosen, own)
    return Matches(chosen, files, units, names, idf, named, own)


def _worth_reading(terms: Mapping[str, float], segments: int) -> list[str]:
    """The terms in a stable order; in an index of very many segments only those that stand out in the text, the longest
    first, which are the rarest as a rule."""
    most = max(MAX_LOOKUPS // max(segments, 1), LEAST_TERMS)
    if len(terms) <= most:
        return sorted(terms)
    return sorted(sorted(terms, key=lambda term: (-terms[term], -len(term), term))[:most])


def _score_files(
    terms: list[_Term], segments: Mapping[int, LoadedSegment], means: tuple[float, float]
) -> dict[int, list[float]]:
    files = {id_: [0.0] * len(segment.paths) for id_, segment in segments.items()}
    entries = 0
    for weight, postings, _, _ in terms:
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
    weighted = {id_: [*map(mul, scores, segments[id_].role_factors())] for id_, scores in files.items()}
    # sorting in C costs less than looking at each file in turn
    highest = sorted(chain.from_iterable(weighted.values()), reverse=True)
    least = highest[BEST_FILES - 1] if len(highest) > BEST_FILES else 0.0
    scored = [
        (score, id_, at)
        for id_, scores in weighted.items()
        for at, score in enumerate(scores)
        if score >= least and score
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
    parts: tuple[Part, ...],
) -> tuple[dict[int, list[float]], dict[int, dict[int, float]]]:
    """Scores of units and of what stands in their names. Fills the parts as well."""
    units: dict[int, list[float]] = {}
    names: dict[int, dict[int, float]] = {}
    norms = unit_norms(means[0])
    for id_, ordinals in chosen.items():
        segment = segments[id_]
        lengths = segment.unit_length
        scores = units[id_] = [0.0] * len(segment.unit_length)
        named = names[id_] = {}
        for part in parts:
            part.files[id_], part.units[id_], part.names[id_] = {}, {}, {}
        ranges = [(segment.first_unit[at], segment.first_unit[at + 1]) for at in ordinals]
        for weight, postings, idf, member in terms:
            if id_ not in postings:
                continue
            posting = postings[id_]
            all_units, marks = posting.units, posting.marks
            # a short posting is read whole, of a long one only what belongs to the chosen files
            pieces = [(0, len(marks))] if len(marks) < SEEK * len(ranges) else _pieces(all_units, ranges)
            if member:
                own = [parts[number] for number in member]
                _score_files_of(own, id_, idf, posting, ordinals, segment.file_norms(means[1]))
                by_unit = [(part.units[id_], part.names[id_]) for part in own]
                for first, last in pieces:
                    for unit, mark in zip(all_units[first:last], marks[first:last], strict=True):
                        count = _COUNTS[mark]
                        share = count / (count + norms[lengths[unit]])
                        scores[unit] += weight * share
                        for part_scores, _ in by_unit:
                            part_scores[unit] = part_scores.get(unit, 0.0) + idf * share
                        if mark & IN_NAME:
                            named[unit] = named.get(unit, 0.0) + weight
                            for _, part_names in by_unit:
                                part_names[unit] = part_names.get(unit, 0.0) + idf
                continue
            for first, last in pieces:
                for unit, mark in zip(all_units[first:last], marks[first:last], strict=True):
                    count = _COUNTS[mark]
                    scores[unit] += weight * count / (count + norms[lengths[unit]])
                    if mark & IN_NAME:
                        named[unit] = named.get(unit, 0.0) + weight
    return units, names


def _score_files_of(
    parts: list[Part], id_: int, idf: float, posting: Posting, ordinals: list[int], norms: list[float]
) -> None:
    """What one term gives to the whole texts of chosen files, in the parts that it belongs to."""
    counts = dict(zip(posting.files, posting.counts, strict=True))
    for ordinal in ordinals:
        if count := counts.get(ordinal):
            score = idf * count / (count + norms[ordinal])
            for part in parts:
                files = part.files[id_]
                files[ordinal] = files.get(ordinal, 0.0) + score


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
