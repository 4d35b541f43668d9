"""The attempts of a session: what was tried, what it changed, what was left; compare two, go back before one."""

from textual import events
from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.screen import Screen

from tcoder.frontends import docks
from tcoder.frontends.figures import duration, plural
from tcoder.frontends.lines import Line, line
from tcoder.frontends.present import diff_lines
from tcoder.frontends.sanitise import clean, clean_line
from tcoder.frontends.tui.desk import Desk
from tcoder.frontends.tui.screens.text import Page
from tcoder.frontends.tui.widgets.line import LinesWidget
from tcoder.protocol.attempt import Attempt
from tcoder.protocol.ops import MakeCheckpoint, Rollback, RunChecks


class AttemptsScreen(Screen[None]):
    """Rows on the left, the marked attempt on the right. A change of the tree takes its key twice."""

    DEFAULT_CSS = """
    AttemptsScreen { background: $background; }
    AttemptsScreen #title, AttemptsScreen #foot { height: 1; background: $panel; padding: 0 1; }
    AttemptsScreen #entries { width: 46%; max-width: 60; border-right: solid $primary 40%; }
    """
    FOOT = "Esc back · ↑ ↓ choose · = compare with another · b roll back to before it · k checkpoint · r run the tests"

    def __init__(self, desk: Desk) -> None:
        super().__init__()
        self._desk = desk
        self._at = len(desk.view.attempts) - 1
        self._other: int | None = None
        self._armed = False
        glyphs = desk.startup.ascii_glyphs
        self._head = LinesWidget(id="title", palette=desk.palette, ascii_glyphs=glyphs)
        self._list = Page((), desk.palette, widget_id="entries", ascii_glyphs=glyphs)
        self._detail = Page((), desk.palette, widget_id="detail", ascii_glyphs=glyphs)
        self._foot = LinesWidget(id="foot", palette=desk.palette, ascii_glyphs=glyphs)

    def compose(self) -> ComposeResult:
        yield self._head
        with Horizontal():
            yield self._list
            yield self._detail
        yield self._foot

    def on_mount(self) -> None:
        self._desk.watchers.append(self._draw)
        self.call_after_refresh(self._draw)

    def on_unmount(self) -> None:
        self._desk.watchers.remove(self._draw)

    @property
    def _attempts(self) -> tuple[Attempt, ...]:
        return self._desk.view.attempts

    def _draw(self) -> None:
        attempts = self._attempts
        self._head.show_lines([line(("Attempts  ", "title"), (plural(len(attempts), "attempt"), "dim"))])
        foot = "b again to roll the files back to before this attempt; this can be undone" if self._armed else self.FOOT
        self._foot.show_lines([line((foot, "warn" if self._armed else "dim"))])
        rows = [
            line(("▸" if at == self._at else "=" if at == self._other else " ", "accent"), *docks.attempt(of, before))
            for at, (of, before) in enumerate(zip(attempts, (None, *attempts), strict=False))
        ]
        self._list.set_all(rows or [line(("no attempt yet", "dim"))], keep=True)
        if not attempts:
            return
        self._list.reveal(self._at, self._at)
        shown = list(detail(attempts[self._at]))
        if self._other is not None and self._other != self._at:
            shown = [*detail(attempts[self._other]), (), *shown]
        self._detail.set_all(shown)

    async def on_key(self, event: events.Key) -> None:
        key = event.character if event.is_printable and event.character else event.key
        armed, self._armed = self._armed, False
        match key:
            case "escape" | "q" | "ctrl+c":
                self.dismiss(None)
            case "up":
                self._move(-1)
            case "down" | "j":
                self._move(1)
            case "pageup":
                self._detail.scroll_by(-10)
            case "pagedown" | " ":
                self._detail.scroll_by(10)
            case "=":
                self._other = None if self._other == self._at else self._at
            case "k" if self._attempts:
                await self._desk.submit(MakeCheckpoint(f"attempt {self._attempts[self._at].number}"))
            case "r":
                if await self._desk.submit(RunChecks()):
                    self.dismiss(None)
            case "b" if self._attempts and self._attempts[self._at].patch_id:
                if armed and await self._desk.submit(Rollback(self._attempts[self._at].patch_id)):
                    self.dismiss(None)
                self._armed = not armed
            case _:
                return
        event.stop()
        self._draw()

    def _move(self, by: int) -> None:
        self._at = max(0, min(len(self._attempts) - 1, self._at + by))


def detail(of: Attempt) -> tuple[Line, ...]:
    """An attempt in full: hypothesis, figures, what was left, what it changed."""
    counts = [("before", of.failing_before), ("after", of.failing_after)]
    facts = [f"{name} {plural(count, 'failure')}" if count >= 0 else f"{name} not run" for name, count in counts]
    facts += [part for part in (duration(of.duration_s) if of.duration_s else "", of.variant) if part]
    head = line((f"attempt {of.number}  ", "title"), (of.verdict, "ok" if of.verdict == "solved" else "warn"))
    hypothesis = [line(text.expandtabs(4)) for text in clean(of.hypothesis).split("\n")]
    left = (line(("left: ", "dim"), clean_line(of.signature, 300)),) if of.signature else ()
    diff = diff_lines(of.diff) if of.diff.strip() else (line(("it changed nothing", "dim")),)
    return (head, *hypothesis, line((" · ".join(facts), "dim")), *left, (), *diff)
