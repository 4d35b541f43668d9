"""Runs of a session as lists of events: what may come next is asked of the state, so that every run is one that could
have been."""

from hypothesis import strategies as st

from tcoder.agent.state import SessionState, fold
from tcoder.protocol.attempt import Attempt
from tcoder.protocol.budget import Usage
from tcoder.protocol.checks import CheckReport
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
    ModelFailed,
    NoteAdded,
    Notice,
    OutlineTaken,
    PatchApplied,
    PlanChanged,
    Rewound,
    SessionNamed,
    SessionResumed,
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
    UserMessage,
)
from tcoder.protocol.outcome import Outcome
from tcoder.protocol.plan import PlanStep
from tcoder.protocol.variant import Dialect, ModelVariant, Served

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
    *("failed call", "failed answer", "asked", "plan", "outline", "compact", "rewind", "resume"),
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
            shown = (ImagePart("image/png", "aGk="),) if len(text) == 3 else ()
            return ToolFinished(call.id, call.name, ToolResult(call.id, text, images=shown), 0.1)
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
            shown = (ImagePart("image/png", "aGk="),) if len(text) % 3 == 0 else ()
            return MessageQueued(f"q{number}", text, len(text) % 2 == 0, shown)
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
        case "failed answer":
            return ModelFailed(state.calls, "network", text, partial=text)
        case "asked" if not state.pending:
            return ModelAsked(state.calls + 1, state.variant, "x/m", cache_break=state.cache_break)
        case "outline":
            return OutlineTaken(text)
        case "plan":
            return PlanChanged((PlanStep(text),), "model")
        case "resume" if not state.pending:
            return SessionResumed("1", variant("anthropic"), "s")
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


RUNS = st.lists(st.tuples(st.sampled_from(KINDS), TEXT), max_size=60)
