"""A list to choose from, with a filter: models, sessions, themes, history, the command palette."""

from collections.abc import Awaitable, Callable, Sequence

from textual import events, on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.screen import ModalScreen, Screen
from textual.widgets import Input

from tcoder.frontends.commands import best
from tcoder.frontends.lines import line
from tcoder.frontends.sanitise import clean_line
from tcoder.frontends.tui.palette import PALETTES, Palette
from tcoder.frontends.tui.widgets.line import LinesWidget

Option = tuple[str, str, str]
"""What is given back, what is shown, a note."""


class _Options(LinesWidget):
    DEFAULT_CSS = "_Options { height: auto; max-height: 16; }"


class PickScreen(ModalScreen[str | None]):
    """Type to filter, arrows to move, Enter to take, Esc to leave. Gives back the option's value or None."""

    DEFAULT_CSS = """
    PickScreen { align: center top; background: $background 50%; }
    PickScreen #box { width: 90%; max-width: 100; height: auto; margin-top: 2; background: $panel;
                      border: round $primary; padding: 0 1; }
    PickScreen Input { border: none; height: 1; padding: 0; background: $panel; }
    PickScreen Input:focus { border: none; }
    """
    ROWS = 14

    def __init__(
        self, title: str, options: Sequence[Option], palette: Palette | None = None, *, ascii_glyphs: bool = False
    ) -> None:
        super().__init__()
        self._title = title
        self._options = options
        self._found: Sequence[Option] = options
        self._at = 0
        self._list = _Options(id="options", palette=palette or PALETTES["tcoder-dark"], ascii_glyphs=ascii_glyphs)
        self._input = Input(placeholder="type to filter", select_on_focus=False)
        self._input.cursor_blink = False

    def compose(self) -> ComposeResult:
        box = Vertical(self._input, self._list, id="box")
        box.border_title = clean_line(self._title)
        yield box

    def on_mount(self) -> None:
        self._input.focus()
        self._draw()

    @on(Input.Changed)
    def _filter(self, event: Input.Changed) -> None:
        scored = [(best(event.value, (shown, note)), at) for at, (_, shown, note) in enumerate(self._options)]
        self._found = [self._options[at] for _, at in sorted((s, at) for s, at in scored if s is not None)]
        self._at = 0
        self._draw()

    def on_key(self, event: events.Key) -> None:
        match event.key:
            case "escape" | "ctrl+c":
                self.dismiss(None)
            case "up" | "ctrl+p":
                self._move(-1)
            case "down" | "ctrl+n":
                self._move(1)
            case "pageup":
                self._move(-self.ROWS)
            case "pagedown":
                self._move(self.ROWS)
            case "enter":
                self.dismiss(self._found[self._at][0] if self._found else None)
            case _:
                return
        event.stop()
        event.prevent_default()

    def _move(self, by: int) -> None:
        if self._found:
            self._at = max(0, min(len(self._found) - 1, self._at + by))
            self._draw()

    def on_mouse_down(self, event: events.MouseDown) -> None:
        if event.widget is self._list:
            first = self._first()
            at = first + event.screen_y - self._list.region.y
            if first <= at < len(self._found):
                self.dismiss(self._found[at][0])
        elif event.widget is self:
            self.dismiss(None)

    def _first(self) -> int:
        return max(0, min(self._at - self.ROWS // 2, len(self._found) - self.ROWS))

    def _draw(self) -> None:
        first = self._first()
        shown = self._found[first : first + self.ROWS]
        width = min(60, max((len(option[1]) for option in shown), default=0))
        lines = [
            line(
                ("▸ " if at == self._at else "  ", "accent"),
                (f"{clean_line(text, 120):{width}}", "bold" if at == self._at else "text"),
                (f"   {clean_line(note, 120)}" if note else "", "dim"),
            )
            for at, (_, text, note) in enumerate(shown, first)
        ]
        self._list.styles.height = max(1, len(lines))
        self._list.show_lines(lines or [line(("nothing fits", "dim"))])


def pick(screen: Screen[None], title: str, options: Sequence[Option], chosen: Callable[[str], Awaitable[None]]) -> None:
    """Let the person choose; `chosen` is called with the value unless they leave."""

    async def done(value: str | None) -> None:
        if value is not None:
            await chosen(value)

    screen.app.push_screen(PickScreen(title, options), done)  # pyright: ignore[reportUnknownMemberType]  App's type is open
