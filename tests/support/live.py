"""A real session inside the test's process, with a model server on loopback: everything is as in a run but the
process. `async with live(desk, server, …) as session:` opens one and closes it."""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from support.desk import Desk
from support.model_server import ModelServer

from tcoder.agent.session import Session
from tcoder.app.build import open_session
from tcoder.app.options import Options
from tcoder.app.place import find_place
from tcoder.protocol.events import Delta, Event, Recorded, TurnFinished
from tcoder.protocol.ops import Close, Op, Submit


@asynccontextmanager
async def live(
    desk: Desk, server: ModelServer, settings: str = "", *, interactive: bool = False, **options: Any
) -> AsyncIterator[Session]:
    """A session in the desk's repository; `settings` is the text of the person's own settings file."""
    config = desk.home / "config"
    config.mkdir(parents=True, exist_ok=True)
    (config / "config.toml").write_text(settings)
    os.environ["TCODER_HOME"] = str(desk.home)
    said: dict[str, Any] = {
        "path": str(desk.root),
        "base_url": server.url,
        "model": "scripted",
        "sandbox": "off",
        "no_tests": True,
    }
    wanted = Options(**{**said, **options})
    try:
        opened = await open_session(wanted, find_place(wanted), interactive=interactive)
        try:
            yield opened.session
            await opened.session.submit(Close("done"))
        finally:
            await opened.close()
    finally:
        del os.environ["TCODER_HOME"]


async def until(session: Session, kind: type[Event] | type[Delta], op: Op) -> list[Event]:
    """Submit `op` and wait for an event of that kind; the events from the op on."""
    seen: list[Event] = []
    start = len(session.log)
    await session.submit(op)
    with session.subscribe() as feed:
        skipped = 0
        async for item in feed:
            if not isinstance(item, Recorded):
                continue
            skipped += 1
            if skipped <= start:
                continue
            seen.append(item.event)
            if isinstance(item.event, kind):
                return seen
    return seen


async def turn(session: Session, text: str) -> TurnFinished:
    """Have the session do `text`, to the end of the turn."""
    last = (await until(session, TurnFinished, Submit(text)))[-1]
    assert isinstance(last, TurnFinished)
    return last
