"""A widget of a few lines that repaints only those that changed."""

from collections.abc import Sequence

from rich.segment import Segment
from textual.geometry import Region
from textual.strip import Strip
from textual.widget import Widget

from tcoder.frontends.glyphs import ascii_only
from tcoder.frontends.lines import Line, plain
from tcoder.frontends.tui.palette import PALETTES, Palette
from tcoder.frontends.tui.wrapping import fit


class LinesWidget(Widget):
    """Base of widgets that show lines of spans, one terminal line each, cut at the right edge."""

    ALLOW_SELECT = False

    def __init__(self, *, id: str, palette: Palette | None = None, ascii_glyphs: bool = False) -> None:  # noqa: A002  Textual's name
        super().__init__(id=id)
        self.palette = palette or PALETTES["tcoder-dark"]
        self.ascii_glyphs = ascii_glyphs
        self._lines: tuple[Line, ...] = ()

    def show_lines(self, lines: Sequence[Line]) -> None:
        """Draw these lines from now on."""
        before, self._lines = self._lines, tuple(lines)
        if before == self._lines:
            return
        width = self.content_size.width
        count = max(len(before), len(self._lines))
        changed = [y for y in range(count) if before[y : y + 1] != self._lines[y : y + 1]]
        if width:
            self.refresh(*(Region(0, y, width, 1) for y in changed))

    def set_palette(self, palette: Palette) -> None:
        self.palette = palette
        self.refresh()

    @property
    def lines(self) -> tuple[Line, ...]:
        return self._lines

    def render_line(self, y: int) -> Strip:
        width, base = self.content_size.width, self.rich_style
        if y >= len(self._lines):
            return Strip.blank(width, base)
        shown = fit(self._lines[y], width)
        if self.ascii_glyphs:
            segments = [Segment(ascii_only(span.text), base + self.palette.style(span.role)) for span in shown]
        else:
            segments = [Segment(span.text, base + self.palette.style(span.role)) for span in shown]
        return Strip(segments).adjust_cell_length(width, base)

    @property
    def text(self) -> str:
        """What is shown, for tests and screen readers."""
        return "\n".join(plain(line) for line in self._lines)
