"""Rows to lines of a given width. Pure; widths are terminal cells."""

import re
from typing import NamedTuple

from rich.cells import cell_len, set_cell_size

from tcoder.frontends.lines import Line, Span, plain
from tcoder.frontends.markdown import Row

LONGEST = 20_000
"""Characters of one row that are shown: a line of megabytes must not stall the interface."""
_WORD = re.compile(r"\S+\s*|\s+")


class VisualLine(NamedTuple):
    """A line on the screen. Copying leaves out the first `gutter` characters; `joint` stands before the rest: a
    newline, or what was lost by wrapping. `cells` is its width."""

    line: Line
    gutter: int
    joint: str
    cells: int


def cut(line: Line, start: int, end: int) -> Line:
    """The characters `start` to `end` of a line."""
    out: list[Span] = []
    at = 0
    for span in line:
        stop = at + len(span.text)
        if stop > start and at < end:
            out.append(span._replace(text=span.text[max(start - at, 0) : end - at]))
        at = stop
        if at >= end:
            break
    return tuple(out)


def wrap(row: Row, width: int) -> list[VisualLine]:
    """The lines of a row at `width` cells, at least one."""
    line = row.line
    text = plain(line)
    if len(text) > LONGEST:
        more = len(text) - LONGEST
        line = (*cut(line, 0, LONGEST), Span(f" … {more} more characters", "dim"))
        text = plain(line)
    if row.tail:
        return [_with_tail(row, line, width)]
    cells = cell_len(text)
    if cells <= width:
        return [VisualLine(line, row.gutter, "\n", cells)]
    if not row.wrap:
        kept = fit(line, width)
        return [VisualLine(kept, row.gutter, "\n", cell_len(plain(kept)))]
    return _wrapped(row, line, text, width)


def fit(line: Line, width: int) -> Line:
    """The line cut to `width` cells, with a mark when something is missing."""
    text = plain(line)
    if cell_len(text) <= width:
        return line
    if width < 1:
        return ()
    kept = set_cell_size(text, width - 1)
    count = len(kept) if text.startswith(kept) else len(kept) - 1
    return (*cut(line, 0, count), Span("…", "dim"))


def _with_tail(row: Row, line: Line, width: int) -> VisualLine:
    tail_cells = cell_len(plain(row.tail))
    room = width - tail_cells - 2
    if room < 12:
        kept = fit(line, width)
        return VisualLine(kept, row.gutter, "\n", cell_len(plain(kept)))
    kept = fit(line, room)
    pad = width - cell_len(plain(kept)) - tail_cells
    return VisualLine((*kept, Span(" " * pad), *row.tail), row.gutter, "\n", width)


def _wrapped(row: Row, line: Line, text: str, width: int) -> list[VisualLine]:
    hang = row.hang if row.hang < width // 2 else 0
    out: list[VisualLine] = []
    start, joint = 0, "\n"
    while start < len(text):
        room = width - (hang if out else 0)
        end, after = _break(text, start, room)
        piece = cut(line, start, end)
        if out and hang:
            piece = (*(row.lead or (Span(" " * hang),)), *piece)
        out.append(VisualLine(piece, hang if out else row.gutter, joint, cell_len(plain(piece))))
        joint = text[end:after]
        start = after
    return out


def _break(text: str, start: int, room: int) -> tuple[int, int]:
    """Where a line that begins at `start` ends, and where the next begins: after the spaces that were broken at."""
    at, used = start, 0
    while match := _WORD.match(text, at):
        word = match.group()
        solid = word.rstrip()
        if solid and used + cell_len(solid) > room:
            break
        used += cell_len(word)
        at = match.end()
        if used >= room:
            break
    if at >= len(text):
        return len(text) - max(used - room, 0), len(text)  # only blanks can stand out at the end
    if at == start:
        end = start + max(1, _chars(text[start : start + room], room))
        return end, end
    end = start + len(text[start:at].rstrip()) if text[start:at].strip() else at
    return max(end, start + 1), at


def _chars(text: str, room: int) -> int:
    """How many characters of `text` fit into `room` cells."""
    if text.isascii():
        return min(len(text), room)
    used = 0
    for count, character in enumerate(text):
        used += cell_len(character)
        if used > room:
            return count
    return len(text)
