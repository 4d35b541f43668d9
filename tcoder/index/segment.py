"""Files turned into a piece of the index: symbols, and an inverted index from terms to symbols and files. Pure.

A *unit* is what is ranked: unit 0 of a file is its text outside of every symbol, unit i + 1 its i-th symbol without the
symbols inside it. A posting says in which units a term stands and how often, and whether the unit's name has it.
"""

from array import array
from collections import Counter, defaultdict
from collections.abc import Iterable
from hashlib import blake2b
from typing import NamedTuple

import msgspec
from msgspec import Struct

from tcoder.index.tags import Tags, tags, unfit
from tcoder.index.terms import WORD, split
from tcoder.protocol.location import Symbol

IN_NAME = 0x80
IN_PARENT = 0x40
MAX_COUNT = 0x3F
MAX_TEXT = 400_000


class Facts(Struct, frozen=True, array_like=True):
    """What is known of one content besides its postings."""

    symbols: tuple[Symbol, ...] = ()
    imports: tuple[str, ...] = ()
    lines: int = 0
    problem: str = ""


class Content(Struct, frozen=True, array_like=True):
    """One file's content: `key` as of `content_key`, `facts` encoded, `units` counted with unit 0."""

    key: bytes
    facts: bytes
    units: int


class Segment(Struct, frozen=True, array_like=True):
    """`unit_content` and `unit_length` are arrays of 32 and 16 bits, `file_length` of 32 bits (lengths in words);
    `postings` pairs a term with its packed posting."""

    contents: tuple[Content, ...]
    unit_content: bytes
    unit_length: bytes
    file_length: bytes
    postings: tuple[tuple[str, bytes], ...]


class Posting(NamedTuple):
    """Ordinals within the segment, ascending. `unit_marks` hold the count in their low six bits and the `IN_` flags;
    `file_counts` are the counts within whole files, at most 255."""

    units: "memoryview[int]"
    unit_marks: bytes
    files: "memoryview[int]"
    file_counts: bytes


class Source(NamedTuple):
    """A file to index."""

    key: bytes
    language: str
    data: bytes


def content_key(data: bytes, language: str) -> bytes:
    """What identifies a content: the same bytes as another language are another content."""
    return blake2b(data, digest_size=16, person=language.encode()[:16]).digest()


def encode_facts(facts: Facts) -> bytes:
    return msgspec.msgpack.encode(facts)


def decode_facts(data: bytes) -> Facts:
    return msgspec.msgpack.decode(data, type=Facts)


def pack(units: "array[int]", marks: bytes, files: "array[int]", counts: bytes) -> bytes:
    head = array("I", (len(units), len(files)))
    return b"".join((head.tobytes(), units.tobytes(), files.tobytes(), marks, counts))


def unpack(data: bytes) -> Posting:
    view = memoryview(data)
    units, files = view[:8].cast("I")
    first, second, third = 8 + 4 * units, 8 + 4 * units + 4 * files, 8 + 5 * units + 4 * files
    return Posting(view[8:first].cast("I"), data[second:third], view[first:second].cast("I"), data[third:])


def build(sources: Iterable[Source]) -> Segment:
    """Index the sources in their order."""
    contents: list[Content] = []
    unit_content, unit_length, file_length = array("I"), array("H"), array("I")
    units: defaultdict[str, array[int]] = defaultdict(lambda: array("I"))
    marks: defaultdict[str, bytearray] = defaultdict(bytearray)
    in_files: defaultdict[str, array[int]] = defaultdict(lambda: array("I"))
    file_counts: defaultdict[str, bytearray] = defaultdict(bytearray)
    for ordinal, source in enumerate(sources):
        found = tags(source.data, source.language)
        problem = found.problem or unfit(source.data[:MAX_TEXT])
        words = _words(source.data[:MAX_TEXT], found) if not problem else [Counter[bytes]()]
        base = len(unit_length)
        total: Counter[str] = Counter()
        for index, counter in enumerate(words):
            terms = _terms(counter)
            named = _named(found.spans[index - 1].symbol) if index else {}
            for term, count in terms.items():
                units[term].append(base + index)
                marks[term].append(min(count, MAX_COUNT) | named.pop(term, 0))
            for term, flag in named.items():
                units[term].append(base + index)
                marks[term].append(flag)
            length = sum(terms.values())
            total.update(terms)
            unit_content.append(ordinal)
            unit_length.append(min(length, 0xFFFF))
        for term, count in total.items():
            in_files[term].append(ordinal)
            file_counts[term].append(min(count, 255))
        file_length.append(total.total())
        symbols = tuple(span.symbol for span in found.spans)
        facts = Facts(symbols, found.imports, source.data.count(b"\n") + 1, problem)
        contents.append(Content(source.key, encode_facts(facts), len(words)))
    postings = tuple(
        (term, pack(units[term], bytes(marks[term]), in_files[term], bytes(file_counts[term])))
        for term in sorted(units)
    )
    return Segment(tuple(contents), unit_content.tobytes(), unit_length.tobytes(), file_length.tobytes(), postings)


def _words(data: bytes, found: Tags) -> list[Counter[bytes]]:
    """Words by unit: each belongs to the innermost symbol that holds it."""
    counters: list[Counter[bytes]] = [Counter() for _ in range(len(found.spans) + 1)]
    stack: list[tuple[int, int]] = []
    position = 0
    find = WORD.findall
    for unit, span in enumerate(found.spans, start=1):
        while stack and stack[-1][1] <= span.start:
            owner, end = stack.pop()
            counters[owner].update(find(data, position, end))
            position = max(position, end)
        counters[stack[-1][0] if stack else 0].update(find(data, position, span.start))
        position = max(position, span.start)
        stack.append((unit, span.end))
    while stack:
        owner, end = stack.pop()
        counters[owner].update(find(data, position, end))
        position = max(position, end)
    counters[0].update(find(data, position))
    return counters


def _terms(words: Counter[bytes]) -> Counter[str]:
    terms: Counter[str] = Counter()
    for word, count in words.items():
        for term in split(word):
            terms[term] += count
    return terms


def _named(symbol: Symbol) -> dict[str, int]:
    """The terms of a symbol's name and of the name of what it stands in."""
    flags = dict.fromkeys((term for word in WORD.findall(symbol.parent.encode()) for term in split(word)), IN_PARENT)
    for word in WORD.findall(symbol.name.encode()):
        for term in split(word):
            flags[term] = flags.get(term, 0) | IN_NAME
    return flags
