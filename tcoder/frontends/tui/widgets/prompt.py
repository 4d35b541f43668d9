"""The prompt: an editor of a few lines that knows history, completion and pastes."""

import time
from collections.abc import Callable
from inspect import iscoroutinefunction

from textual import events
from textual.actions import parse
from textual.message import Message
from textual.widgets import TextArea

from tcoder.frontends.sanitise import clean
from tcoder.frontends.tui.pastes import Pastes


class Prompt(TextArea):
    """What is typed. Enter sends; what a key means besides editing is asked of the screen by messages. `on_accept` is
    called for Enter while completions are shown."""

    DEFAULT_CSS = """
    Prompt {
        height: auto; min-height: 3; max-height: 12; padding: 0 1; background: $background;
        border: round $primary 60%; border-title-color: $primary; border-subtitle-color: $foreground 60%;
        scrollbar-size-vertical: 1;
        &:focus { border: round $primary; }
        & .text-area--cursor-line { background: $background; }
    }
    Prompt.ascii { border: ascii $primary; &:focus { border: ascii $primary; } }
    Prompt.mode-auto { border: round $error; &:focus { border: round $error; } border-title-color: $error; }
    Prompt.bare, Prompt.bare:focus { border: none; border-left: outer $primary; min-height: 1; }
    """

    class Sent(Message):
        """The person sends `text`; `later` = as the next turn, even when something runs."""

        def __init__(self, text: str, *, later: bool) -> None:
            super().__init__()
            self.text = text
            self.later = later

    class Typed(Message):
        """The text or the cursor changed: `before` is what stands before the cursor."""

        def __init__(self, before: str) -> None:
            super().__init__()
            self.before = before

    class Wants(Message):
        """A key that is not for editing: `up`/`down` at the edge, `tab`, `escape`, `interrupt` (Ctrl+C), `end` …"""

        def __init__(self, what: str) -> None:
            super().__init__()
            self.what = what

    def __init__(self, on_accept: Callable[[], None]) -> None:
        super().__init__(id="prompt", soft_wrap=True, show_line_numbers=False, tab_behavior="focus")
        self.on_accept = on_accept
        self.cursor_blink = False
        self.pastes = Pastes()
        self.popup_open = False
        self.last_key_at = 0.0

    @property
    def is_empty(self) -> bool:
        return not self.text

    @property
    def before_cursor(self) -> str:
        row, column = self.cursor_location
        lines = self.document.lines[: row + 1]
        return "\n".join((*lines[:-1], lines[-1][:column])) if lines else ""

    def set_text(self, text: str) -> None:
        """Replace everything, cursor at the end; can be undone."""
        self.replace(text, self.document.start, self.document.end, maintain_selection_offset=False)
        self.move_cursor(self.document.end)

    def complete(self, start: int, text: str) -> None:
        """Replace what stands from `start` (in `before_cursor`) to the cursor."""
        before = self.before_cursor[:start]
        row = before.count("\n")
        column = len(before) - (before.rfind("\n") + 1)
        self.replace(text, (row, column), self.cursor_location, maintain_selection_offset=False)

    def take(self) -> str:
        """The text with pastes in full; the prompt is empty afterwards."""
        text = self.pastes.expand(self.text)
        self.set_text("")
        self.pastes.clear()
        self.history.clear()
        return text

    def send(self, *, later: bool = False) -> None:
        text = self.take()
        if text.strip():
            self.post_message(self.Sent(text, later=later))

    def on_key(self, event: events.Key) -> None:
        self.last_key_at = time.monotonic()
        if self._own_key(event):
            event.stop()
            event.prevent_default()

    def _own_key(self, event: events.Key) -> bool:
        row, column = self.cursor_location
        last_row = self.document.line_count - 1
        match event.key:
            case "enter" if self.popup_open:
                self.on_accept()  # at once: a message would come after the keys that follow
            case "enter":
                self.enter()
            case "ctrl+j" | "shift+enter":
                self.insert("\n")
            case "tab":
                self.post_message(self.Wants("tab"))
            case "up" if self.popup_open or row == 0:
                self.post_message(self.Wants("up"))
            case "down" if self.popup_open or row == last_row:
                self.post_message(self.Wants("down"))
            case "escape":
                self.post_message(self.Wants("escape"))
            case "ctrl+c":
                self.post_message(self.Wants("interrupt"))
            case "ctrl+d" if self.is_empty:
                self.post_message(self.Wants("quit"))
            case "home" | "end" if self.is_empty:
                self.post_message(self.Wants(event.key))
            case "question_mark" | "left_square_bracket" | "right_square_bracket" if self.is_empty:
                self.post_message(self.Wants(event.key))
            case "ctrl+k" if self.is_empty:
                self.post_message(self.Wants("palette"))
            case "ctrl+underscore" | "ctrl+7":
                self.undo()
            case "backspace" if not column and row == 0 and self.selection.is_empty:
                return True
            case _:
                return self._edit(event.key)
        return True

    def _edit(self, key: str) -> bool:
        """Do what the editor has bound to a key at once: as an action it would come after the letters that follow."""
        bound = self._bindings.key_to_bindings.get(key)
        if not bound:
            return False
        _, name, parameters = parse(bound[0].action)
        action: Callable[..., object] = getattr(self, f"action_{name}")
        if iscoroutinefunction(action):
            return False
        action(*parameters)
        return True

    def enter(self) -> None:
        """Send, or break the line after a backslash."""
        before = self.before_cursor
        if before.endswith("\\") and not before.endswith("\\\\"):
            self.action_delete_left()
            self.insert("\n")
            return
        self.send()

    def on_paste(self, event: events.Paste) -> None:
        event.stop()
        event.prevent_default()
        self.last_key_at = time.monotonic()
        self.insert_paste(event.text)

    def insert_paste(self, text: str) -> None:
        """Insert pasted text as one step; a long one becomes a chip."""
        self.history.checkpoint()
        self.insert(self.pastes.take(clean(text.replace("\r\n", "\n").replace("\r", "\n"))))
        self.history.checkpoint()
