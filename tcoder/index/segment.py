"""Files turned into a piece of the index: symbols, and an inverted index from terms to symbols and files. Pure.

A *unit* is what is ranked: unit 0 of a file is its text outside of every symbol, unit i + 1 its i-th symbol without the
symbols inside it. A posting says in which units a term stands and how often, and whether the unit's name has it.
"""

from array import array
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
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
    """Codes in ascending order: an ordinal within the segment in the upper 24 bits; below it, for a unit, the count in
    six bits with the `IN_` flags, and for a file its count, at most 255."""

    units: "memoryview[int]"
    files: "memoryview[int]"


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


def pack(codes: Sequence[int], unit_content: "array[int]") -> bytes:
    """The posting of a term from the codes of its units."""
    files: list[int] = []
    last, count = -1, 0
    for code in codes:
        content = unit_content[code >> 8]
        if content != last:
            if count:
                files.append(last << 8 | min(count, 255))
            last, count = content, 0
        count += code & MAX_COUNT
    if count:
        files.append(last << 8 | min(count, 255))
    return len(codes).to_bytes(4, "little") + array("I", codes).tobytes() + array("I", files).tobytes()


def unpack(data: bytes) -> Posting:
    end = 4 + 4 * int.from_bytes(data[:4], "little")
    view = memoryview(data)
    return Posting(view[4:end].cast("I"), view[end:].cast("I"))


def build(sources: Iterable[Source]) -> Segment:
    """Index the sources in their order."""
    contents: list[Content] = []
    unit_content, unit_length, file_length = array("I"), array("H"), array("I")
    postings: defaultdict[str, list[int]] = defaultdict(list)
    for ordinal, source in enumerate(sources):
        found = tags(source.data, source.language)
        problem = found.problem or unfit(source.data[:MAX_TEXT])
        words = _words(source.data[:MAX_TEXT], found) if not problem else [Counter[bytes]()]
        total = 0
        for index, counter in enumerate(words):
            terms = _terms(counter)
            length = sum(terms.values())
            code = len(unit_length) << 8
            if index:
                for term, flag in _named(found.spans[index - 1].symbol).items():
                    postings[term].append(code | flag | min(terms.pop(term, 0), MAX_COUNT))
            for term, count in terms.items():
                postings[term].append(code | (count if count < MAX_COUNT else MAX_COUNT))
            total += length
            unit_content.append(ordinal)
            unit_length.append(min(length, 0xFFFF))
        file_length.append(total)
        symbols = tuple(span.symbol for span in found.spans)
        facts = Facts(symbols, found.imports, source.data.count(b"\n") + 1, problem)
        contents.append(Content(source.key, encode_facts(facts), len(words)))
    packed = tuple((term, pack(postings[term], unit_content)) for term in sorted(postings))
    return Segment(tuple(contents), unit_content.tobytes(), unit_length.tobytes(), file_length.tobytes(), packed)


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


def _terms(words: Mapping[bytes, int]) -> dict[str, int]:
    terms: dict[str, int] = {}
    known = terms.get
    for word, count in words.items():
        for term in split(word):
            terms[term] = known(term, 0) + count
    return terms


def _named(symbol: Symbol) -> dict[str, int]:
    """The terms of a symbol's name and of the name of what it stands in."""
    flags = dict.fromkeys((term for word in WORD.findall(symbol.parent.encode()) for term in split(word)), IN_PARENT)
    for word in WORD.findall(symbol.name.encode()):
        for term in split(word):
            flags[term] = flags.get(term, 0) | IN_NAME
    return flags
