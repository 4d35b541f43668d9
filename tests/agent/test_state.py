"""The fold: what a conversation may look like after any order of events."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.desk import Desk
from support.live import live

from tcoder.agent.state import SessionState, fold, replay
from tcoder.protocol.events import (
    MessageQueued,
    MessageUnqueued,
    ModelAnswered,
    NoteAdded,
    Recorded,
    ToolFinished,
    TurnFinished,
    TurnStarted,
)
from tcoder.protocol.messages import (
    AssistantMessage,
    ImagePart,
    TextPart,
    ToolCall,
    ToolResult,
    ToolResults,
    UserMessage,
)
from tcoder.protocol.ops import Submit
from tcoder.protocol.outcome import Outcome
from tcoder.protocol.variant import Served


def user(text: str) -> UserMessage:
    return UserMessage((TextPart(text),))


def calls(*ids: str) -> ModelAnswered:
    parts = tuple(ToolCall(call_id, "read", "{}") for call_id in ids)
    return ModelAnswered(1, AssistantMessage(parts), Served())


def answer(text: str) -> ModelAnswered:
    return ModelAnswered(1, AssistantMessage((TextPart(text),)), Served())


def finished(call_id: str) -> ToolFinished:
    return ToolFinished(call_id, "read", ToolResult(call_id, f"result of {call_id}"), 0.0)


def test_results_stand_in_the_order_of_the_calls() -> None:
    state = replay([TurnStarted(1, user("go")), calls("a", "b"), finished("b"), finished("a")])
    results = state.messages[-1]
    assert isinstance(results, ToolResults)
    assert [result.call_id for result in results.results] == ["a", "b"]
    assert state.pending == ()


def test_a_note_waits_until_every_call_is_answered() -> None:
    state = replay([TurnStarted(1, user("go")), calls("a", "b"), finished("a"), NoteAdded("budget", "hurry")])
    assert isinstance(state.messages[-1], AssistantMessage)
    state = fold(state, finished("b"))
    assert [type(message).__name__ for message in state.messages[-2:]] == ["ToolResults", "UserMessage"]


def test_unanswered_calls_are_named() -> None:
    state = replay([TurnStarted(1, user("go")), calls("a", "b"), finished("a")])
    assert [call.id for call in state.unanswered] == ["b"]


def test_a_result_of_an_unknown_call_changes_nothing() -> None:
    state = replay([TurnStarted(1, user("go")), answer("hi")])
    assert fold(state, finished("ghost")) is state


def test_an_aside_is_counted_but_not_part_of_the_conversation() -> None:
    state = replay([TurnStarted(1, user("go"))])
    aside = ModelAnswered(1, AssistantMessage((TextPart("title"),)), Served(), aside=True)
    after = fold(state, aside)
    assert after.messages == state.messages
    assert after.usage.calls == 1


@pytest.mark.parametrize(
    ("outcome", "text"),
    [
        (Outcome("interrupted", 130, "", reason="interrupted"), "[interrupted]"),
        (Outcome("done", 0, "fixed it"), "fixed it"),
    ],
)
def test_a_turn_always_ends_with_an_answer(outcome: Outcome, text: str) -> None:
    state = replay([TurnStarted(1, user("go")), TurnFinished(1, outcome)])
    last = state.messages[-1]
    assert isinstance(last, AssistantMessage)
    assert last.text == text


def test_a_steering_message_is_told_when_it_is_delivered_and_only_then() -> None:
    state = replay([TurnStarted(1, user("go")), MessageQueued("q", "use tabs", steer=True)])
    assert len(state.messages) == 1
    taken = fold(state, MessageUnqueued("q", delivered=False))
    assert taken.queue == () and len(taken.messages) == 1
    told = fold(state, MessageUnqueued("q", delivered=True))
    assert told.messages[-1] == user("use tabs")


@given(st.lists(st.sampled_from(["calls", "finish", "note", "answer", "turn", "end"]), max_size=40))
def test_nothing_stands_between_calls_and_their_results(steps: list[str]) -> None:
    state = SessionState()
    for number, step in enumerate(steps):
        if step == "finish" and state.unanswered:
            state = fold(state, finished(state.unanswered[-1].id))
        elif step == "note":
            state = fold(state, NoteAdded("topic", f"note {number}"))
        elif step == "calls" and not state.pending:
            state = fold(state, calls(f"{number}a", f"{number}b"))
        elif step == "answer" and not state.pending:
            state = fold(state, answer(f"answer {number}"))
        elif step == "turn" and not state.pending:
            state = fold(state, TurnStarted(number, user(f"turn {number}")))
        elif step == "end" and not state.pending:
            state = fold(state, TurnFinished(number, Outcome("done", 0, "x")))
    for message, following in zip(state.messages, state.messages[1:], strict=False):
        if isinstance(message, AssistantMessage) and message.calls:
            assert isinstance(following, ToolResults)
            assert [result.call_id for result in following.results] == [call.id for call in message.calls]


@pytest.mark.parametrize("steer", [True, False])
async def test_images_of_a_message_that_waits_are_not_lost(desk: Desk, serve: Any, steer: bool) -> None:
    reading = {"calls": [{"name": "read", "arguments": {"path": "calc.py"}}]}
    server = serve({**reading, "stall": 0.2}, {"text": "seen"}, {"text": "seen again"})
    async with live(desk, server) as session:
        await session.submit(Submit("begin"))
        await session.submit(Submit("look at this", (ImagePart("image/png", "aGk="),), steer))
        with session.subscribe() as feed:
            finished = 0
            async for item in feed:
                finished += isinstance(item, Recorded) and isinstance(item.event, TurnFinished)
                if finished == (1 if steer else 2):
                    break
    last = server.requests[-1].body["messages"][-1]
    assert last["role"] == "user"
    assert [block["text"] for block in last["content"]] == ["look at this", "[an image that this model cannot see]"]
