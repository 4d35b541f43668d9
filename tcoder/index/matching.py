"""Evidence for a query: how well units and files fit its terms (BM25 over the stored postings)."""

import math
from array import array
from collections.abc import Iterable, Mapping
from typing import NamedTuple, Protocol

from tcoder.index.segment import IN_NAME, IN_PARENT, MAX_COUNT, unpack
from tcoder.index.store import SegmentHead

UNIT_K1, UNIT_B = 1.2, 0.6
FILE_K1, FILE_B = 1.2, 0.75
NAME_WEIGHT, PARENT_WEIGHT = 5, 2
# work per query is bounded: rare terms first, and no more entries than this
MAX_ENTRIES = 250_000
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
        self._unit_norms: list[float] = []
        self._file_norms: list[float] = []
        self._means = (0.0, 0.0)

    def norms(self, unit_mean: float, file_mean: float) -> tuple[list[float], list[float]]:
        """BM25's length term for every unit and file."""
        if self._means != (unit_mean, file_mean):
            self._means = (unit_mean, file_mean)
            self._unit_norms = [UNIT_K1 * (1 - UNIT_B + UNIT_B * n / unit_mean) for n in self.unit_length]
            self._file_norms = [FILE_K1 * (1 - FILE_B + FILE_B * n / file_mean) for n in self.file_length]
        return self._unit_norms, self._file_norms


class Matches(NamedTuple):
    """Scores by segment, by unit and by file ordinal, `names` counting what stands in a unit's name alone; `idf` of
    every term that occurs; `named` lists for each identifier the units (segment, unit) whose name has it."""

    units: dict[int, list[float]]
    names: dict[int, dict[int, float]]
    files: dict[int, list[float]]
    idf: dict[str, float]
    named: dict[str, list[tuple[int, int]]]


def match(
    store: Postings, segments: Mapping[int, LoadedSegment], terms: Mapping[str, float], identifiers: Iterable[str]
) -> Matches:
    """Score everything in the segments. `identifiers` are the terms for which names are collected."""
    contents = max(sum(len(segment.paths) for segment in segments.values()), 1)
    means = _means(segments.values())
    found: list[tuple[int, str, list[tuple[int, bytes]]]] = []
    for term in terms:
        rows = [(segment, data) for segment, data in store.postings(term) if segment in segments]
        if rows:
            found.append((sum(len(data) // 4 - 1 - int.from_bytes(data[:4], "little") for _, data in rows), term, rows))
    found.sort(key=lambda item: (item[0], item[1]))
    units: dict[int, list[float]] = {}
    names: dict[int, dict[int, float]] = {}
    files: dict[int, list[float]] = {}
    idf: dict[str, float] = {}
    named: dict[str, list[tuple[int, int]]] = {}
    wanted = frozenset(identifiers)
    entries = 0
    for frequency, term, rows in found:
        idf[term] = math.log(1 + (contents - frequency + 0.5) / (frequency + 0.5))
        weight = idf[term] * terms[term]
        for id_, data in rows:
            posting = unpack(data)
            segment = segments[id_]
            unit_norms, file_norms = segment.norms(*means)
            unit_scores = units.setdefault(id_, [])
            if not unit_scores:
                unit_scores.extend([0.0] * len(segment.unit_length))
                files[id_] = [0.0] * len(segment.paths)
                names[id_] = {}
            file_scores = files[id_]
            name_scores = names[id_]
            for code in posting.units:
                count = _COUNTS[code & 0xFF]
                unit = code >> 8
                unit_scores[unit] += weight * count / (count + unit_norms[unit])
                if code & IN_NAME:
                    name_scores[unit] = name_scores.get(unit, 0.0) + weight
            for code in posting.files:
                count = code & 0xFF
                file = code >> 8
                file_scores[file] += weight * count / (count + file_norms[file])
            if term in wanted:
                hits = [(id_, code >> 8) for code in posting.units if code & IN_NAME]
                named.setdefault(term, []).extend(hits)
            entries += len(posting.units)
        if entries > MAX_ENTRIES:
            break
    return Matches(units, names, files, idf, named)


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
