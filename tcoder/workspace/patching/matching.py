"""Finding the text that an edit names: declared passes, each unique or nothing, no guessing by similarity."""

import difflib
import re
import unicodedata
from collections.abc import Callable, Sequence

from msgspec import Struct

from tcoder.protocol.edits import MatchPass

_PUNCTUATION = str.maketrans(
    {
        "\u2018": "'", "\u2019": "'", "\u201a": "'", "\u201b": "'",
        "\u201c": '"', "\u201d": '"', "\u201e": '"', "\u201f": '"',
        "\u2010": "-", "\u2011": "-", "\u2012": "-", "\u2013": "-", "\u2014": "-", "\u2212": "-",
        "\u00a0": " ", "\u2002": " ", "\u2003": " ", "\u2009": " ", "\u202f": " ", "\u3000": " ",
        "\u2007": " ", "\u2008": " ", "\u200a": " ", "\u205f": " ", "\u200b": "", "\ufeff": "", "\u00ad": "",
        "\u2026": "...",
    }
)  # fmt: skip


class Span(Struct, frozen=True):
    """Lines `start` … `end` (0-based, exclusive) of the file; `shift` turns the edit's indentation into the file's."""

    start: int
    end: int
    matched_by: MatchPass
    shift: tuple[str, str] = ("", "")


_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")


def split_lines(text: str) -> list[str]:
    """Lines with their endings; only LF, CRLF and CR end a line, never a form feed or U+2028."""
    return _LINE.findall(text)


def bare(line: str) -> str:
    """A line without its ending."""
    return line.rstrip("\r\n")


PASSES: tuple[tuple[MatchPass, Callable[[str], str]], ...] = (
    ("exact", lambda line: line),
    ("trailing-space", str.rstrip),
)


def find(lines: Sequence[str], wanted: Sequence[str]) -> list[Span]:
    """Where the lines `wanted` stand in `lines` (both without endings), by the first pass that finds any place."""
    if not wanted:
        return []
    for name, normal in PASSES:
        if spans := _places(lines, wanted, name, normal):
            return spans
    if spans := _shifted(lines, wanted):
        return spans
    return _places(lines, wanted, "unicode", _plain)


def _plain(line: str) -> str:
    """A line with typographic punctuation and spaces as a keyboard writes them, composed, without invisible marks."""
    if line.isascii():
        return line.rstrip()
    return unicodedata.normalize("NFC", line).translate(_PUNCTUATION).rstrip()


def _places(lines: Sequence[str], wanted: Sequence[str], name: MatchPass, normal: Callable[[str], str]) -> list[Span]:
    target = [normal(line) for line in wanted]
    candidates = [normal(line) for line in lines]
    first, size = target[0], len(target)
    return [
        Span(start, start + size, name)
        for start, line in enumerate(candidates[: len(candidates) - size + 1])
        if line == first and candidates[start : start + size] == target
    ]


def _shifted(lines: Sequence[str], wanted: Sequence[str]) -> list[Span]:
    """Places that differ by one common change of the indentation of every line that is not blank."""
    target = [line.rstrip() for line in wanted]
    key = next((number for number, line in enumerate(target) if line), None)
    if key is None:
        return []
    spans: list[Span] = []
    size = len(target)
    stripped = target[key].lstrip()
    for start in range(len(lines) - size + 1):
        candidate = lines[start + key].rstrip()
        if candidate.lstrip() != stripped:
            continue
        theirs, ours = _indent(candidate), _indent(target[key])
        removed, added = (ours[len(theirs) :], "") if ours.startswith(theirs) else ("", theirs[len(ours) :])
        if not (ours.startswith(theirs) or theirs.startswith(ours)):
            removed, added = ours, theirs
        shift = (removed, added)
        if all(reindent(line, shift) == lines[start + offset].rstrip() for offset, line in enumerate(target)):
            spans.append(Span(start, start + size, "indentation", shift))
    return spans


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip(" \t"))]


def reindent(line: str, shift: tuple[str, str]) -> str:
    """`line` with the indentation `shift[0]` taken away in front and `shift[1]` put there; blank lines stay."""
    removed, added = shift
    if not line.strip():
        return line
    return added + line.removeprefix(removed)


def nearest(lines: Sequence[str], wanted: Sequence[str], context: int = 2) -> str:
    """The part of the file that is most like `wanted`, with line numbers, for a model to correct itself by."""
    target = [line.strip() for line in wanted if line.strip()]
    if not target or not lines:
        return ""
    matcher = difflib.SequenceMatcher(autojunk=False)
    matcher.set_seq2(target[0])
    best, at = 0.0, -1
    for number, line in enumerate(lines[:20_000]):
        matcher.set_seq1(line.strip())
        if matcher.real_quick_ratio() > best and matcher.quick_ratio() > best:
            ratio = matcher.ratio()
            if ratio > best:
                best, at = ratio, number
    if best < 0.4:
        return ""
    first = max(0, at - context)
    shown = lines[first : at + len(wanted) + context][:20]
    return "\n".join(f"{first + offset + 1}\t{line[:200]}" for offset, line in enumerate(shown))
