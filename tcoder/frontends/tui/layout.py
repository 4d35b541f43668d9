"""Blocks laid out at a width: lines and the strips drawn from them, kept as long as they are in use."""

from collections import OrderedDict
from collections.abc import Sequence

from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from tcoder.frontends import blocks
from tcoder.frontends.cards import Block, ModelSaid, Thought, UserSaid
from tcoder.frontends.folding import Fold
from tcoder.frontends.glyphs import ascii_only
from tcoder.frontends.lines import Role, Span, plain
from tcoder.frontends.markdown import Markdown, Row
from tcoder.frontends.sanitise import clean
from tcoder.frontends.tui.palette import Palette
from tcoder.frontends.tui.wrapping import VisualLine, wrap

PROSE_WIDTH = 110
KEPT_LINES = 5_000


class Laid:
    """A block's lines, and their strips as far as they were needed."""

    __slots__ = ("lines", "strips")

    def __init__(self, lines: list[VisualLine], strips: list[Strip | None]) -> None:
        self.lines = lines
        self.strips = strips


class _Stream:
    """An answer that is still arriving: what is settled of it keeps its lines."""

    def __init__(self, width: int) -> None:
        self._width = width
        self._markdown = Markdown()
        self._settled: list[VisualLine] = [VisualLine((), 0, "\n", 0)]

    def lines(self, text: str) -> list[VisualLine]:
        kept, rows = self._markdown.update(text)
        settled = self._markdown.settled_count - kept
        for row in rows[:settled]:
            self._settled += wrap(row, self._width)
        return [*self._settled, *(line for row in rows[settled:] for line in wrap(row, self._width))]


class Layout:
    """The lines of blocks at one width, in one palette. Heights of blocks that were never laid out are guesses."""

    def __init__(self, palette: Palette, width: int = 80, *, ascii_glyphs: bool = False) -> None:
        self.width = width
        self._palette = palette
        self._ascii = ascii_glyphs
        self._base = Style.null()
        self._laid: OrderedDict[int, Laid] = OrderedDict()
        self._lines = 0
        self._stale: dict[int, Laid] = {}
        self._streams: dict[int, _Stream] = {}
        self._styles: dict[Role, Style] = {}

    def reset(self, palette: Palette, base: Style, width: int) -> None:
        """Forget everything: the width or the colours are others now."""
        self.width, self._palette, self._base = width, palette, base
        self._styles = {}
        self._laid.clear()
        self._stale.clear()
        self._streams.clear()
        self._lines = 0

    def forget(self, index: int) -> None:
        """A block has changed. Lines that turn out to be the same keep their strips, so that they are not repainted."""
        if laid := self._laid.pop(index, None):
            self._lines -= len(laid.lines)
            self._stale[index] = laid

    def lay(self, index: int, block: Block, fold: Fold) -> Laid:
        """The block's lines, from the store or made now."""
        if (laid := self._laid.get(index)) is not None:
            self._laid.move_to_end(index)
            return laid
        lines = self._make(index, block, fold)
        old = self._stale.pop(index, None)
        reused = (
            (strip if line == was else None for line, was, strip in zip(lines, old.lines, old.strips, strict=False))
            if old
            else ()
        )
        strips: list[Strip | None] = list(reused)
        laid = Laid(lines, strips + [None] * (len(lines) - len(strips)))
        self._laid[index] = laid
        self._lines += len(laid.lines)
        while self._lines > KEPT_LINES and len(self._laid) > 100:
            _, dropped = self._laid.popitem(last=False)
            self._lines -= len(dropped.lines)
        return laid

    def _make(self, index: int, block: Block, fold: Fold) -> list[VisualLine]:
        if isinstance(block, ModelSaid) and block.open:
            stream = self._streams.setdefault(index, _Stream(min(self.width, PROSE_WIDTH)))
            return stream.lines(clean(block.text).lstrip("\n"))
        self._streams.pop(index, None)
        prose = isinstance(block, ModelSaid | UserSaid | Thought)
        return [line for row in blocks.rows(block, fold) for line in wrap(row, self._width_of(row, prose=prose))]

    def _width_of(self, row: Row, *, prose: bool) -> int:
        code = len(row.line) > 1 and row.line[1].role == "code" and row.gutter == 2
        return min(self.width, PROSE_WIDTH) if prose and not code else self.width

    def strip(self, laid: Laid, row: int) -> Strip:
        """The strip of a line, `width` cells wide."""
        strip = laid.strips[row]
        if strip is None:
            strip = laid.strips[row] = self._strip(laid.lines[row])
        return strip

    def _strip(self, line: VisualLine) -> Strip:
        spans = line.line
        if self._ascii:
            segments = [Segment(ascii_only(span.text), self._style(span.role)) for span in spans]
            return Strip(segments).adjust_cell_length(self.width, self._base)
        segments = [Segment(span.text, self._linked(span)) for span in spans]
        return Strip(segments, line.cells).adjust_cell_length(self.width, self._base)

    def _linked(self, span: Span) -> Style:
        style = self._style(span.role)
        return style.update_link(span.url) if span.url else style

    def _style(self, role: Role) -> Style:
        style = self._styles.get(role)
        if style is None:
            style = self._styles[role] = self._base + self._palette.style(role)
        return style


def guess(block: Block, width: int) -> int:
    """A height for a block that was not laid out yet; only the scroll bar looks at it."""
    if isinstance(block, ModelSaid | UserSaid):
        return 2 + len(block.text) // max(20, min(width, PROSE_WIDTH)) + block.text.count("\n")
    return 1


def text_between(laid: Sequence[tuple[Laid, int, int, int, int]]) -> str:
    """Selected text of some blocks, without gutters and padding, wrapped lines joined, blocks a blank line apart.

    Each entry is a block's lines with the first row and its column and the last row and its column (exclusive)."""
    out: list[str] = []
    for of, first, start, last, end in laid:
        text = ""
        for row in range(first, min(last, len(of.lines) - 1) + 1):
            line = of.lines[row]
            whole = plain(line.line)
            begin = max(line.gutter, start if row == first else 0)
            stop = end if row == last else len(whole)
            text += ("" if row == first else line.joint) + whole[begin:stop].rstrip()
        if text := text.strip("\n"):
            out.append(text)
    return "\n\n".join(out)
