"""A screen of lines to read: a diff, a report, the output of a command."""

from collections.abc import Sequence

from textual import events
from textual.app import ComposeResult
from textual.screen import Screen

from tcoder.frontends.lines import Line, line
from tcoder.frontends.present import diff_lines
from tcoder.frontends.sanitise import clean_line
from tcoder.frontends.tui.palette import Palette
from tcoder.frontends.tui.widgets.line import LinesWidget


class Page(LinesWidget):
    """Lines that scroll; only what is seen is drawn."""

    DEFAULT_CSS = "Page { height: 1fr; width: 1fr; padding: 0 1; }"

    def __init__(
        self, lines: Sequence[Line], palette: Palette, *, widget_id: str = "page", ascii_glyphs: bool = False
    ) -> None:
        super().__init__(id=widget_id, palette=palette, ascii_glyphs=ascii_glyphs)
        self._all = tuple(lines)
        self.top = 0

    def set_all(self, lines: Sequence[Line], *, keep: bool = False) -> None:
        """Other lines, from their top or (`keep`) from where it stands."""
        self._all = tuple(lines)
        self.top = self.top if keep else 0
        self.scroll_by(0)

    def scroll_by(self, by: int) -> None:
        self.top = max(0, min(self.top + by, len(self._all) - self.content_size.height))
        self.show_lines(self._all[self.top : self.top + max(1, self.content_size.height)])

    def reveal(self, first: int, last: int) -> None:
        """Scroll so that these lines are seen, the first one at least."""
        height = max(1, self.content_size.height)
        if first < self.top or last >= self.top + height:
            self.top = max(0, min(first - 2, len(self._all) - height))
        self.scroll_by(0)

    def on_resize(self) -> None:
        self.scroll_by(0)

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        event.stop()
        self.scroll_by(3)

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        event.stop()
        self.scroll_by(-3)


class TextScreen(Screen[None]):
    """A title, lines, and Esc to go back."""

    DEFAULT_CSS = """
    TextScreen { background: $background; }
    TextScreen #title { height: 1; background: $panel; padding: 0 1; }
    """

    def __init__(self, title: str, lines: Sequence[Line], palette: Palette, *, ascii_glyphs: bool = False) -> None:
        super().__init__()
        self._head = LinesWidget(id="title", palette=palette, ascii_glyphs=ascii_glyphs)
        self._title_text = title
        self.page = Page(lines, palette, ascii_glyphs=ascii_glyphs)

    @classmethod
    def diff(cls, title: str, diff: str, palette: Palette) -> "TextScreen":
        lines = diff_lines(diff) if diff.strip() else (line(("nothing changed", "dim")),)
        return cls(title, lines, palette)

    def compose(self) -> ComposeResult:
        yield self._head
        yield self.page

    def on_mount(self) -> None:
        self._head.show_lines(
            [line((clean_line(self._title_text), "title"), ("   Esc back · ↑ ↓ PageUp PageDown", "dim"))]
        )

    def on_key(self, event: events.Key) -> None:
        height = max(1, self.page.content_size.height - 1)
        steps = {"up": -1, "k": -1, "down": 1, "j": 1, "pageup": -height, "pagedown": height, "space": height,
                 "home": -(1 << 30), "g": -(1 << 30), "end": 1 << 30, "G": 1 << 30}  # fmt: skip
        if event.key in ("escape", "q", "ctrl+c"):
            self.dismiss(None)
        elif (by := steps.get(event.key)) is not None:
            self.page.scroll_by(by)
        else:
            return
        event.stop()
