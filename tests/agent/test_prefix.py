"""Any run: each request begins with the one before it, and the journal folded again is the live state."""

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tcoder.agent import context
from tcoder.agent.measure import total
from tcoder.agent.state import SessionState, fold, replay
from tcoder.models.dialects import anthropic, openai_chat, openai_responses
from tcoder.models.dialects.dialect import DialectCodec, History
from tcoder.protocol.attempt import Attempt
from tcoder.protocol.budget import Usage
from tcoder.protocol.checks import CheckReport
from tcoder.protocol.codec import decode_line, encode_line
from tcoder.protocol.edits import Cause, Checkpoint, FileChange, Patch
from tcoder.protocol.events import (
    ApprovalChanged,
    AttemptRecorded,
    CheckpointMade,
    ChecksRan,
    Compacted,
    Event,
    MessageQueued,
    MessageUnqueued,
    ModelAnswered,
    ModelAsked,
    NoteAdded,
    Notice,
    PatchApplied,
    Recorded,
    Rewound,
    SessionNamed,
    SessionStarted,
    ToolFinished,
    ToolStarted,
    TurnFinished,
    TurnStarted,
    VariantChanged,
)
from tcoder.protocol.messages import (
    AssistantMessage,
    ImagePart,
    ReasoningPart,
    TextPart,
    ToolCall,
    ToolResult,
    ToolSpec,
    UserMessage,
)
from tcoder.protocol.outcome import Outcome
from tcoder.protocol.request import ModelRequest
from tcoder.protocol.variant import Dialect, ModelVariant, Served

CODECS: dict[Dialect, DialectCodec] = {
    "openai-chat": openai_chat,
    "openai-responses": openai_responses,
    "anthropic": anthropic,
}
TOOL = ToolSpec("read", "Read a file.", {"type": "object", "properties": {"path": {"type": "string"}}})
FRAME = context.Frame("You are a coding agent.", (TOOL,), "key")
CHECKS = CheckReport("pytest -q", "pytest", 1, 0.5)
TEXT = st.text(st.characters(codec="utf-8"), max_size=12)

Deeds = list[tuple[str, str]]
KINDS = (
    *("turn", "calls", "finish", "finish", "answer", "empty answer", "thought", "note", "end", "steer", "deliver"),
    *(
        "take back",
        "patch",
        "undo",
        "checkpoint",
        "checks",
        "attempt",
        "variant",
        "approval",
        "name",
        "notice",
        "aside",
    ),
    *("failed call", "compact", "rewind"),
)


def told(kind: str, text: str, number: int, state: SessionState) -> Event | None:
    """The event of that kind that may come now, None when none may."""
    idle = not state.pending
    match kind:
        case "turn" if idle:
            return TurnStarted(state.turn + 1, UserMessage((TextPart(text), ImagePart("image/png", "aGk="))))
        case "calls" if idle:
            parts = tuple(ToolCall(f"c{number}-{at}", "read", '{"path": "a"}') for at in range(1 + len(text) % 3))
            return ModelAnswered(state.calls, AssistantMessage((TextPart(text), *parts), "x/m", "tool_calls"), Served())
        case "finish" if state.unanswered:
            call = state.unanswered[len(text) % len(state.unanswered)]
            return ToolFinished(call.id, call.name, ToolResult(call.id, text), 0.1)
        case "answer" | "empty answer" if idle:
            parts = (TextPart(text),) if kind == "answer" else ()
            usage = Usage(input_uncached=len(text) + 10, output=3, calls=1)
            return ModelAnswered(state.calls, AssistantMessage(parts, "x/m", "end", usage), Served())
        case "thought" if idle:
            thought = ReasoningPart(text, '{"type":"thinking","thinking":"t","signature":"s"}', "x/m")
            return ModelAnswered(state.calls, AssistantMessage((thought, TextPart("so")), "x/m"), Served())
        case "aside":
            return ModelAnswered(state.calls, AssistantMessage((TextPart(text),)), Served(), aside=True)
        case "note":
            return NoteAdded("topic", text)
        case "end" if idle and state.running:
            return TurnFinished(state.turn, Outcome("done", 0, text))
        case "steer":
            return MessageQueued(f"q{number}", text, steer=len(text) % 2 == 0)
        case "deliver" | "take back" if state.queue:
            return MessageUnqueued(state.queue[0].id, delivered=kind == "deliver")
        case _:
            return told_of_files(kind, text, number, state)


def told_of_files(kind: str, text: str, number: int, state: SessionState) -> Event | None:
    change = (FileChange("a.py", "modified", 1, 1),)
    match kind:
        case "patch":
            return PatchApplied(Patch(f"p{number}", "2026-01-01T00:00:00Z", Cause("edit", turn=state.turn), change))
        case "undo" if state.patches:
            return PatchApplied(Patch(state.patches[0].id, "2026-01-01T00:00:00Z", Cause("edit"), change, undone=True))
        case "checkpoint":
            return CheckpointMade(Checkpoint(f"k{number}", "2026-01-01T00:00:00Z", "tree", Cause("checkpoint")))
        case "checks":
            return ChecksRan("baseline" if len(text) % 2 else "attempt", CHECKS)
        case "attempt":
            return AttemptRecorded(Attempt(number, text, "", 2, 1, "better"))
        case "variant":
            return VariantChanged("fast", auto=False, sticky=bool(len(text) % 2), reason=text, by="person")
        case "approval":
            return ApprovalChanged("edits")
        case "name":
            return SessionNamed(text)
        case "notice":
            return Notice("info", "topic", text)
        case "failed call":
            return ToolStarted(ToolCall("ghost", "read", "{"), text)
        case "compact" if not state.pending:
            return Compacted((UserMessage((TextPart(f"summary {text}"),)),), 1000, 10, "summary")
        case "rewind" if not state.pending:
            return Rewound("k", len(state.messages) // 2, len(state.said) // 2)
        case _:
            return None


def started() -> SessionStarted:
    return SessionStarted("s", "/w", "1", variant("anthropic"), "agent", "auto", "off")


def variant(dialect: Dialect) -> ModelVariant:
    return ModelVariant("x/m", "m", "x", "http://127.0.0.1/v1", dialect, quirks=("adaptive_thinking",), images=True)


def run(deeds: Deeds) -> list[Event]:
    events: list[Event] = [started()]
    state = fold(SessionState(), events[0])
    for number, (kind, text) in enumerate(deeds):
        if (event := told(kind, text, number, state)) is not None:
            events.append(event)
            state = fold(state, event)
    return events


def bytes_of(codec: DialectCodec, request: ModelRequest, history: History | None) -> bytes:
    body = codec.to_wire(request, history).body
    assert body.endswith(b"]}")
    return body[:-2]


RUNS = st.lists(st.tuples(st.sampled_from(KINDS), TEXT), max_size=60)


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
    for event in run(deeds):
        state = fold(state, event)
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
