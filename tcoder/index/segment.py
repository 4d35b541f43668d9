"""Files turned into a piece of the index: symbols, and an inverted index from terms to symbols and files. Pure.

A *unit* is what is ranked: unit 0 of a file is its text outside of every symbol, unit i + 1 its i-th symbol without the
symbols inside it. A posting says in which units a term stands and how often, and whether the unit's name has it.

What is done for every word of a repository is left to functions that run in C (split, counting, sorting); Python's own
steps are for every different word and for every symbol.
"""

from array import array
from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Mapping, Sequence
from hashlib import blake2b
from itertools import chain, repeat
from struct import Struct as Layout
from typing import NamedTuple
from zlib import crc32

import msgspec
from msgspec import Struct

from tcoder.index.tags import Tags, tags, unfit
from tcoder.index.terms import STOP_STEMS, WORD, split
from tcoder.protocol.location import Symbol

IN_NAME = 0x80
IN_PARENT = 0x40
MAX_COUNT = 0x3F
MAX_TEXT = 400_000
_NARROW = ord("H")
# terms of a segment are stored in so many rows, those of a segment with few files in one
BUCKETS = 1_024
SMALL_FILES = 20
MAX_CACHED_WORDS = 200_000
# everything that cannot be part of a word becomes a space
_LETTERS = bytes(code if WORD.match(bytes([code, code])) or 48 <= code <= 57 else 32 for code in range(256))
_AT_MOST_63 = bytes(min(count, MAX_COUNT) for count in range(256))
_once = Layout("<BIIHBHB").pack
_Postings = dict[str, bytes]
_encode, _decode = msgspec.msgpack.Encoder(), msgspec.msgpack.Decoder(_Postings)
_terms_by_word: dict[bytes, tuple[str, ...]] = {}


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
    `buckets` pairs the number of a bucket (see `bucket_of`) with the packed postings of its terms."""

    contents: tuple[Content, ...]
    unit_content: bytes
    unit_length: bytes
    file_length: bytes
    buckets: tuple[tuple[int, bytes], ...]


class Posting:
    """Units of a segment in ascending order, for each a count in six bits with the `IN_` flags; files (ordinals within
    the segment) in ascending order, for each a count of at most 255. Units are unpacked when they are asked for: most
    segments have none that is scored."""

    __slots__ = ("_data", "_units", "counts", "files", "marks")

    def __init__(self, data: bytes) -> None:
        width = 2 if data[0] == _NARROW else 4
        first = 9 + width * int.from_bytes(data[1:5], "little")
        second = first + (first - 9) // width
        third = second + 2 * int.from_bytes(data[5:9], "little")
        self._data = data
        self._units: array[int] | None = None
        self.marks = data[first:second]
        self.files = array("H", data[second:third])
        self.counts = data[third:]

    @property
    def units(self) -> "array[int]":
        if self._units is None:
            end = len(self._data) - len(self.marks) - 3 * len(self.files)
            self._units = array("H" if self._data[0] == _NARROW else "I", self._data[9:end])
        return self._units


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


def bucket_of(term: str) -> int:
    """The bucket of a term in a segment that has several; a small segment has bucket -1 alone."""
    return crc32(term.encode("utf-8", "surrogatepass")) % BUCKETS


def decode_bucket(data: bytes) -> dict[str, bytes]:
    """Packed postings by term. Raises `msgspec.MsgspecError` for damaged data."""
    return _decode.decode(data)


def _pack(units: Sequence[int], marks: bytes, files: Iterable[int], counts: bytes) -> bytes:
    head = len(marks) | len(counts) << 32
    code = "H" if not units or units[-1] <= 0xFFFF else "I"
    return b"%c%b%b%b%b%b" % (
        code.encode(),
        head.to_bytes(8, "little"),
        array(code, units).tobytes(),
        marks,
        array("H", files).tobytes(),
        counts,
    )


def unpack(data: bytes) -> Posting:
    return Posting(data)


def build(sources: Iterable[Source]) -> Segment:
    """Index the sources, at most 65,535, in their order."""
    contents: list[Content] = []
    unit_content, unit_words = array("I"), array("I")
    words: defaultdict[bytes, list[int]] = defaultdict(list)
    named: defaultdict[str, list[tuple[int, int]]] = defaultdict(list)
    for ordinal, source in enumerate(sources):
        found = tags(source.data, source.language)
        problem = found.problem or ("" if found.checked else unfit(source.data[:MAX_TEXT]))
        first = len(unit_content)
        units = 1 if problem else len(found.spans) + 1
        unit_content.extend(repeat(ordinal, units))
        unit_words.extend(repeat(0, units))
        if not problem:
            _note_words(source.data[:MAX_TEXT], found, first, words, unit_words)
            for unit, span in enumerate(found.spans, start=first + 1):
                for term, flag in _named(span.symbol).items():
                    named[term].append((unit, flag))
        symbols = tuple(span.symbol for span in found.spans)
        facts = Facts(symbols, found.imports, source.data.count(b"\n") + 1, problem)
        contents.append(Content(source.key, encode_facts(facts), units))
    terms, lengths = _by_term(words, unit_words)
    file_length = array("I", bytes(4 * len(contents)))
    for content, length in zip(unit_content, lengths, strict=True):
        file_length[content] += length
    unit_length = array("H", [min(length, 0xFFFF) for length in lengths])
    packed = _packed(terms, named, unit_content)
    buckets = _buckets(packed, len(contents))
    return Segment(tuple(contents), unit_content.tobytes(), unit_length.tobytes(), file_length.tobytes(), buckets)


def _note_words(
    data: bytes, found: Tags, first: int, words: "defaultdict[bytes, list[int]]", unit_words: "array[int]"
) -> None:
    """Enter the words of a file under their units: each belongs to the innermost symbol that holds it."""
    text = data.translate(_LETTERS)
    stack: list[tuple[int, int]] = []
    position = 0
    append, lookup = list[int].append, words.__getitem__

    def note(unit: int, end: int) -> None:
        nonlocal position
        if end > position:
            here = text[position:end].split()
            unit_words[unit] += len(here)
            deque(map(append, map(lookup, here), repeat(unit)), maxlen=0)
            position = end

    for unit, span in enumerate(found.spans, start=first + 1):
        while stack and stack[-1][1] <= span.start:
            note(*stack.pop())
        note(stack[-1][0] if stack else first, span.start)
        stack.append((unit, span.end))
    while stack:
        note(*stack.pop())
    note(first, len(text))


def _terms(word: bytes) -> tuple[str, ...]:
    """The terms of what stands between two spaces."""
    found = _terms_by_word.get(word)
    if found is None:
        if len(_terms_by_word) > MAX_CACHED_WORDS:
            _terms_by_word.clear()
        whole = 1 < len(word) < 62 and not 48 <= word[0] <= 57
        found = split(word) if whole else tuple(term for piece in WORD.findall(word) for term in split(piece))
        _terms_by_word[word] = found
    return found


def _by_term(
    words: Mapping[bytes, list[int]], unit_words: "array[int]"
) -> "tuple[dict[str, list[list[int]]], list[int]]":
    """For each term the units of its words, a unit as often as a word stands in it; and the terms in each unit."""
    terms: defaultdict[str, list[list[int]]] = defaultdict(list)
    # how many terms a word has beyond one, for each such number the units of these words
    beyond: defaultdict[int, Counter[int]] = defaultdict(Counter)
    for word, units in words.items():
        own = _terms(word)
        for term in own:
            # no question asks for these but as names
            if term not in STOP_STEMS:
                terms[term].append(units)
        if len(own) != 1:
            beyond[len(own) - 1].update(units)
    lengths = unit_words.tolist()
    for more, counter in beyond.items():
        for unit, count in counter.items():
            lengths[unit] += more * count
    return terms, lengths


def _packed(
    terms: "dict[str, list[list[int]]]",
    named: Mapping[str, list[tuple[int, int]]],
    unit_content: "array[int]",
) -> Iterable[tuple[str, bytes]]:
    """Every term with its packed posting."""
    content_of = unit_content.__getitem__
    for term, lists in terms.items():
        units = lists[0] if len(lists) == 1 else sorted(chain.from_iterable(lists))
        flags = named.get(term)
        if flags is None and len(units) == 1 and units[0] <= 0xFFFF:
            yield (
                term,
                _once(_NARROW, 1, 1, units[0], 1, content_of(units[0]), 1),
            )  # what `_pack` gives, for half of all
            continue
        counts = _count(units, units)
        files = _count(units, map(content_of, units))
        marks = _bytes(counts).translate(_AT_MOST_63)
        if flags:
            counts, marks = _flagged(dict(zip(counts, marks, strict=True)), flags)
        yield term, _pack([*counts], marks, files, _bytes(files))
    for term in named.keys() - terms.keys():
        counts, marks = _flagged({}, named[term])
        yield term, _pack([*counts], marks, (), b"")


def _count(all_units: Sequence[int], things: Iterable[int]) -> dict[int, int]:
    """How often each thing comes, in their order; there are as many as units."""
    things = [*things]
    once = dict.fromkeys(things, 1)
    return once if len(once) == len(all_units) else Counter(things)


def _flagged(marks: dict[int, int], flags: Iterable[tuple[int, int]]) -> tuple[dict[int, int], bytes]:
    """Add flags by unit; the units in ascending order and their marks."""
    known = len(marks)
    for unit, flag in flags:
        marks[unit] = marks.get(unit, 0) | flag
    if len(marks) != known:
        marks = dict(sorted(marks.items()))
    return marks, bytes(marks.values())


def _bytes(counts: Mapping[int, int]) -> bytes:
    try:
        return bytes(counts.values())
    except ValueError:  # more than a byte holds
        return bytes(min(count, 255) for count in counts.values())


def _buckets(packed: Iterable[tuple[str, bytes]], files: int) -> tuple[tuple[int, bytes], ...]:
    if files <= SMALL_FILES:
        return ((-1, _encode.encode(dict(packed))),)
    buckets: defaultdict[int, dict[str, bytes]] = defaultdict(dict)
    for term, data in packed:
        buckets[bucket_of(term)][term] = data
    return tuple((number, _encode.encode(buckets[number])) for number in sorted(buckets))


def _named(symbol: Symbol) -> dict[str, int]:
    """The terms of a symbol's name and of the name of what it stands in."""
    flags = dict.fromkeys((term for word in WORD.findall(symbol.parent.encode()) for term in _terms(word)), IN_PARENT)
    for word in WORD.findall(symbol.name.encode()):
        for term in _terms(word):
            flags[term] = flags.get(term, 0) | IN_NAME
    return flags
