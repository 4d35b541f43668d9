"""What a person can do while the session is still being opened, and what is said when that fails."""

import asyncio

import pytest

from tcoder.frontends.tui.app import TcoderApp
from tcoder.protocol.handles import SessionHandle
from tcoder.protocol.ops import Submit
from tcoder.protocol.queries import SessionChoice
from tests.support.open_story import open_story
from tests.support.screens import startup, text_of
from tests.support.scripted_session import ScriptedSession


class SlowlyOpened:
    """A session that opens when it is told to."""

    def __init__(self) -> None:
        self.may_open = asyncio.Event()
        self.opened: list[SessionHandle] = []

    async def __call__(self, choice: SessionChoice = SessionChoice()) -> SessionHandle:  # noqa: B008 - a frozen value
        await self.may_open.wait()
        self.opened.append(await open_story("fixed")(choice))
        return self.opened[-1]


async def test_keys_are_on_the_screen_while_the_session_is_opened_and_what_is_sent_waits_for_it() -> None:
    connect = SlowlyOpened()
    app = TcoderApp(startup(), connect)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press(*"hello")
        await pilot.pause()
        assert "│ hello" in text_of(app)
        assert not connect.opened
        sending = asyncio.create_task(pilot.press("enter"))
        connect.may_open.set()
        await sending
        await app.desk.ready.wait()
        await pilot.pause()
        [session] = connect.opened
        assert isinstance(session, ScriptedSession)
        assert session.ops == [Submit("hello")]


async def test_whoever_leaves_before_there_is_a_session_leaves_none_behind() -> None:
    connect = SlowlyOpened()
    app = TcoderApp(startup(), connect)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("x")
        await app.abandon()
        connect.may_open.set()
        await pilot.pause()
        assert not connect.opened
        assert app.desk.ready.is_set()


async def test_a_bug_on_the_way_to_a_session_ends_the_interface_with_its_traceback() -> None:
    async def connect(choice: SessionChoice = SessionChoice()) -> SessionHandle:  # noqa: B008 - a frozen value
        raise RuntimeError(f"no way to a {choice.kind} session")

    app = TcoderApp(startup(), connect)
    with pytest.raises(RuntimeError, match="no way to a startup session"):
        async with app.run_test(size=(80, 24)) as pilot:
            await app.desk.ready.wait()
            await pilot.pause()
    assert app.return_code == 1
