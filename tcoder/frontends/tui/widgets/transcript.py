"""The conversation: the widget that shows it, with its mouse and keys."""

from textual import events
from textual.message import Message

from tcoder.frontends import blocks as block_rows
from tcoder.frontends.cards import Block, ErrorCard, failed
from tcoder.frontends.tui.scrolling import Anchor
from tcoder.frontends.tui.selection import Point, Selection
from tcoder.frontends.tui.widgets.transcript_lines import TranscriptLines

WHEEL_LINES = 3


class TranscriptView(TranscriptLines):
    """What the person does with the conversation: scroll, select, unfold, choose a block."""

    class Copy(Message):
        """The person wants this text on the clipboard."""

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    class Left(Message):
        """The person goes back to the prompt; `typed` is the character that did it, or empty."""

        def __init__(self, typed: str = "") -> None:
            super().__init__()
            self.typed = typed

    class Chosen(Message):
        """A key was pressed on a block: `d` its diff, `o` open in the editor, `r` again, `c` checkpoint; `l` and `k` on
        a failed call, `enter` on one for want of room."""

        def __init__(self, key: str, index: int) -> None:
            super().__init__()
            self.key = key
            self.index = index

    # -- mouse and keys

    def _point(self, event: events.MouseEvent) -> Point | None:
        if not self._places:
            return None
        y = max(0, min(event.y, len(self._places) - 1))
        place = self._places[y]
        strip = self._shown[y][0]
        cells = max(0, event.x - 1)
        text = strip.text
        column = next((at for at in range(len(text)) if strip.index_to_cell_position(at + 1) > cells), len(text))
        return Point(place.block, place.row, column)

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        event.stop()
        self.scroll_lines(WHEEL_LINES)

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        event.stop()
        self.scroll_lines(-WHEEL_LINES)

    def on_mouse_down(self, event: events.MouseDown) -> None:
        if event.button != 1:
            return
        event.stop()
        self.capture_mouse()
        if event.x >= self.size.width - 1:
            self._drag_bar = True
            self._scroll_to_bar(event.y)
            return
        self._press = self._point(event)
        if self._selection is not None:
            self.clear_selection()

    def on_mouse_move(self, event: events.MouseMove) -> None:
        if self._drag_bar:
            self._scroll_to_bar(event.y)
            return
        if self._press is None or not event.button:
            return
        if event.y < 0:
            self.scroll_lines(-1)
        elif event.y >= self.size.height:
            self.scroll_lines(1)
        point = self._point(event)
        if point is not None and (point != self._press or self._selection is not None):
            self._selection = Selection(self._press, point)
            self._show()

    def on_mouse_up(self, event: events.MouseUp) -> None:
        self.release_mouse()
        press, self._press = self._press, None
        if self._drag_bar:
            self._drag_bar = False
            return
        if press is None or self._selection is not None:
            return
        if (
            self._new_lines
            and not self.following
            and event.y == self.size.height - 1
            and event.x > self.size.width - 26
        ):
            self.follow()
            return
        first = next((row for row, line in enumerate(self._lay(press.block).lines) if line.line), 0)
        if press.row == first:
            self.toggle(press.block)

    def _scroll_to_bar(self, y: int) -> None:
        total, height = sum(self._guesses), self.size.height
        wanted = max(0, min(y, height)) * total // max(1, height)
        for block, lines in enumerate(self._guesses):
            if wanted < lines:
                self._anchor = min(Anchor(block, wanted), self._bottom())
                break
            wanted -= lines
        self.following = self._anchor >= self._bottom()
        self._new_lines = 0 if self.following else self._new_lines
        self._show()

    def on_key(self, event: events.Key) -> None:
        cursor = self.cursor
        match event.key:
            case "k" | "l" if cursor is not None and failed(self._blocks[cursor]):
                self.post_message(self.Chosen(event.key, cursor))
            case "enter" if cursor is not None and _lacks_room(self._blocks[cursor]):
                self.post_message(self.Chosen(event.key, cursor))
            case "slash":
                self.post_message(self.Chosen("/", cursor or 0))
            case "up" | "left_square_bracket" | "k":
                self.move_cursor(-1)
            case "down" | "right_square_bracket" | "j":
                self.move_cursor(1)
            case "shift+up":
                self.scroll_lines(-1)
            case "shift+down":
                self.scroll_lines(1)
            case "home":
                self.to_top()
            case "end":
                self.follow()
            case "pageup":
                self.scroll_page(-1)
            case "pagedown":
                self.scroll_page(1)
            case "enter" | "space" if cursor is not None:
                self.toggle(cursor)
            case "y" if cursor is not None:
                self.post_message(self.Copy(self.selected_text() or block_rows.source(self._blocks[cursor])))
            case "d" | "o" | "r" | "c" if cursor is not None:
                self.post_message(self.Chosen(event.key, cursor))
            case "escape":
                self.post_message(self.Left())
            case _:
                if not event.is_printable or event.character is None:
                    return
                self.post_message(self.Left(event.character))
        event.stop()
        event.prevent_default()


def _lacks_room(block: Block) -> bool:
    return isinstance(block, ErrorCard) and block.failure == "context_full"
