"""Titles of sessions: by the fast variant where that is cheap, else the first line that the person wrote."""

import asyncio
from decimal import Decimal
from typing import Any

import pytest
from msgspec.structs import replace
from support.desk import Desk
from support.live import live, turn

from tcoder.agent.state import SessionState, fold, replay, say
from tcoder.agent.stored import summarise_all
from tcoder.agent.titles import tidy, wanted
from tcoder.protocol.budget import Usage
from tcoder.protocol.events import ModelAsked, SessionNamed, TurnStarted
from tcoder.protocol.ops import Rename
from tcoder.protocol.variant import ModelVariant, VariantName

LONG = "Where is it that the colours of the report are parsed, and what happens to a blank in front of them?"
AWAY = ModelVariant("x/slow", "slow", "x", "https://models.example/v1")
FAST = ModelVariant("x/fast", "fast", "x", "https://models.example/v1")
HERE = ModelVariant("y/m", "m", "y", "http://127.0.0.1:8000/v1")
LOCAL = ModelVariant("local/m", "m", "local", "")


def after(*texts: str, name: str = "") -> SessionState:
    state = SessionState()
    for number, text in enumerate(texts, 1):
        state = replay([TurnStarted(number, say(text)), ModelAsked(number, "standard", "x/slow")], state)
    return fold(state, SessionNamed(name)) if name else state


@pytest.mark.parametrize(
    ("state", "variants", "asked"),
    [
        (after(LONG), {"standard": AWAY, "fast": FAST}, FAST),
        (after(LONG), {"standard": AWAY}, AWAY),
        (after("fix it\nTraceback: …"), {"standard": AWAY}, AWAY),
        (after("fix add"), {"standard": AWAY, "fast": FAST}, None),  # is a title as it is
        (after(LONG, name="colours"), {"standard": AWAY}, None),
        (after(LONG, "go on"), {"standard": AWAY}, None),  # once is enough
        (SessionState(), {"standard": AWAY}, None),
        (after(LONG), {"standard": AWAY, "fast": LOCAL}, None),
        (after(LONG), {"standard": HERE}, None),
        (after(LONG), {"standard": ModelVariant("scripted/x", "x", "scripted", "")}, None),
    ],
)
def test_a_title_is_asked_for_when_the_first_message_is_none_and_asking_is_cheap(
    state: SessionState, variants: dict[VariantName, ModelVariant], asked: ModelVariant | None
) -> None:
    assert wanted(state, variants) == asked


@pytest.mark.parametrize(
    ("answer", "title"),
    [
        ("Fix colour parsing", "Fix colour parsing"),
        ('\n"Fix colour parsing."\n\nIt says …', "Fix colour parsing"),
        ("# **Fix it**", "Fix it"),
        ("Title: Fix it", "Fix it"),
        ("```\n", ""),
        ("x" * 200, "x" * 80),
        ("", ""),
    ],
)
def test_what_models_put_around_a_title_is_taken_off(answer: str, title: str) -> None:
    assert tidy(answer) == title


def elsewhere(server: Any) -> str:
    """The address of the server as one that is not this machine's."""
    return server.url.replace("127.0.0.1", "0.0.0.0")


async def settled(session: Any) -> None:
    while session._titling is None or not session._titling.done():
        await asyncio.sleep(0.01)


async def test_a_title_is_written_beside_and_counted(desk: Desk, serve: Any) -> None:
    server = serve({"text": "It is in colour.py."}, {"text": '"Fix colour parsing."'}, {"text": "Yes."})
    async with live(desk, server, interactive=True, base_url=elsewhere(server)) as session:
        await turn(session, LONG)
        await settled(session)
        assert session.state.name == "Fix colour parsing"
        assert session.state.usage.calls == 2
        asked = server.requests[1].body
        assert LONG in asked["messages"][-1]["content"] and "tools" not in asked
        await turn(session, "really?")
        assert len(server.requests) == 3
        assert server.requests[2].raw.startswith(server.requests[0].raw.partition(LONG.encode())[0])
        named = [one.event for one in session.log if isinstance(one.event, SessionNamed)]
        assert [(event.by, event.model) for event in named] == [("model", session.env.variants["standard"].id)]
    [folder] = (desk.home / "state" / "projects").glob("*")
    [summary] = summarise_all(folder)[0]
    assert summary.title == "Fix colour parsing" and summary.usage.calls == 3


@pytest.mark.parametrize("step", [{"status": 500}, {"text": ""}, {"status": 401}])
async def test_without_an_answer_the_first_line_is_the_title_and_nothing_is_said(
    desk: Desk, serve: Any, step: dict[str, Any]
) -> None:
    server = serve({"text": "It is in colour.py."}, *[step] * 5)
    async with live(desk, server, interactive=True, base_url=elsewhere(server)) as session:
        ended = await turn(session, LONG)
        before = len(session.log)
        if step.get("status") == 500:
            while len(server.requests) < 2:
                await asyncio.sleep(0.01)
            session._titling.cancel()  # it is tried again for a while, as any call
        await asyncio.wait([session._titling])
        assert ended.outcome.status == "done"
        assert session.state.name == ""
        assert len(session.log) == before


async def test_a_persons_name_wins_and_a_run_without_a_person_asks_for_none(desk: Desk, serve: Any) -> None:
    server = serve({"text": "It is so."}, {"text": "By the model", "stall": 0.3})
    async with live(desk, server, interactive=True, base_url=elsewhere(server)) as session:
        await turn(session, LONG)
        await session.submit(Rename("mine"))
        await settled(session)
        assert session.state.name == "mine"
    server = serve({"text": "It is so."})
    async with live(desk, server, base_url=elsewhere(server)) as session:
        await turn(session, LONG)
        assert session._titling is None and len(server.requests) == 1


def test_what_a_title_costs_is_part_of_what_the_session_costs() -> None:
    usage = Usage(input_uncached=100, output=8, cost=Decimal("0.001"), calls=1)
    state = fold(SessionState(), SessionNamed("x", "model", "x/fast", usage))
    assert (state.name, state.usage) == ("x", usage)
    assert fold(state, SessionNamed("y")) == replace(state, name="y")
