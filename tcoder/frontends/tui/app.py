"""The Textual application: it connects the session to the screen, and leaves the terminal as it found it."""

import asyncio
import gc
from typing import Literal

from textual.app import App
from textual.driver import Driver

from tcoder.frontends.startup import Startup
from tcoder.frontends.tui.deeds import block, prompt, review, session, setup, turn, variant, view
from tcoder.frontends.tui.desk import Desk
from tcoder.frontends.tui.driver import TerminalDriver
from tcoder.frontends.tui.feed import follow
from tcoder.frontends.tui.palette import PALETTES
from tcoder.frontends.tui.screens.main import Deeds, MainScreen
from tcoder.frontends.tui.widgets.prompt import Prompt
from tcoder.protocol.errors import TcoderError
from tcoder.protocol.handles import Connect
from tcoder.protocol.host import Host
from tcoder.protocol.ops import Close, Submit
from tcoder.protocol.queries import ListUserCommands, SessionChoice, UserCommandList

Reason = Literal["quit", "sigint", "sigterm", "sighup", "done"]
DEEDS: Deeds = {
    **turn.DEEDS,
    **variant.DEEDS,
    **view.DEEDS,
    **session.DEEDS,
    **prompt.DEEDS,
    **review.DEEDS,
    **setup.DEEDS,
}

ROUNDS = 8
ROUND_S = 0.003
"""How often everybody may have a turn before the session is opened, and how long that takes at least: a key goes from
the driver by way of the screen to the prompt and from there to the next painting."""


class TcoderApp(App[int]):
    """Returns 0 when the person quits. `desk` holds everything that is not drawing."""

    ENABLE_COMMAND_PALETTE = False
    PAUSE_GC_ON_SCROLL = True
    CSS = """
    Screen { scrollbar-size-vertical: 1; }
    """

    def __init__(
        self, startup: Startup, connect: Connect, driver: type[Driver] | None = None, host: Host | None = None
    ) -> None:
        super().__init__(driver_class=driver)
        for palette in PALETTES.values():
            self.register_theme(palette.theme)
        self.theme = startup.theme
        if startup.reduced_motion:
            self.animation_level = "none"
        self.desk = Desk(startup, connect, host)
        self.main = MainScreen(self.desk, DEEDS, block.chosen)
        self.started = False
        self._ending: asyncio.Task[None] | None = None
        self._starting: asyncio.Task[None] | None = None
        self._following: asyncio.Task[None] | None = None

    def get_default_screen(self) -> MainScreen:
        return self.main

    def on_mount(self) -> None:
        self.started = True
        self.app_resume_signal.subscribe(self, self._repaint)  # pyright: ignore[reportUnknownMemberType]  App is open
        self.call_after_refresh(self._begin)

    def _repaint(self, _: object) -> None:
        """The terminal holds another program's text after `fg`."""
        for widget in self.screen.walk_children():
            widget.refresh()
        self.screen.refresh()

    def _begin(self) -> None:
        """Connect once the first frame is out, beside the messages of the application, which has the keys to hand on:
        the prompt is alive before the session is."""
        self._starting = asyncio.create_task(self._start(), name="open the session")
        self._starting.add_done_callback(self._watched)

    async def _start(self) -> None:
        await self._show_typed_ahead()
        gc.collect()
        gc.freeze()
        await self._connect(SessionChoice())
        startup = self.desk.startup
        if startup.no_model:
            await setup.setup(self.main, "")
        if startup.ask_trust:
            await setup.ask_trust(self.main)
        if startup.task:
            await self.desk.submit(Submit(startup.task))

    async def _show_typed_ahead(self) -> None:
        """Put what was typed before there was a prompt on the screen: to open the session takes longer."""
        TerminalDriver.ready.set()
        if isinstance(self._driver, TerminalDriver):
            await self._driver.caught_up.wait()
            for _ in range(ROUNDS):
                await asyncio.sleep(ROUND_S)

    async def _connect(self, choice: SessionChoice) -> None:
        try:
            self.desk.session = await self.desk.connect(choice)
        except TcoderError as error:
            if not self.desk.startup.no_model:
                self.desk.note(str(error), "error")
            return
        finally:
            self.desk.ready.set()
        self._following = asyncio.create_task(follow(self.desk.session, self.desk.take), name="follow the session")
        self._following.add_done_callback(self._watched)
        reply = await self.desk.session.query(ListUserCommands())
        own = reply.commands if isinstance(reply, UserCommandList) else ()
        self.desk.user_commands = (*self.desk.startup.user_commands, *own)
        self.main.post_message(Prompt.Changed(self.main.prompt))  # what was typed meanwhile may have completions now

    async def abandon(self) -> None:
        """Open no session any more: the person has left before there was one."""
        if self._starting is not None:
            self._starting.cancel()
            await asyncio.gather(self._starting, return_exceptions=True)

    def end(self, reason: Reason, code: int) -> None:
        """Leave from outside: a signal came. The session is closed first."""
        self._ending = asyncio.create_task(self._end(reason, code), name="end the interface")

    async def _end(self, reason: Reason, code: int) -> None:
        if self.desk.session is not None:
            await self.desk.submit(Close(reason))
        self.exit(code, return_code=code)

    def _watched(self, task: "asyncio.Task[None]") -> None:
        """An error in a task is a bug that must not pass in silence. Textual tells of the exception being handled."""
        if task.cancelled():
            return
        try:
            task.result()
        except Exception as error:  # noqa: BLE001 whatever it is, it ends the interface
            self._handle_exception(error)

    async def on_main_screen_switch(self, event: MainScreen.Switch) -> None:
        """Another session in the same window; the running one is closed first."""
        await self.desk.ready.wait()
        if self.desk.session is not None:
            await self.desk.submit(Close("quit"))
        if self._following is not None:
            self._following.cancel()
        self.desk.restart()
        self.main.show_session()
        await self._connect(event.choice)
