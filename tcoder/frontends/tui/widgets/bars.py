"""The header, the queue and the status line."""

from collections.abc import Sequence

from textual import events
from textual.message import Message

from tcoder.frontends import bars
from tcoder.frontends.tui.widgets.line import LinesWidget
from tcoder.frontends.view import View


class Header(LinesWidget):
    """Session, branch, folder; checkpoints and sandbox."""

    DEFAULT_CSS = "Header { height: 1; background: $panel; }"

    browser = False

    def show(self, view: View, title: str, branch: str) -> None:
        width = self.size.width or 80
        self.show_lines([bars.header(view, title=title, branch=branch, width=width, browser=self.browser)])


class QueueLines(LinesWidget):
    """The messages that wait."""

    DEFAULT_CSS = "QueueLines { height: auto; max-height: 3; display: none; }"

    def show(self, view: View) -> None:
        lines = bars.queue(view, self.size.width or 80)
        if len(lines) != len(self.lines):
            self.display = bool(lines)
            self.styles.height = len(lines)
        self.show_lines(lines)


class StatusLine(LinesWidget):
    """Model, context, cost, speed, activity; a click on one of them tells more about it."""

    DEFAULT_CSS = "StatusLine { height: 1; width: 1fr; }"

    class Chosen(Message):
        """A field was clicked: its action."""

        def __init__(self, action: str) -> None:
            super().__init__()
            self.action = action

    _fields: Sequence[bars.Field] = ()

    def show(self, view: View, *, elapsed_s: float, tick: int, motion: bool) -> None:
        width = self.size.width or 60
        self._fields = bars.status_fields(view, elapsed_s=elapsed_s, width=width, tick=tick, motion=motion)
        self.show_lines([bars.joined(self._fields)])

    def on_mouse_down(self, event: events.MouseDown) -> None:
        event.stop()
        if action := bars.action_at(self._fields, event.x):
            self.post_message(self.Chosen(action))
