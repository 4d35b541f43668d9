"""The plan as a list that a person can change: tick, strike, add, change, reorder."""

from msgspec.structs import replace
from textual import events
from textual.app import ComposeResult
from textual.screen import Screen

from tcoder.frontends.figures import plural
from tcoder.frontends.lines import line
from tcoder.frontends.present import plan_step
from tcoder.frontends.sanitise import clean_line
from tcoder.frontends.tui.desk import Desk
from tcoder.frontends.tui.screens.entry import enter
from tcoder.frontends.tui.screens.text import Page
from tcoder.frontends.tui.widgets.line import LinesWidget
from tcoder.protocol.ops import SetPlan
from tcoder.protocol.plan import PlanStep, StepState


class PlanScreen(Screen[None]):
    """Every change is handed to the session at once; the model hears of it with its next request."""

    DEFAULT_CSS = """
    PlanScreen { background: $background; }
    PlanScreen #title, PlanScreen #foot { height: 1; background: $panel; padding: 0 1; }
    """
    FOOT = "Esc back · ↑ ↓ choose · Space tick · x strike · a add · e change · Alt+↑ Alt+↓ move"

    def __init__(self, desk: Desk) -> None:
        super().__init__()
        self._desk = desk
        self._at = 0
        glyphs = desk.startup.ascii_glyphs
        self._head = LinesWidget(id="title", palette=desk.palette, ascii_glyphs=glyphs)
        self._list = Page((), desk.palette, widget_id="steps", ascii_glyphs=glyphs)
        self._foot = LinesWidget(id="foot", palette=desk.palette, ascii_glyphs=glyphs)

    def compose(self) -> ComposeResult:
        yield self._head
        yield self._list
        yield self._foot

    def on_mount(self) -> None:
        self._desk.watchers.append(self._draw)
        self.call_after_refresh(self._draw)

    def on_unmount(self) -> None:
        self._desk.watchers.remove(self._draw)

    @property
    def _steps(self) -> tuple[PlanStep, ...]:
        return self._desk.view.plan

    def _draw(self) -> None:
        done = sum(step.state == "done" for step in self._steps)
        self._head.show_lines(
            [line(("Plan  ", "title"), (f"{done} of {plural(len(self._steps), 'step')} done", "dim"))]
        )
        self._foot.show_lines([line((self.FOOT, "dim"))])
        rows = [
            line(
                ("▸ " if at == self._at else "  ", "accent"),
                *plan_step(step),
                (f"   proved by {clean_line(step.check, 80)}" if step.check else "", "dim"),
            )
            for at, step in enumerate(self._steps)
        ]
        self._list.set_all(rows or [line(("there is no plan yet; a adds a step", "dim"))], keep=True)

    async def on_key(self, event: events.Key) -> None:
        key = event.character if event.is_printable and event.character else event.key
        match key:
            case "escape" | "q" | "ctrl+c":
                self.dismiss(None)
            case "up" | "k":
                self._at = max(0, self._at - 1)
            case "down" | "j":
                self._at = max(0, min(len(self._steps) - 1, self._at + 1))
            case " " | "enter":
                await self._mark("done")
            case "x":
                await self._mark("dropped")
            case "alt+up":
                await self._swap(-1)
            case "alt+down":
                await self._swap(1)
            case "a":
                enter(self, "Another step", self._add)
            case "e" if self._steps:
                enter(self, "The step", self._change, value=self._steps[self._at].text)
            case _:
                return
        event.stop()
        self._draw()

    async def _mark(self, state: StepState) -> None:
        """To `state`, or back to open."""
        if self._steps:
            step = self._steps[self._at]
            await self._put(self._at, replace(step, state="open" if step.state == state else state))

    async def _put(self, at: int, step: PlanStep) -> None:
        await self._desk.submit(SetPlan((*self._steps[:at], step, *self._steps[at + 1 :])))

    async def _swap(self, by: int) -> None:
        steps, to = list(self._steps), self._at + by
        if steps and 0 <= to < len(steps):
            steps[self._at], steps[to] = steps[to], steps[self._at]
            self._at = to
            await self._desk.submit(SetPlan(tuple(steps)))

    async def _add(self, text: str) -> None:
        at = self._at + 1 if self._steps else 0
        await self._desk.submit(SetPlan((*self._steps[:at], PlanStep(text), *self._steps[at:])))
        self._at = at

    async def _change(self, text: str) -> None:
        if self._at < len(self._steps):
            await self._put(self._at, replace(self._steps[self._at], text=text))
