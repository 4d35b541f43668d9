"""Going back with the conversation, and forks: what the model knows again, and what both journals hold."""

from typing import Any

import pytest
from support.desk import FIX, Desk
from support.live import live, turn, until

from tcoder.agent.journal import load
from tcoder.agent.rewind import events_before, rewound
from tcoder.agent.state import fold, replay
from tcoder.protocol.edits import Cause, Checkpoint
from tcoder.protocol.errors import UsageError
from tcoder.protocol.events import (
    CheckpointMade,
    Compacted,
    Event,
    ModelAnswered,
    NoteAdded,
    Recorded,
    Rewound,
    TurnFinished,
    TurnStarted,
)
from tcoder.protocol.messages import AssistantMessage, TextPart, UserMessage
from tcoder.protocol.ops import MakeCheckpoint, Rollback
from tcoder.protocol.outcome import Outcome
from tcoder.protocol.variant import Served


def user(text: str) -> UserMessage:
    return UserMessage((TextPart(text),))


def ask(number: int, text: str) -> list[Event]:
    answer = ModelAnswered(number, AssistantMessage((TextPart(f"answer to {text}"),)), Served())
    return [TurnStarted(number, user(text)), answer, TurnFinished(number, Outcome("done", 0, f"answer to {text}"))]


def made(point: str) -> CheckpointMade:
    return CheckpointMade(Checkpoint(point, "2026-01-01T00:00:00Z", "tree", Cause("checkpoint")))


def logged(*events: Event) -> list[Recorded]:
    return [Recorded(seq, "2026-01-01T00:00:00Z", event) for seq, event in enumerate(events, 1)]


FIRST, SECOND = ask(1, "one"), ask(2, "two")
BETWEEN = logged(*FIRST, made("k"), *SECOND)
DURING = logged(*FIRST, SECOND[0], made("k"), *SECOND[1:])
COMPACTED = Compacted((user("digest"),), 100, 10, "summary")


@pytest.mark.parametrize(("log", "count"), [(BETWEEN, 4), (DURING, 3)])
def test_a_checkpoint_in_a_turn_goes_back_to_before_what_was_asked(log: list[Recorded], count: int) -> None:
    assert events_before(log, "k") == count
    state = replay(recorded.event for recorded in log)
    event = rewound(log, state, "k")
    assert event == Rewound("k", 2, 1)
    state = fold(state, event)
    assert [message.parts[0] for message in state.messages if isinstance(message, UserMessage)] == [TextPart("one")]
    assert state.said == (user("one"),)


def test_a_conversation_that_was_compacted_since_comes_back_whole() -> None:
    log = [*BETWEEN, *logged(COMPACTED)]
    state = replay(recorded.event for recorded in log)
    assert len(state.messages) == 1
    after = fold(state, rewound(log, state, "k"))
    assert after.messages == replay(recorded.event for recorded in log[:4]).messages


def test_an_unknown_checkpoint_is_a_sentence() -> None:
    with pytest.raises(UsageError, match="no checkpoint 'nope'"):
        events_before(BETWEEN, "nope")


async def test_files_and_conversation_go_back_together(desk: Desk, serve: Any) -> None:
    server = serve({"text": "Hello."}, {"calls": [FIX]}, {"text": "Fixed."}, {"text": "What now?"})
    async with live(desk, server) as session:
        await turn(session, "good morning")
        await turn(session, "fix the sign in calc.py")
        assert "return a + b" in (desk.root / "calc.py").read_text()
        point = session.state.checkpoints[0].id
        await until(session, NoteAdded, Rollback(point, conversation=True))
        assert "return a - b" in (desk.root / "calc.py").read_text()
        await turn(session, "and now?")
        said = server.requests[-1].raw.decode()
        assert "good morning" in said and "rolled back" in said
        assert "fix the sign" not in said and "Fixed." not in said
        live_state = session.state
    stored = next((desk.home / "state" / "projects").glob("*/*.jsonl"))
    assert replay(recorded.event for recorded in load(stored).events) == live_state


async def test_a_fork_holds_what_came_before_and_leaves_the_first_session_alone(desk: Desk, serve: Any) -> None:
    server = serve({"text": "One."}, {"text": "Two."}, {"text": "Other."}, {"text": "And more."})
    async with live(desk, server, session_id="first") as session:
        await turn(session, "number one")
        await until(session, CheckpointMade, MakeCheckpoint("between"))
        point = session.state.checkpoints[0].id
        await turn(session, "number two")
    folder = next((desk.home / "state" / "projects").glob("*/first.jsonl")).parent
    before = (folder / "first.jsonl").read_bytes()
    async with live(desk, server, resume="first", fork=True, checkpoint=point, session_id="second") as session:
        await turn(session, "another way")
        said = server.requests[-1].raw.decode()
        assert "number one" in said and "another way" in said and "number two" not in said
    assert (folder / "first.jsonl").read_bytes() == before
    async with live(desk, server, resume="second") as session:
        await turn(session, "go on")
        said = server.requests[-1].raw.decode()
        assert all(text in said for text in ("number one", "another way", "go on")) and "number two" not in said
        assert session.state.session_id == "second"
        seqs = [recorded.seq for recorded in session.log]
        assert seqs == list(range(1, len(seqs) + 1))
