"""What the screens share: the session, what it has come to, and how the person set up the interface.

No widget holds any of it; a widget is given what to draw.
"""

import asyncio
from collections.abc import Callable
from typing import TypeVar

from msgspec import structs

from tcoder.frontends.cards import NoticeLine
from tcoder.frontends.keymap import Keymap, keymap
from tcoder.frontends.startup import Startup
from tcoder.frontends.transcript import Transcript
from tcoder.frontends.tui.palette import PALETTES, Palette
from tcoder.frontends.view import View, fold
from tcoder.protocol.errors import TcoderError
from tcoder.protocol.events import Delta, Recorded
from tcoder.protocol.handles import Connect, SessionHandle
from tcoder.protocol.host import Host
from tcoder.protocol.ops import Op
from tcoder.protocol.queries import Query, Unavailable, UserCommand

T = TypeVar("T")


class Desk:
    """One person's session. `on_change` is called with the indexes of changed blocks after every change, `watchers`
    after every batch, for screens above the main one."""

    def __init__(self, startup: Startup, connect: Connect, host: Host | None = None) -> None:
        self.startup = startup
        self.connect = connect
        self.host = host
        self.keymap: Keymap = keymap(startup.keys)
        self.palette: Palette = PALETTES[startup.theme]
        self.session: SessionHandle | None = None
        self.view = View(workspace=startup.workspace, title=startup.title, sandbox=startup.sandbox)
        self.transcript = Transcript()
        self.user_commands: tuple[UserCommand, ...] = ()
        self.ready = asyncio.Event()
        self.stash = ""
        self.rejections: list[str] = []
        self.watchers: list[Callable[[], None]] = []
        self.on_change: Callable[[list[int]], None] = lambda _: None

    def restart(self) -> None:
        """Forget the session that was, for the next one."""
        self.session = None
        self.ready.clear()
        self.view = View(workspace=self.startup.workspace, sandbox=self.startup.sandbox)
        self.transcript = Transcript()

    def has_model(self) -> None:
        """A model was chosen: sessions from now on have one."""
        self.startup = structs.replace(self.startup, no_model="")

    def take(self, batch: list[Recorded | Delta]) -> None:
        """Fold what the session sent."""
        view = self.view
        for item in batch:
            view = fold(view, item)
        self.view = view
        self.on_change(self.transcript.feed(batch))
        for watcher in tuple(self.watchers):
            watcher()

    async def idle(self) -> None:
        """Wait until no turn runs."""
        over = asyncio.Event()

        def look() -> None:
            if not self.view.running:
                over.set()

        self.watchers.append(look)
        try:
            look()
            await over.wait()
        finally:
            self.watchers.remove(look)

    def note(self, text: str, level: str = "info", topic: str = "tcoder") -> None:
        """Say something to the person in the transcript; it is not part of the session."""
        kind = "error" if level == "error" else "warning" if level == "warning" else "info"
        self.on_change([self.transcript.add(NoticeLine(kind, topic, text))])

    async def submit(self, op: Op) -> bool:
        """Hand an op to the session, once there is one. What it refuses is said; returns whether it was accepted."""
        await self.ready.wait()
        if self.session is None:
            self.note(self.startup.no_model or "there is no session", "warning")
            return False
        try:
            await self.session.submit(op)
        except TcoderError as error:
            self.note(str(error), "warning")
            return False
        return True

    async def ask(self, query: Query, kind: type[T]) -> T | None:
        """The answer to a query; None when there is none, which has been said then."""
        await self.ready.wait()
        if self.session is None:
            self.note(self.startup.no_model or "there is no session", "warning")
            return None
        try:
            reply = await self.session.query(query)
        except TcoderError as error:
            self.note(str(error), "warning")
            return None
        if isinstance(reply, kind):
            return reply
        if isinstance(reply, Unavailable):
            self.note(reply.reason)
        return None
