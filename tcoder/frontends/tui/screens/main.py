"""The main screen: conversation, dock, prompt, status."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from datetime import datetime

from msgspec.structs import replace
from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingsMap
from textual.containers import Horizontal, Vertical
from textual.message import Message
from textual.timer import Timer

from tcoder.frontends.actions import BY_ID
from tcoder.frontends.bars import MODES
from tcoder.frontends.cards import ToolCard
from tcoder.frontends.diff_rows import proposed
from tcoder.frontends.glyphs import ascii_only
from tcoder.frontends.present import question_lines
from tcoder.frontends.sanitise import clean_line
from tcoder.frontends.tui.desk import Desk
from tcoder.frontends.tui.palette import Palette
from tcoder.frontends.tui.screens.prompting import PromptingScreen
from tcoder.frontends.tui.screens.text import TextScreen
from tcoder.frontends.tui.widgets.approval import ApprovalPanel
from tcoder.frontends.tui.widgets.bars import Header, QueueLines, StatusLine
from tcoder.frontends.tui.widgets.dock import Dock
from tcoder.frontends.tui.widgets.slider import Slider
from tcoder.frontends.tui.widgets.transcript import TranscriptView
from tcoder.frontends.view import View
from tcoder.protocol.ops import SetVariant
from tcoder.protocol.queries import SessionChoice
from tcoder.protocol.request import RetryDelta

WIDE = 120


class MainScreen(PromptingScreen):
    """Draws the desk and turns keys into actions. It decides where things stand, never what they mean."""

    DEFAULT_CSS = """
    MainScreen { background: $background; layout: vertical; }
    MainScreen #middle { height: 1fr; layers: base above; }
    MainScreen.narrow Dock { layer: above; dock: right; }
    MainScreen #bottom { height: auto; }
    MainScreen #status-row { height: 1; padding: 0 1; }
    """

    class Switch(Message):
        """The person wants another session."""

        def __init__(self, choice: SessionChoice) -> None:
            super().__init__()
            self.choice = choice

    def __init__(self, desk: Desk, deeds: "Deeds", on_block: "OnBlock") -> None:
        super().__init__(desk)
        self.on_block = on_block
        self.deeds = deeds
        startup = desk.startup
        glyphs = startup.ascii_glyphs
        self.header = Header(id="header", palette=desk.palette, ascii_glyphs=glyphs)
        self.header.browser = startup.browser
        self.queue = QueueLines(id="queue", palette=desk.palette, ascii_glyphs=glyphs)
        self.slider = Slider(id="slider", palette=desk.palette, ascii_glyphs=glyphs)
        self.slider.colour = startup.colour and not glyphs
        self.status = StatusLine(id="status", palette=desk.palette, ascii_glyphs=glyphs)
        self.motion = not startup.reduced_motion
        self._bindings = BindingsMap(
            [
                Binding(binding.key, f"act('{binding.action}')", BY_ID[binding.action].title, show=False, priority=True)
                for binding in desk.keymap.bindings
            ]
        )
        self.dock = Dock(id="dock", palette=desk.palette, ascii_glyphs=glyphs)
        self.dock.set_class(glyphs, "ascii")
        self.dock_wide, self.dock_narrow = True, False
        self.tools_open = False
        self.searched = ""
        self.mouse_mode: str = startup.mouse
        self.wall: Callable[[], float] = time.time
        self.chores: set[asyncio.Task[None]] = set()
        self._ticker: Timer | None = None
        self._tick = 0
        self._turn_began = 0.0
        self._asked = 0
        self._drawn: View | None = None
        self._retrying: tuple[RetryDelta, float] | None = None
        self._attention = ""
        self._titled = ""

    def compose(self) -> ComposeResult:
        yield self.header
        with Horizontal(id="middle"):
            yield self.conversation
            yield self.dock
        with Vertical(id="bottom"):
            yield self.approval
            yield self.queue
            yield self.completions
            yield self.prompt
            with Horizontal(id="status-row"):
                yield self.slider
                yield self.status

    def on_mount(self) -> None:
        self.desk.on_change = self.changed
        self.prompt.border_title = "ask"
        self.prompt.set_class(self.desk.startup.ascii_glyphs, "ascii")
        self.prompt.focus()
        self._ticker = self.set_interval(0.25, self._on_tick, pause=True)
        self.changed([])

    # -- drawing

    def changed(self, blocks: list[int]) -> None:
        """The desk has changed; these blocks are new or different."""
        self.conversation.update_blocks(blocks)
        view = self.desk.view
        if view.running and not self._turn_began:
            self._turn_began = time.monotonic() - _age_s(view.since, self.wall())
            if self._ticker is not None:
                self._ticker.resume()
        elif not view.running and self._turn_began:
            self._turn_began = 0.0
            if self._ticker is not None:
                self._ticker.pause()
        if view is not self._drawn:
            self._draw_bars()

    def _draw_bars(self) -> None:
        view, startup = self.desk.view, self.desk.startup
        self._drawn = view
        self._title(view)
        elapsed = time.monotonic() - self._turn_began if self._turn_began else 0.0
        self.header.show(view, startup.title, startup.branch)
        self._draw_question()
        self.queue.show(view)
        self.dock.show(view)
        self.slider.show(view)
        self.status.show(self._counting_down(view), elapsed_s=elapsed, tick=self._tick, motion=self.motion)
        mode, what = MODES[view.approval], "steer" if view.running else "ask"
        self.prompt.border_title = self._border(what if mode == "ask" else f"{what} · {mode}")
        self.prompt.set_class(view.approval == "auto", "mode-auto")
        self.prompt.border_subtitle = self._hint()

    def _counting_down(self, view: View) -> View:
        """A retry that waits says for how long still."""
        if view.retry is None:
            self._retrying = None
            return view
        if self._retrying is None or self._retrying[0] is not view.retry:
            self._retrying = (view.retry, time.monotonic() + view.retry.after_s)
        left = max(0.0, self._retrying[1] - time.monotonic())
        return replace(view, progress=f"tries again in {left:.0f} s")

    def _title(self, view: View) -> None:
        """The terminal's title: what the session is about, and whether it waits for the person."""
        mark = "▲ " if view.questions else "… " if view.running else "✓ " if view.outcome else ""
        title = f"{mark}tcoder · {clean_line(view.title or 'new session', 60)}"
        if title != self._titled:
            self._titled = title
            self.to_terminal(f"\x1b]2;{self._border(title)}\x07")

    def _hint(self) -> str:
        if self.size.height < 16 or self.size.width < 60:
            return ""
        if self.desk.view.running:
            return self._border("Enter steers · Alt+Enter queues · Esc stops")
        return self._border("Enter send · Ctrl+J newline · @ file · / command · F1 keys")

    def _border(self, text: str) -> str:
        return ascii_only(text) if self.desk.startup.ascii_glyphs else text

    def _draw_question(self) -> None:
        questions = self.desk.view.questions
        if len(questions) > self._asked and not self.host.app_focus:
            self.to_terminal("\x07\x1b]9;tcoder asks for a decision\x07")
        self._asked = len(questions)
        attention, before = self.desk.view.attention, self._attention
        self._attention = attention
        if attention != before and not self.host.app_focus:
            self.to_terminal(f"\x07\x1b]9;tcoder: {clean_line(attention, 80)}\x07")
        had_focus = self.approval.has_focus
        self.approval.show(questions)
        if had_focus and not questions:
            self.prompt.focus()

    def _on_tick(self) -> None:
        self._tick += 1
        self.approval.poll(self.prompt.last_key_at, drafting=bool(self.prompt.text))
        self._draw_bars()

    def on_resize(self, event: events.Resize) -> None:
        width, height = event.size
        self.header.display = height >= 16
        self.slider.set_class(width < 90, "narrow")
        self.set_class(width < WIDE, "narrow")
        self.dock.display = self.dock_wide if width >= WIDE else self.dock_narrow
        self.prompt.set_class(height < 16, "bare")
        self.prompt.styles.max_height = max(3, min(12, height * 2 // 5))
        self.call_after_refresh(self._draw_bars)

    # -- actions

    async def action_act(self, action: str) -> None:
        """A key's action. One on the draft waits for the letters that were typed before it."""
        if self.prompt.has_focus and (BY_ID[action].group == "prompt" or action == "turn.queue"):
            self.prompt.call_later(self.act, action)
        else:
            await self.act(action)

    async def act(self, action: str, rest: str = "") -> None:
        """Do an action of the table."""
        await self.deeds[action](self, rest)

    @on(StatusLine.Chosen)
    async def _field_clicked(self, event: StatusLine.Chosen) -> None:
        await self.act(event.action)

    @on(Slider.Moved)
    async def _slider_moved(self, event: Slider.Moved) -> None:
        if event.name != self.desk.view.stop or event.once or self.desk.view.auto:
            await self.desk.submit(SetVariant(event.name, sticky=not event.once))

    # -- what the actions use

    def toggle_dock(self) -> None:
        """Beside the conversation on wide screens (remembered), over it on narrow ones."""
        self.dock.only = ""
        self.dock.display = not self.dock.display
        if self.size.width >= WIDE:
            self.dock_wide = self.dock.display
        else:
            self.dock_narrow = self.dock.display
        self.call_after_refresh(self._draw_bars)

    def open_dock(self, section: str) -> None:
        """One section in full; the same again = all of them."""
        self.dock.only = "" if self.dock.display and self.dock.only == section else section
        self.dock.display = True
        self.call_after_refresh(self._draw_bars)

    @on(Dock.Opened)
    def _dock_opened(self, event: Dock.Opened) -> None:
        self.open_dock(event.section)

    def set_palette(self, palette: Palette) -> None:
        self.desk.palette = palette
        self.host.theme = palette.theme.name
        self.conversation.set_palette(palette)
        for widget in (self.header, self.queue, self.completions, self.slider, self.status, self.dock):
            widget.set_palette(palette)

    def say_progress(self, text: str) -> None:
        """How far something is that is no turn; empty = it is over."""
        self.desk.view = replace(self.desk.view, progress=text)
        self._draw_bars()

    def show_session(self) -> None:
        """The desk has another session now."""
        self.conversation.show_blocks(self.desk.transcript.blocks)
        self._turn_began = 0.0
        self._draw_bars()

    async def reconnect(self, choice: SessionChoice) -> None:
        self.post_message(self.Switch(choice))

    # -- what panels and blocks say

    @on(ApprovalPanel.Decided)
    async def _decided(self, event: ApprovalPanel.Decided) -> None:
        await self.desk.submit(event.decision)

    @on(ApprovalPanel.Full)
    def _read_question(self, event: ApprovalPanel.Full) -> None:
        lines = list(question_lines(event.question))
        for block in reversed(self.desk.transcript.blocks):
            if isinstance(block, ToolCard) and block.question == event.question:
                lines += [(), *(row.line for row in proposed(block.arguments))]
                break
        self.show_screen(TextScreen("What is asked", lines, self.desk.palette))

    @on(ApprovalPanel.Left)
    def _left_question(self, event: ApprovalPanel.Left) -> None:
        self.prompt.last_key_at = time.monotonic()
        self.prompt.focus()
        if event.typed:
            self.prompt.insert(event.typed)

    @on(TranscriptView.Copy)
    async def _copy_block(self, event: TranscriptView.Copy) -> None:
        await self.copy(event.text)

    @on(TranscriptView.Chosen)
    async def _block_key(self, event: TranscriptView.Chosen) -> None:
        if event.key == "/":
            self.prompt.focus()
            self.prompt.set_text("/find ")
            return
        await self.on_block(self, event.key, event.index)

    @on(TranscriptView.Left)
    def _left_transcript(self, event: TranscriptView.Left) -> None:
        self.prompt.focus()
        if event.typed:
            self.prompt.insert(event.typed)


Deed = Callable[[MainScreen, str], Awaitable[None]]
Deeds = dict[str, Deed]
OnBlock = Callable[[MainScreen, str, int], Awaitable[None]]


def _age_s(since: str, now: float) -> float:
    """Seconds from an ISO time to `now`, seconds since 1970; 0 for none."""
    try:
        return max(0.0, now - datetime.fromisoformat(since).timestamp())
    except ValueError:
        return 0.0
