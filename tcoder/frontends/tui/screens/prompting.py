"""The prompt's side of the main screen: what a line means, completion, history, Esc and Ctrl+C."""

import time

from textual import on

from tcoder.frontends import commands, firstrun
from tcoder.frontends.attach import mentioned
from tcoder.frontends.commands import Candidate, Do, Nothing, Say, Shell, Unknown
from tcoder.frontends.history import History
from tcoder.frontends.tui.desk import Desk
from tcoder.frontends.tui.screens.surface import Surface
from tcoder.frontends.tui.widgets.approval import ApprovalPanel
from tcoder.frontends.tui.widgets.completions import Completions
from tcoder.frontends.tui.widgets.prompt import Prompt
from tcoder.frontends.tui.widgets.transcript import TranscriptView
from tcoder.protocol.messages import ImagePart
from tcoder.protocol.ops import Interrupt, RunShell, Submit
from tcoder.protocol.queries import CompletePaths, PathMatches

QUIT_WITHIN_S = 1.0


class PromptingScreen(Surface):
    """A screen with a conversation and a prompt. `act` does an action by its id."""

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk)
        glyphs = desk.startup.ascii_glyphs
        self.conversation = TranscriptView(desk.transcript.blocks, desk.palette, ascii_glyphs=glyphs)
        self.approval = ApprovalPanel(desk.palette, ascii_glyphs=glyphs)
        self.completions = Completions(id="completions", ascii_glyphs=glyphs)
        self.prompt = Prompt(lambda: self._accept(send=True))
        self.history = History(desk.startup.history_file)
        self.images: list[ImagePart] = []
        self.quitting = False
        self._last_ctrl_c = self._last_escape = 0.0
        self._completing = 0
        self._completed = ""

    async def act(self, action: str, rest: str = "") -> None:
        """Do an action of the table."""
        raise NotImplementedError

    @on(Prompt.Sent)
    async def _sent(self, event: Prompt.Sent) -> None:
        self.completions.show(())
        self.history.add(event.text)
        await self.send(event.text, later=event.later)

    async def send(self, text: str, *, later: bool = False) -> None:
        """Do what a line of the prompt asks for."""
        if self.desk.view.model == firstrun.NO_MODEL and firstrun.way(text) is not None:
            await self.act("model.setup", text)
            return
        self.quitting = self.quitting and text.strip() in ("/quit", *commands.QUIT_WORDS)
        match commands.meaning(text, self.desk.user_commands):
            case Say(said):
                self.conversation.follow()
                steer = self.desk.view.running and not later
                whole, images = mentioned(said, self.desk.startup.workspace)
                if await self.desk.submit(Submit(whole, (*self.images, *images), steer=steer)):
                    self.images.clear()
                else:
                    self.prompt.set_text(text)
            case Do(action, rest):
                await self.act(action, rest)
            case Shell(command, share):
                self.conversation.follow()
                await self.desk.submit(RunShell(command, share))
            case Unknown(name, nearest):
                meant = " or ".join(f"/{name}" for name in nearest)
                self.desk.note(
                    f"no command /{name}" + (f"; did you mean {meant}?" if meant else "; /help lists them"), "warning"
                )
            case Nothing():
                return

    @on(Prompt.Changed)
    async def _typed(self) -> None:
        """Look for completions; an answer that comes too late is dropped."""
        self._completing += 1
        ticket = self._completing
        before = self.prompt.before_cursor
        found = commands.complete(before, self.desk.user_commands)
        if not found and (mention := commands.mention(before)) is not None and self.desk.session is not None:
            start, text = mention
            reply = await self.desk.session.query(CompletePaths(text))
            if isinstance(reply, PathMatches):
                found = [
                    Candidate(f"@{path}" + ("" if path.endswith("/") else " "), start, path) for path in reply.paths
                ]
        if ticket == self._completing:
            self._completed = before
            self.completions.show(found)
            self.prompt.popup_open = bool(found)

    @on(Completions.Picked)
    def _picked(self, event: Completions.Picked) -> None:
        self.prompt.complete(event.candidate.start, event.candidate.text)

    @on(Prompt.Wants)
    async def _prompt_wants(self, event: Prompt.Wants) -> None:
        match event.what:
            case "up" | "down" if self.prompt.popup_open:
                self.completions.move(-1 if event.what == "up" else 1)
            case "up" | "down":
                self._recall(older=event.what == "up")
            case "tab" if self.approval.display and not self.prompt.popup_open:
                self.approval.focus()
            case "tab":
                self._accept(send=False)
            case "escape":
                await self._escape()
            case "interrupt":
                await self._ctrl_c()
            case "quit":
                await self.act("session.quit")
            case "home":
                self.conversation.to_top()
            case "end":
                self.conversation.follow()
            case "question_mark":
                await self.act("help.keys")
            case "palette":
                await self.act("help.palette")
            case "left_square_bracket" | "right_square_bracket":
                self.conversation.focus()
            case _:
                return

    def _accept(self, *, send: bool) -> None:
        """Take the marked completion. Enter on a command that is complete sends it."""
        before = self.prompt.before_cursor
        # Typed faster than completions come: what is marked was found for another text.
        current = self.completions.current if self._completed == before else None
        if current is None or (send and before.startswith("/") and before.strip() == current.text.strip()):
            if send:
                self.prompt.enter()
            return
        self.prompt.complete(current.start, current.text)
        if send and current.start == 0 and current.text.startswith("/"):
            action = commands.names().get(current.text.strip()[1:])
            if action is not None and (not action.usage or action.usage.startswith("[")):
                self.prompt.enter()

    def _recall(self, *, older: bool) -> None:
        text = self.history.older(self.prompt.text) if older else self.history.newer()
        if text is not None:
            self.prompt.set_text(text)

    async def _escape(self) -> None:
        """Close the popup, else stop the turn, else (twice on an empty prompt) go back in time."""
        if self.prompt.popup_open:
            self.prompt.popup_open = False
            self.completions.show(())
            return
        if self.conversation.selected_text():
            self.conversation.clear_selection()
            return
        if self.desk.view.running:
            await self.desk.submit(Interrupt())
            return
        now = time.monotonic()
        if self.prompt.is_empty and now - self._last_escape < QUIT_WITHIN_S:
            await self.act("timeline.open")
        self._last_escape = now

    async def _ctrl_c(self) -> None:
        """Copy the selection, else clear the prompt, else (twice) quit."""
        if self.prompt.selected_text or self.conversation.selected_text():
            await self.act("copy.selection")
            return
        if not self.prompt.is_empty:
            self.history.add(self.prompt.text)
            self.prompt.take()
            return
        now = time.monotonic()
        if now - self._last_ctrl_c < QUIT_WITHIN_S:
            await self.act("session.quit")
            return
        self._last_ctrl_c = now
        self.desk.note("Ctrl+C again quits" + (", Esc stops the turn" if self.desk.view.running else ""))
