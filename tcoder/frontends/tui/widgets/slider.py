"""The slider between the fast and the standard variant."""

from textual import events
from textual.message import Message

from tcoder.frontends import bars
from tcoder.frontends.tui.widgets.line import LinesWidget
from tcoder.frontends.view import View
from tcoder.protocol.variant import VariantName


class Slider(LinesWidget):
    """Shows the stop that the next model call uses; click an end, drag the knob or turn the wheel to move it."""

    DEFAULT_CSS = """
    Slider { width: 22; height: 1; padding: 0 1 0 0; }
    Slider.narrow { width: 14; }
    """

    class Moved(Message):
        """The person wants this stop; `once` = for the next turn only."""

        def __init__(self, name: VariantName, *, once: bool) -> None:
            super().__init__()
            self.name: VariantName = name
            self.once = once

    colour = True
    """Whether colours and glyphs can tell the ends apart; words do where they cannot."""

    def show(self, view: View) -> None:
        stop = bars.variant_stop(view)
        once = view.stop_next is not None
        if self.has_class("narrow"):
            self.show_lines([bars.small_slider(stop, once=once)])
            return
        pending = view.running and view.served_stop is not None and view.served_stop != stop
        self.show_lines([bars.slider(stop, once=once, pending=pending, colour=self.colour)])

    def on_mouse_down(self, event: events.MouseDown) -> None:
        event.stop()
        self._ask(event.x, once=event.button == 3)

    def on_mouse_move(self, event: events.MouseMove) -> None:
        if event.button == 1:
            self._ask(event.x, once=False)

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        event.stop()
        self.post_message(self.Moved("standard", once=False))

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        event.stop()
        self.post_message(self.Moved("fast", once=False))

    def _ask(self, x: int, *, once: bool) -> None:
        self.post_message(self.Moved("fast" if x * 2 < self.size.width - 2 else "standard", once=once))
