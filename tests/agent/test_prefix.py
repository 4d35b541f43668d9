"""Any run: each request begins with the one before it, and the journal folded again is the live state."""

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.agent_runs import RUNS, Deeds, run, variant

from tcoder.agent import context
from tcoder.agent.measure import total
from tcoder.agent.state import SessionState, fold, replay
from tcoder.models.dialects import anthropic, openai_chat, openai_responses
from tcoder.models.dialects.dialect import DialectCodec, History
from tcoder.protocol.codec import decode_line, encode_line
from tcoder.protocol.events import Compacted, ModelAsked, NoteAdded, Recorded, Rewound, SessionResumed, TurnStarted
from tcoder.protocol.messages import TextPart, ToolSpec, UserMessage
from tcoder.protocol.request import ModelRequest
from tcoder.protocol.variant import Dialect

CODECS: dict[Dialect, DialectCodec] = {
    "openai-chat": openai_chat,
    "openai-responses": openai_responses,
    "anthropic": anthropic,
}
TOOL = ToolSpec("read", "Read a file.", {"type": "object", "properties": {"path": {"type": "string"}}})
FRAME = context.Frame("You are a coding agent.", (TOOL,), "key")


def bytes_of(codec: DialectCodec, request: ModelRequest, history: History | None) -> bytes:
    body = codec.to_wire(request, history).body
    assert body.endswith(b"]}")
    return body[:-2]


@given(RUNS)
def test_the_journal_folded_again_is_the_live_state(deeds: Deeds) -> None:
    live = SessionState()
    journal: list[bytes] = []
    for seq, event in enumerate(run(deeds), 1):
        live = fold(live, event)
        journal.append(encode_line(Recorded(seq, "2026-01-01T00:00:00.000Z", event)))
    assert replay(decode_line(line).event for line in journal) == live


@given(RUNS, st.integers(0, 60))
def test_a_state_stays_what_it_was_when_others_grow_from_it(deeds: Deeds, at: int) -> None:
    """A fork of an earlier state must not leak into the later one, nor the other way round."""
    events = run(deeds)
    first, rest = events[: at + 1], events[at + 1 :]
    middle = replay(first)
    before = tuple(middle.messages), tuple(middle.said), tuple(middle.patches)
    one = replay(rest, middle)
    replay([NoteAdded("fork", "another way")], middle)
    assert (tuple(middle.messages), tuple(middle.said), tuple(middle.patches)) == before
    assert replay(rest, replay(first)) == one


@pytest.mark.parametrize("dialect", CODECS)
@given(RUNS)
def test_each_request_begins_with_the_one_before_it(dialect: Dialect, deeds: Deeds) -> None:
    codec, history, state = CODECS[dialect], History(), SessionState()
    previous, before = b"", None
    journal: list[bytes] = []
    for event in run(deeds):
        state = fold(state, event)
        journal.append(encode_line(Recorded(len(journal) + 1, "2026-01-01T00:00:00.000Z", event)))
        if isinstance(event, SessionResumed):  # another process, which knows the journal alone
            state, history, before = replay(decode_line(line).event for line in journal), History(), None
        if isinstance(event, Compacted | Rewound):
            previous, before = b"", None
            continue
        if state.pending:
            continue
        request = context.build(state, FRAME, variant(dialect))
        body = bytes_of(codec, request, history)
        assert body == bytes_of(codec, request, None)  # what is kept of earlier requests changes no byte
        assert body.startswith(previous)
        assert context.continues(before, request)
        previous, before = body, request


@given(RUNS)
def test_the_length_that_is_kept_is_the_length_that_is_there(deeds: Deeds) -> None:
    state = SessionState()
    for event in run(deeds):
        state = fold(state, event)
        assert state.characters == total(state.messages)


def test_what_breaks_the_prefix_is_told_once() -> None:
    compacted = Compacted((UserMessage((TextPart("sum"),)),), 9, 3, "summary")
    state = replay([TurnStarted(1, UserMessage((TextPart("go"),))), compacted])
    assert state.cache_break == "compaction"
    state = fold(state, ModelAsked(7, "standard", "x/m", cache_break=state.cache_break))
    assert (state.cache_break, state.last_break) == ("", "compaction before call 7")


def test_without_the_rule_the_property_fails() -> None:
    """The check can fail: a clock above the conversation is found at once."""
    texts: list[Any] = []
    state = SessionState()
    for number, event in enumerate([TurnStarted(1, UserMessage((TextPart("go"),))), NoteAdded("a", "b")]):
        state = fold(state, event)
        frame = context.Frame(f"It is {number} o'clock.", (TOOL,), "key")
        texts.append(bytes_of(openai_chat, context.build(state, frame, variant("openai-chat")), None))
    assert not any(longer.startswith(shorter) for shorter, longer in pairwise(texts))
