"""The loop of line mode: read a line, do it, print what happens until the turn is over."""

import asyncio
import os
import sys
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from tcoder.frontends import commands, firstrun, present
from tcoder.frontends.approval import ANSWERS
from tcoder.frontends.attach import mentioned
from tcoder.frontends.blocks import source
from tcoder.frontends.cards import ToolCard
from tcoder.frontends.commands import Do, Nothing, Say, Shell, Unknown
from tcoder.frontends.figures import duration
from tcoder.frontends.glyphs import ascii_only
from tcoder.frontends.headless.streams import Stream, wants_colour
from tcoder.frontends.history import History
from tcoder.frontends.lines import Line, ansi
from tcoder.frontends.narrator import Narrator
from tcoder.frontends.plain.reading import Reader, SlashCompleter
from tcoder.frontends.sanitise import clean
from tcoder.frontends.startup import Startup
from tcoder.frontends.transcript import Transcript
from tcoder.frontends.view import View, fold
from tcoder.protocol.errors import TcoderError
from tcoder.protocol.events import (
    ChecksRan,
    Delta,
    ModelAnswered,
    PatchApplied,
    PermissionAsked,
    Progress,
    Recorded,
    ToolFinished,
    TurnFinished,
    TurnStarted,
    VariantChanged,
)
from tcoder.protocol.handles import Connect, SessionHandle
from tcoder.protocol.host import Host
from tcoder.protocol.messages import ImagePart
from tcoder.protocol.ops import Close, Decide, Interrupt, Op, RunShell, Submit
from tcoder.protocol.permissions import Question
from tcoder.protocol.queries import ListUserCommands, SessionChoice, UserCommandList
from tcoder.protocol.request import TextDelta

STILL_WORKING_S = 10.0


class LineMode:
    """State of the loop. `transcript` and `view` are what the session has come to."""

    def __init__(
        self,
        connect: Connect,
        startup: Startup,
        reader: Reader,
        history: History,
        completer: SlashCompleter,
        deeds: "Mapping[str, Deed]",
        host: Host | None = None,
    ) -> None:
        self.host = host
        self._deeds = deeds
        self.startup = startup
        self.connect = connect
        self.reader = reader
        self.history = history
        self.completer = completer
        self.view = View(workspace=startup.workspace)
        self.transcript = Transcript()
        self.images: list[ImagePart] = []
        self.session: SessionHandle | None = None
        self.leaving = False
        self._out = Stream(sys.stdout)
        self._colour = startup.colour and wants_colour(self._out, "auto", dict(os.environ))
        self._marks = sys.stdout.isatty() and os.environ.get("TERM", "dumb") not in ("", "dumb", "linux")
        self._narrator = Narrator(brackets=True)
        self._line = ""
        self._streamed = ""
        self._quiet = asyncio.Event()
        self._did = asyncio.Event()
        self._through = asyncio.Event()
        self._questions: asyncio.Queue[Question] = asyncio.Queue()
        self._follower: asyncio.Task[None] | None = None
        self._ended = asyncio.Event()

    # -- printing

    def say(self, text: str) -> None:
        """Print text of tcoder's own or text that was made harmless."""
        self._out.write((ascii_only(text) if self.startup.ascii_glyphs else text) + "\n")

    def _mark(self, what: str) -> None:
        """Tell the terminal where a prompt (A), its output (C) and the end (D) are: it can jump between them."""
        if self._marks:
            self._out.write(f"\x1b]133;{what}\x07")

    def show(self, lines: tuple[Line, ...]) -> None:
        for line in lines:
            self.say(ansi(line, colour=self._colour))

    def _item(self, item: Recorded | Delta) -> None:
        self.view = fold(self.view, item)
        self.transcript.feed([item])
        if isinstance(item, TextDelta):
            self._stream(item.text)
            return
        if not isinstance(item, Recorded):
            if isinstance(item, Progress) and not item.text:
                self._through.set()
            self.show(self._narrator.delta(item))
            return
        event = item.event
        if isinstance(event, ModelAnswered) and not event.aside and event.message.text.startswith(self._streamed):
            self._stream(event.message.text[len(self._streamed) :])
        self._end_stream()
        match event:
            case ModelAnswered():
                pass
            case VariantChanged():
                how = f"auto: {clean(event.reason)}" if event.auto else clean(event.reason)
                self.say(f"[variant: {'std' if event.name == 'standard' else 'fast'} ({how})]")
            case PermissionAsked():
                self._questions.put_nowait(event.question)
            case PatchApplied():
                self.show(self._narrator.event(event))
                self.show(present.diff_lines(event.diff))
            case TurnFinished():
                self.show((present.outcome_line(event.outcome), present.usage_line(event.outcome)))
            case _:
                self.show(self._narrator.event(event))
        if isinstance(event, ToolFinished | ChecksRan):
            self._did.set()
        if isinstance(event, TurnFinished):
            self._quiet.set()
        elif isinstance(event, TurnStarted):
            self._quiet.clear()

    def _stream(self, text: str) -> None:
        """Whole lines as they are complete, so that no line is ever changed."""
        self._streamed += text
        *lines, self._line = (self._line + text).split("\n")
        for line in lines:
            self.say(clean(line))

    def _end_stream(self) -> None:
        if self._line:
            self.say(clean(self._line))
            self._line = ""
        self._streamed = ""

    # -- the loop

    async def run(self) -> int:
        await self.open(SessionChoice())
        if self.session is None:
            return 1
        self.say("tcoder, line mode. /help lists the commands, /quit leaves, Ctrl+C stops a turn.")
        if self.startup.no_model:
            await self.do("/setup")
        if self.startup.ask_trust:
            self.say("This folder has settings of its own, which are left aside; `tcoder --trust` takes them.")
        if self.startup.task:
            await self.do(self.startup.task)
        while not self.leaving:
            self._mark("A")
            try:
                text = await self.reader.line("> ")
            except KeyboardInterrupt:
                self.say("/quit leaves")
                continue
            self._mark("C")
            if text is None:
                break
            self.history.add(text)
            await self.do(text)
            self._mark("D")
        await self.close()
        return 0

    async def open(self, choice: SessionChoice) -> None:
        """Open a session and print what it has been so far."""
        try:
            self.session = await self.connect(choice)
        except TcoderError as error:
            self.say(clean(str(error)))
            return
        self.view, self.transcript = View(workspace=self.startup.workspace), Transcript()
        self._ended.clear()
        self._follower = asyncio.create_task(self._follow(self.session), name="follow the session")
        await asyncio.sleep(0)  # from here on it listens: deltas are not kept for who comes late
        reply = await self.session.query(ListUserCommands())
        own = reply.commands if isinstance(reply, UserCommandList) else ()
        self.completer.user = (*self.startup.user_commands, *own)

    async def close(self) -> None:
        if self.session is not None and not self._ended.is_set():
            await self.submit(Close("quit"))
        await self.ended()

    async def switch(self, choice: SessionChoice) -> None:
        """Leave this session for another one."""
        await self.close()
        await self.open(choice)

    async def ended(self) -> None:
        """Wait until everything that the session had to say was printed."""
        if self._follower is not None:
            await self._follower

    async def _follow(self, session: SessionHandle) -> None:
        try:
            with session.subscribe() as subscription:
                async for item in subscription:
                    self._item(item)
        finally:
            self._end_stream()
            self._ended.set()
            self._quiet.set()
            self._did.set()
            self._through.set()

    async def do(self, text: str) -> None:
        """Do what a line asks for and wait until it is done."""
        if self.view.model == firstrun.NO_MODEL and firstrun.way(text) is not None:
            text = f"/setup {text}"
        match commands.meaning(text, self.completer.user):
            case Say(said):
                whole, images = mentioned(said, self.startup.workspace)
                if await self.submit(Submit(whole, (*self.images, *images))):
                    self.images.clear()
                    await self.until_quiet()
            case Do(action, rest):
                deed = self._deeds.get(action)
                if deed is None:
                    self.say("that needs a screen; start tcoder without --plain")
                else:
                    await deed(self, rest)
            case Shell(command, share):
                await self.shell(command, share=share)
            case Unknown(name, nearest):
                meant = " or ".join(f"/{near}" for near in nearest)
                self.say(f"no command /{clean(name)}" + (f"; did you mean {meant}?" if meant else "; /help lists them"))
            case Nothing():
                return

    async def shell(self, command: str, *, share: bool) -> None:
        """Run a command of the person's and print what it said."""
        if await self.alone(RunShell(command, share)):
            card = next((of for of in reversed(self.transcript.blocks) if isinstance(of, ToolCard)), None)
            if card is not None:
                self.say(source(card).rstrip("\n"))

    async def alone(self, op: Op) -> bool:
        """Submit something that is no turn and wait until it is done; False when it was refused."""
        self._did.clear()
        if not await self.submit(op):
            return False
        await self._until(self._did)
        return True

    async def settled(self, op: Op) -> bool:
        """Submit something that is done between turns and wait until the session is through with it, whatever it says
        then; False when it was refused at once."""
        self._through.clear()
        if not await self.submit(op):
            return False
        await self._until(self._through)
        return True

    async def submit(self, op: Op) -> bool:
        if self.session is None:
            return False
        try:
            await self.session.submit(op)
        except TcoderError as error:
            self.say(clean(str(error)))
            return False
        return True

    async def until_quiet(self) -> None:
        """Wait for the end of the turn."""
        self._quiet.clear()
        await self._until(self._quiet)

    async def _until(self, event: asyncio.Event) -> None:
        """Wait for `event` or the session's end, answering questions and saying now and then that it goes on."""
        loop = asyncio.get_running_loop()
        began = loop.time()
        over = asyncio.create_task(event.wait())
        asked = asyncio.create_task(self._questions.get())
        typed = asyncio.create_task(self.reader.unasked())
        silent = False  # nobody can type
        try:
            while not over.done() and not self._ended.is_set():
                waiting: set[asyncio.Task[Any]] = {over, asked} if silent else {over, asked, typed}
                done, _ = await asyncio.wait(waiting, timeout=STILL_WORKING_S, return_when=asyncio.FIRST_COMPLETED)
                if typed in done:
                    text = typed.result()
                    silent = text is None
                    await self._steer(text or "")
                    if not silent:
                        typed = asyncio.create_task(self.reader.unasked())
                if asked in done:
                    await _stopped(typed)  # what is typed now is the answer
                    await self._decide(asked.result())
                    asked = asyncio.create_task(self._questions.get())
                    if not silent:
                        typed = asyncio.create_task(self.reader.unasked())
                if not done:
                    self.say(f"working, {duration(loop.time() - began)}")
        finally:
            await _stopped(over, asked, typed)
            if asked.done() and not asked.cancelled():
                self._questions.put_nowait(asked.result())

    async def _steer(self, text: str) -> None:
        """What is typed while a turn runs is for after the running tool; `/stop` stops it, `/queue` waits."""
        match commands.meaning(text, self.completer.user):
            case Say(said):
                if await self.submit(Submit(said, steer=True)):
                    self.say("[steer] it is read after the running tool")
            case Do("turn.interrupt", _):
                await self.submit(Interrupt())
            case Do("turn.queue", rest) if rest:
                await self.submit(Submit(rest))
            case Nothing():
                return
            case _:
                self.say("while a turn runs: text steers it, /queue TEXT waits, /stop stops it")

    async def _decide(self, question: Question) -> None:
        """A numbered question; nothing but a number answers it, and nothing typed before counts."""
        self.show(present.question_lines(question))
        always = clean(question.always)
        self.say(
            "1 once"
            + (f"   2 always `{always}`, this session   3 always, this project" if always else "")
            + "   4 no, tell it why"
        )
        while True:
            try:
                text = await self.reader.line("1-4> ", answer=True)
            except KeyboardInterrupt:
                await self.submit(Interrupt())
                return
            if text is None:
                await self.submit(Decide(question.id, "deny", note="nobody can be asked"))
                return
            key, _, note = text.strip().partition(" ")
            if key in ANSWERS and (key == "1" or always):
                await self.submit(Decide(question.id, ANSWERS[key]))
                return
            if key == "4":
                await self.submit(Decide(question.id, "deny", note=note.strip()))
                return

    def on_interrupt(self) -> None:
        """Ctrl+C while a turn runs stops it."""
        if self.session is not None and self.view.running:
            asyncio.get_running_loop().create_task(self.submit(Interrupt()))


async def _stopped(*tasks: "asyncio.Task[Any]") -> None:
    """Cancel, and wait until the terminal is let go: the next reader of it would be taken off otherwise."""
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


Deed = Callable[[LineMode, str], Awaitable[None]]
