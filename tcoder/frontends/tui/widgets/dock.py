"""The dock: plan, attempts and checkpoints beside the conversation, or over it on narrow screens."""

from textual import events
from textual.message import Message

from tcoder.frontends import docks
from tcoder.frontends.tui.widgets.line import LinesWidget
from tcoder.frontends.view import View


class Dock(LinesWidget):
    """Shows all three sections, or the one that was asked for."""

    DEFAULT_CSS = """
    Dock { width: 36; height: 1fr; padding: 0 0 0 1; border-left: solid $primary 40%; background: $background; }
    Dock.ascii { border-left: ascii $primary; }
    """

    class Opened(Message):
        """A section was clicked."""

        def __init__(self, section: str) -> None:
            super().__init__()
            self.section = section

    only: str = ""

    def show(self, view: View) -> None:
        if self.display:
            size = self.content_size
            self.show_lines(docks.dock(view, size.width or 34, only=self.only, rows=size.height or 30))

    def on_mouse_down(self, event: events.MouseDown) -> None:
        event.stop()
        for line in reversed(self.lines[: event.y + 1]):
            title = line[1].text.split() if len(line) > 1 and line[0].text == "─" else []
            if title:
                self.post_message(self.Opened(title[0].lower()))
                return
