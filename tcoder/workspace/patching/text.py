"""One text and one edit in, a text out. Pure. A place is found by its own lines, never by likeness."""

from collections.abc import Sequence

from msgspec import Struct

from tcoder.protocol.edits import InsertLines, MatchPass, PatchHunk, Replace
from tcoder.protocol.errors import PatchError
from tcoder.workspace.files.text import newline_of
from tcoder.workspace.patching.matching import Span, bare, find, nearest, reindent, split_lines

PASS_ORDER: tuple[MatchPass, ...] = (
    "created", "whole-file", "exact", "line-number", "trailing-space", "indentation", "unicode",
)  # fmt: skip


def loosest(first: MatchPass | None, second: MatchPass) -> MatchPass:
    """Of two passes the one that took more liberty."""
    return second if first is None or PASS_ORDER.index(second) > PASS_ORDER.index(first) else first


# -- search and replace


def replace(text: str, edit: Replace) -> tuple[str, MatchPass]:
    """Replace `edit.old`, which must stand in `text` once, or anywhere with `everywhere`. Raises `PatchError`."""
    if not edit.old:
        if text:
            raise PatchError(f"the text to replace in {edit.path} is empty", "give the lines to replace")
        return edit.new, "whole-file"
    if edit.old == edit.new:
        raise PatchError(f"the edit of {edit.path} changes nothing: old and new are the same")
    newline = newline_of(text)
    for old in dict.fromkeys((edit.old, _with_newline(edit.old, newline))):
        places = _occurrences(text, old, everywhere=edit.everywhere)
        if len(places) > 1 and not edit.everywhere:
            raise _ambiguous(edit.path, [text.count("\n", 0, place) + 1 for place in places])
        if places:
            return text.replace(old, _with_newline(edit.new, newline)), "exact"
    lines = split_lines(text)
    wanted = [bare(line) for line in split_lines(edit.old)]
    spans = find([bare(line) for line in lines], wanted)
    chosen = _disjoint(spans) if edit.everywhere else [_only(edit.path, lines, wanted, spans)]
    if not chosen:
        raise _not_found(edit.path, lines, wanted)
    for span in reversed(chosen):
        lines[span.start : span.end] = _fitted(lines, span, edit.new, whole=edit.old.endswith(("\n", "\r")))
    return "".join(lines), chosen[0].matched_by


def _with_newline(part: str, newline: str) -> str:
    """Line feeds as the file has them, when it has one other kind of ending only."""
    if newline not in ("\r\n", "\r"):
        return part
    return part.replace("\r\n", "\n").replace("\n", newline)


def _occurrences(text: str, part: str, *, everywhere: bool) -> list[int]:
    """Where `part` begins; places that overlap count too, unless all are to be replaced."""
    places: list[int] = []
    at = text.find(part)
    while at >= 0 and len(places) < 9:
        places.append(at)
        at = text.find(part, at + (len(part) if everywhere else 1))
    return places


def _disjoint(spans: Sequence[Span]) -> list[Span]:
    kept: list[Span] = []
    for span in spans:
        if not kept or span.start >= kept[-1].end:
            kept.append(span)
    return kept


def _fitted(lines: list[str], span: Span, new: str, *, whole: bool) -> list[str]:
    """The new text as lines of the file: its indentation shifted as the match was, its endings those of the place.
    `whole` = the old text ended with a line ending, so the new one says for itself whether it does."""
    replaced = lines[span.start : span.end]
    ending = next((line[len(bare(line)) :] for line in replaced if bare(line) != line), newline_of("".join(lines)))
    given = split_lines(new)
    fresh = [reindent(bare(line), span.shift) + (ending or "\n") for line in given]
    last = replaced[-1][len(bare(replaced[-1])) :]
    if fresh and not (whole and last):
        fresh[-1] = bare(fresh[-1]) + last
    return fresh


# -- insert


def insert(text: str, edit: InsertLines) -> tuple[str, MatchPass]:
    """Put `edit.text` after a line. Raises `PatchError` when there is no such line."""
    lines = split_lines(text)
    if not 0 <= edit.line <= len(lines):
        raise PatchError(f"{edit.path} has {len(lines)} lines; cannot insert after line {edit.line}")
    ending = newline_of(text) or "\n"
    fresh = [bare(line) + ending for line in split_lines(edit.text)]
    if fresh and edit.line and lines[edit.line - 1] == bare(lines[edit.line - 1]):
        lines[edit.line - 1] += ending
        fresh[-1] = bare(fresh[-1])
    lines[edit.line : edit.line] = fresh
    return "".join(lines), "line-number"


# -- hunks of a patch


class _Cursor(Struct):
    """How far a patch has come in a file: the line after the last hunk, and how many lines were gained so far."""

    line: int = 0
    gained: int = 0


def update(path: str, text: str, hunks: Sequence[PatchHunk]) -> tuple[str, MatchPass]:
    """Apply hunks, each found by its own lines; numbers only choose between equal places. Raises `PatchError`."""
    cursor = _Cursor()
    matched: MatchPass | None = None
    for hunk in hunks:
        if strange := [line for line in hunk.lines if line[:1] not in ("", " ", "-", "+")]:
            raise PatchError(f"a line of a hunk begins with ' ', '-' or '+', this one does not: {strange[0]!r}")
        applied = _apply_bytes(path, text, hunk, cursor)
        if applied is None:
            text, by = _apply_lines(path, text, hunk, cursor)
        else:
            text, by = applied, "exact"
        matched = loosest(matched, by)
    return text, matched or "exact"


def _sides(hunk: PatchHunk) -> tuple[list[str], list[str]]:
    old = [line[1:] for line in hunk.lines if line[:1] != "+"]
    new = [line[1:] for line in hunk.lines if line[:1] != "-"]
    return old, new


def _apply_bytes(path: str, text: str, hunk: PatchHunk, cursor: _Cursor) -> str | None:
    """The hunk as git would take it: lines end with LF and must be the same to the byte. None when nothing matches."""
    old, new = _sides(hunk)
    if not old:
        return None
    lines = text.split("\n")
    last = len(lines) - 1  # what follows the last LF: empty when the text is ended
    spans = [
        Span(start, start + len(old), "exact")
        for start in range(len(lines) - len(old) + 1)
        if lines[start] == old[0] and lines[start : start + len(old)] == old
    ]
    spans = [span for span in spans if (span.end > last) == hunk.old_unended and (lines[-1] or span.end <= last)]
    if hunk.at_end:
        spans = [span for span in spans if span.end >= last and not any(lines[span.end :])]
    if not spans:
        return None
    span = _choose(path, [*split_lines(text)], hunk, old, spans, cursor)
    ends = span.end > last
    if hunk.new_unended and not ends and (span.end < last or lines[last]):
        return None  # the patch takes this for the end of the file, which it is not
    tail = lines[span.end :]
    if hunk.new_unended and not ends:
        tail = []
    if ends and not hunk.new_unended and new:
        tail = [""]
    cursor.line, cursor.gained = span.start + len(new), cursor.gained + len(new) - len(old)
    head = lines[: span.start]
    if ends and not new:
        return "".join(f"{line}\n" for line in head)
    return "\n".join([*head, *new, *tail])


def _apply_lines(path: str, text: str, hunk: PatchHunk, cursor: _Cursor) -> tuple[str, MatchPass]:
    lines = split_lines(text)
    old, _ = _sides(hunk)
    wanted = [line.removesuffix("\r") for line in old]
    if not wanted:
        return _add_only(path, lines, hunk, cursor), "line-number" if hunk.line else "exact"
    spans = find([bare(line) for line in lines], wanted)
    if hunk.at_end:
        spans = [span for span in spans if span.end == len(lines)]
    span = _choose(path, lines, hunk, wanted, spans, cursor)
    ending = next(
        (line[len(bare(line)) :] for line in lines[span.start : span.end] if bare(line) != line),
        newline_of(text) or "\n",
    )
    fresh: list[str] = []
    position = span.start
    for line in hunk.lines:
        if line[:1] == "+":
            fresh.append(reindent(line[1:].removesuffix("\r"), span.shift) + ending)
            continue
        if line[:1] != "-":
            fresh.append(lines[position])
        position += 1
    if fresh and span.end == len(lines):
        unended = hunk.new_unended or (not hunk.old_unended and lines[-1] == bare(lines[-1]))
        fresh = [line if line != bare(line) else line + ending for line in fresh]
        if unended:
            fresh[-1] = bare(fresh[-1])
    cursor.line, cursor.gained = span.start + len(fresh), cursor.gained + len(fresh) - len(wanted)
    lines[span.start : span.end] = fresh
    return "".join(lines), span.matched_by


def _add_only(path: str, lines: list[str], hunk: PatchHunk, cursor: _Cursor) -> str:
    """A hunk that only adds, with nothing around it: after its anchor, at its line, or at the end."""
    at = len(lines)
    if hunk.anchor:
        at = _after_anchor(path, lines, hunk.anchor)
    elif hunk.line:
        at = min(max(hunk.line - 1 + cursor.gained, 0), len(lines))
    ending = newline_of("".join(lines)) or "\n"
    fresh = [line[1:] + ("\n" if line.endswith("\r") else ending) for line in hunk.lines]
    if at == len(lines):
        if lines and lines[-1] == bare(lines[-1]):
            lines[-1] += ending
        if hunk.new_unended and fresh:
            fresh[-1] = hunk.lines[-1][1:]
    lines[at:at] = fresh
    cursor.line, cursor.gained = at + len(fresh), cursor.gained + len(fresh)
    return "".join(lines)


def _anchors(lines: Sequence[str], anchor: str) -> list[int]:
    """The lines (0-based) where a chain of anchors may end."""
    stripped = [bare(line).strip() for line in lines]
    starts = [-1]
    for part in anchor.split("\n"):
        name = part.strip()
        starts = sorted({n for n, line in enumerate(stripped) if line == name and any(n > start for start in starts)})
    return starts


def _after_anchor(path: str, lines: list[str], anchor: str) -> int:
    places = _anchors(lines, anchor)
    if not places:
        raise _not_found(path, lines, anchor.split("\n"))
    if len(places) > 1:
        raise _ambiguous(path, [place + 1 for place in places])
    return places[0] + 1


def _choose(path: str, lines: list[str], hunk: PatchHunk, old: list[str], spans: list[Span], cursor: _Cursor) -> Span:
    """The one place for a hunk: the only one; or the first after its anchor, the one at its line number, or the only
    one that comes after the hunk before it."""
    if len(spans) > 1 and hunk.anchor:
        anchors = _anchors(lines, hunk.anchor)
        after = [span for span in spans if anchors and span.end > anchors[0]]
        spans = after[:1] if len(anchors) == 1 and after else spans
    if len(spans) > 1 and hunk.line:
        spans = [span for span in spans if span.start == hunk.line - 1 + cursor.gained] or spans
    if len(spans) > 1:
        later = [span for span in spans if span.start >= cursor.line]
        spans = later if len(later) == 1 else spans
    return _only(path, lines, old, spans)


def _only(path: str, lines: list[str], wanted: list[str], spans: list[Span]) -> Span:
    if not spans:
        raise _not_found(path, lines, wanted)
    if len(spans) > 1:
        raise _ambiguous(path, [span.start + 1 for span in spans[:9]])
    return spans[0]


def _not_found(path: str, lines: list[str], wanted: Sequence[str]) -> PatchError:
    hint = nearest([bare(line) for line in lines], wanted)
    shown = f"; the nearest lines are:\n{hint}" if hint else "; read the file again"
    return PatchError(f"the text to replace was not found in {path}{shown}")


def _ambiguous(path: str, at: Sequence[int]) -> PatchError:
    places = ", ".join(str(line) for line in at[:8]) + (" and more" if len(at) > 8 else "")
    count = f"{len(at)} times" if len(at) <= 8 else "more than 8 times"
    return PatchError(f"the text to replace occurs {count} in {path}, at lines {places}", "give more lines around it")
