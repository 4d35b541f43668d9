"""The list of completions above the prompt."""

from collections.abc import Sequence

from textual import events
from textual.message import Message

from tcoder.frontends.commands import Candidate
from tcoder.frontends.lines import line
from tcoder.frontends.sanitise import clean_line
from tcoder.frontends.tui.widgets.line import LinesWidget

SHOWN = 8


class Completions(LinesWidget):
    """Shows candidates with one of them marked; `current` is what Tab or Enter take."""

    DEFAULT_CSS = "Completions { height: auto; max-height: 8; display: none; background: $panel; margin: 0 1; }"

    class Picked(Message):
        """The person clicked a candidate."""

        def __init__(self, candidate: Candidate) -> None:
            super().__init__()
            self.candidate = candidate

    def __init__(self, *, id: str, ascii_glyphs: bool = False) -> None:  # noqa: A002  Textual's name
        super().__init__(id=id, ascii_glyphs=ascii_glyphs)
        self._candidates: Sequence[Candidate] = ()
        self._at = 0

    @property
    def current(self) -> Candidate | None:
        return self._candidates[self._at] if self._candidates else None

    def show(self, candidates: Sequence[Candidate]) -> None:
        """Show these, the first one marked; none = hide."""
        keep = self.current.label if self.current else ""
        self._candidates = candidates[:200]
        self._at = next((at for at, candidate in enumerate(self._candidates) if candidate.label == keep), 0)
        rows = min(SHOWN, len(self._candidates))
        self.display = bool(rows)
        self.styles.height = max(1, rows)
        self._draw()

    def move(self, by: int) -> None:
        if self._candidates:
            self._at = (self._at + by) % len(self._candidates)
            self._draw()

    def _first(self) -> int:
        return max(0, min(self._at - SHOWN // 2, len(self._candidates) - SHOWN))

    def _draw(self) -> None:
        first = self._first()
        width = max((len(candidate.label) for candidate in self._candidates[first : first + SHOWN]), default=0)
        self.show_lines(
            [
                line(
                    ("▸ " if at == self._at else "  ", "accent"),
                    (f"{clean_line(candidate.label):{min(width, 60)}}", "bold" if at == self._at else "text"),
                    (f"   {clean_line(candidate.note)}" if candidate.note else "", "dim"),
                )
                for at, candidate in enumerate(self._candidates[first : first + SHOWN], first)
            ]
        )

    def on_mouse_down(self, event: events.MouseDown) -> None:
        event.stop()
        at = self._first() + event.y
        if 0 <= at < len(self._candidates):
            self.post_message(self.Picked(self._candidates[at]))
