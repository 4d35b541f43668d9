"""Checkpoints and patches: look at what has changed since, go back, fork."""

from textual import events
from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.screen import Screen

from tcoder.frontends.figures import clock, plural
from tcoder.frontends.lines import Line, line
from tcoder.frontends.present import changed, diff_lines
from tcoder.frontends.sanitise import clean_line
from tcoder.frontends.tui.desk import Desk
from tcoder.frontends.tui.screens.text import Page
from tcoder.frontends.tui.widgets.line import LinesWidget
from tcoder.protocol.ops import Redo, Rollback, Undo
from tcoder.protocol.queries import ChangePreview, PreviewChange, Timeline, TimelineEntry


class TimelineScreen(Screen[str | None]):
    """Entries on the left, what changed since the marked one on the right. Dismissed with the id of a checkpoint to
    fork from, or None."""

    DEFAULT_CSS = """
    TimelineScreen { background: $background; }
    TimelineScreen #title, TimelineScreen #foot { height: 1; background: $panel; padding: 0 1; }
    TimelineScreen #entries { width: 46%; max-width: 60; border-right: solid $primary 40%; }
    """
    FOOT = "Esc back · ↑ ↓ choose · b roll back files · B files and conversation · u undo patch · f fork here"

    def __init__(self, desk: Desk, timeline: Timeline, back: int = 0) -> None:
        super().__init__()
        self._desk = desk
        self._entries = timeline.entries
        self._at = max(0, len(self._entries) - 1 - back)
        self._armed = ""
        glyphs = desk.startup.ascii_glyphs
        self._head = LinesWidget(id="title", palette=desk.palette, ascii_glyphs=glyphs)
        self._list = Page((), desk.palette, widget_id="entries", ascii_glyphs=glyphs)
        self._diff = Page((), desk.palette, widget_id="diff", ascii_glyphs=glyphs)
        self._foot = LinesWidget(id="foot", palette=desk.palette, ascii_glyphs=glyphs)

    def compose(self) -> ComposeResult:
        yield self._head
        with Horizontal():
            yield self._list
            yield self._diff
        yield self._foot

    def on_mount(self) -> None:
        self.call_after_refresh(self._show)

    @property
    def _current(self) -> TimelineEntry | None:
        return self._entries[self._at] if self._entries else None

    async def _show(self) -> None:
        self._head.show_lines([line(("Timeline  ", "title"), (plural(len(self._entries), "entry", "entries"), "dim"))])
        self._foot.show_lines([line((self.FOOT, "dim"))])
        self._draw_list()
        entry = self._current
        if entry is None:
            self._diff.set_all(
                [line(("no checkpoint yet: one is made before each turn that changes something", "dim"))]
            )
            return
        preview = await self._desk.ask(PreviewChange(entry.id), ChangePreview)
        if preview is None or entry is not self._current:
            return
        lines = list(diff_lines(preview.diff)) if preview.diff.strip() else [line(("nothing has changed since", "dim"))]
        if preview.untracked:
            names = ", ".join(clean_line(name, 60) for name in preview.untracked[:8])
            lines = [line(("made since, kept by a roll back: ", "warn"), names), (), *lines]
        if entry.uncovered:
            lines = [line(("not held: ", "warn"), clean_line("; ".join(entry.uncovered))), *lines]
        self._diff.set_all(lines)

    def _draw_list(self) -> None:
        self._list.set_all(
            [_entry_line(entry, marked=at == self._at) for at, entry in enumerate(self._entries)], keep=True
        )
        self._list.reveal(self._at, self._at)

    async def on_key(self, event: events.Key) -> None:
        key = event.character if event.is_printable and event.character else event.key
        armed, self._armed = self._armed, ""
        match key:
            case "escape" | "q" | "ctrl+c":
                self.dismiss(None)
            case "up" | "k" | "alt+left":
                await self._move(-1)
            case "down" | "j" | "alt+right":
                await self._move(1)
            case "pageup":
                self._diff.scroll_by(-10)
            case "pagedown" | " ":
                self._diff.scroll_by(10)
            case "b" | "B" | "u":
                await self._change(key, armed)
            case "f" if self._current is not None:
                self.dismiss(self._current.id)
            case _:
                return
        event.stop()

    async def _move(self, by: int) -> None:
        if self._entries:
            self._at = max(0, min(len(self._entries) - 1, self._at + by))
            await self._show()

    async def _change(self, key: str, armed: str) -> None:
        """A change of the tree takes the key twice; the roll back itself can be rolled back."""
        entry = self._current
        if entry is None:
            return
        if armed != key:
            what = {
                "b": "roll the files back to here",
                "B": "roll files and conversation back to here",
                "u": "undo this patch",
            }[key]
            self._armed = key
            self._foot.show_lines([line((f"{key} again to {what}; this can be undone", "warn"))])
            return
        if key == "u":
            done = await self._desk.submit(Redo(entry.id) if entry.undone else Undo(entry.id))
        else:
            done = await self._desk.submit(Rollback(entry.id, conversation=key == "B"))
        if done:
            self.dismiss(None)


def _entry_line(entry: TimelineEntry, *, marked: bool) -> Line:
    glyph = "◆" if entry.kind == "checkpoint" else "±"
    return line(
        ("▸" if marked else " ", "accent"),
        (f"{glyph} ", "dim" if entry.undone else "accent"),
        (f"{clock(entry.time)} ", "dim"),
        (clean_line(entry.cause, 60), "bold" if marked else "dim" if entry.undone else "text"),
        ("  ", "dim"),
        *(changed(entry.insertions, entry.deletions) if entry.files else ()),
        (f"  {entry.checks}" if entry.checks else "", "dim"),
        ("  undone" if entry.undone else "", "warn"),
    )
