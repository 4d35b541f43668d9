"""One line that is asked for: a key (masked), a model's name, a session's name."""

from collections.abc import Awaitable, Callable

from textual import events, on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.screen import ModalScreen, Screen
from textual.widgets import Input

from tcoder.frontends.lines import line
from tcoder.frontends.sanitise import clean_line
from tcoder.frontends.tui.palette import PALETTES
from tcoder.frontends.tui.widgets.line import LinesWidget


class _Note(LinesWidget):
    DEFAULT_CSS = "_Note { height: 1; }"


class EntryScreen(ModalScreen[str | None]):
    """Enter gives back the line without surrounding white space, Esc None. A `secret` is never shown."""

    DEFAULT_CSS = """
    EntryScreen { align: center top; background: $background 50%; }
    EntryScreen #box { width: 90%; max-width: 100; height: auto; margin-top: 2; background: $panel;
                       border: round $primary; padding: 0 1; }
    EntryScreen Input { border: none; height: 1; padding: 0; background: $panel; }
    EntryScreen Input:focus { border: none; }
    """

    def __init__(self, title: str, note: str = "", value: str = "", *, secret: bool = False) -> None:
        super().__init__()
        self._title = title
        self._note = _Note(id="note", palette=PALETTES["tcoder-dark"], ascii_glyphs=False)
        self._said = note
        self._input = Input(value, password=secret, select_on_focus=False)
        self._input.cursor_blink = False

    def compose(self) -> ComposeResult:
        box = Vertical(self._input, self._note, id="box")
        box.border_title = clean_line(self._title)
        yield box

    def on_mount(self) -> None:
        self._input.focus()
        self._note.show_lines([line((clean_line(self._said, 95), "dim"))])

    @on(Input.Submitted)
    def _done(self, event: Input.Submitted) -> None:
        event.stop()
        self.dismiss(event.value.strip())

    def on_key(self, event: events.Key) -> None:
        if event.key in ("escape", "ctrl+c"):
            event.stop()
            event.prevent_default()
            self.dismiss(None)


def enter(
    screen: Screen[None],
    title: str,
    entered: Callable[[str], Awaitable[None]],
    *,
    note: str = "",
    value: str = "",
    secret: bool = False,
) -> None:
    """Ask for a line; `entered` is called with it unless the person leaves or gives none."""

    async def done(text: str | None) -> None:
        if text:
            await entered(text)

    screen.app.push_screen(EntryScreen(title, note, value, secret=secret), done)  # pyright: ignore[reportUnknownMemberType]  App's type is open
