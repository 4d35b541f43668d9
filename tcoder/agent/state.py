"""The session as a value: a pure fold of its events. The journal replayed gives the live state."""

from collections.abc import Iterable

from msgspec import Struct
from msgspec.structs import replace

from tcoder.agent.growing import Growing, Register
from tcoder.agent.measure import Measured, length, total
from tcoder.protocol.attempt import Attempt
from tcoder.protocol.budget import Usage
from tcoder.protocol.checks import CheckReport
from tcoder.protocol.edits import Checkpoint, Patch
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
    Message,
    TextPart,
    ToolCall,
    ToolResult,
    ToolResults,
    UserMessage,
)
from tcoder.protocol.outcome import Outcome
from tcoder.protocol.permissions import Approval
from tcoder.protocol.plan import PlanStep
from tcoder.protocol.request import CacheBreak
from tcoder.protocol.variant import VariantName


class Queued(Struct, frozen=True):
    id: str
    text: str
    steer: bool
    images: tuple[ImagePart, ...] = ()

    @property
    def message(self) -> UserMessage:
        return UserMessage((TextPart(self.text), *self.images))


class SessionState(Struct, frozen=True):
    """What a session has come to. `pending` are the calls of the last assistant message whose results are not all in;
    `gathered` the results so far, in the order in which they came; `held` are messages that wait for the last of them,
    since nothing may stand between calls and their results. `outline` is the repository's, above the conversation.
    `switched_at` is the number of the last call before the slider moved; `after_turn` is the stop to go back to when it
    moved for one turn only. `said` is what the person wrote, and `tried` every attempt, of the whole session.
    `characters` is the length of `messages`, `measured` the last length whose tokens were counted; `summary` is the
    last that a model wrote. `cache_break` is why the next request will not begin with the one before it, and
    `last_break` what broke the prompt cache last, in words."""

    session_id: str = ""
    name: str = ""
    outline: str = ""
    messages: Growing[Message] = Growing()
    said: Growing[UserMessage] = Growing()
    characters: int = 0
    measured: Measured | None = None
    cache_break: CacheBreak = ""
    last_break: str = ""
    compactions: int = 0
    summary: str = ""
    pending: tuple[ToolCall, ...] = ()
    gathered: tuple[ToolResult, ...] = ()
    held: tuple[UserMessage, ...] = ()
    queue: tuple[Queued, ...] = ()
    turn: int = 0
    running: bool = False
    calls: int = 0
    usage: Usage = Usage()
    turn_usage: Usage = Usage()
    approval: Approval = "ask"
    variant: VariantName = "standard"
    automatic: bool = False
    switched_at: int = 0
    after_turn: VariantName | None = None
    plan: tuple[PlanStep, ...] = ()
    attempts: tuple[Attempt, ...] = ()
    tried: Growing[Attempt] = Growing()
    patches: Register[Patch] = Register()
    checkpoints: Growing[Checkpoint] = Growing()
    baseline: CheckReport | None = None
    checks: CheckReport | None = None
    edited_since_checks: bool = False
    outcome: Outcome | None = None

    @property
    def unanswered(self) -> tuple[ToolCall, ...]:
        """Calls that have no result yet."""
        have = {result.call_id for result in self.gathered}
        return tuple(call for call in self.pending if call.id not in have)


def say(text: str) -> UserMessage:
    return UserMessage(parts=(TextPart(text),))


def fold(state: SessionState, event: Event) -> SessionState:
    """The state after `event`. Events that change nothing here return the same object."""
    match event:
        case ToolStarted():
            return state
        case ModelAsked():
            return _asked(state, event)
        case ModelAnswered():
            return _answered(state, event)
        case ToolFinished():
            return _finished(state, event.result)
        case SessionStarted():
            name = event.variant.name
            return replace(state, session_id=event.session_id, approval=event.approval, variant=name, running=False)
        case SessionResumed():
            return replace(state, variant=event.variant.name, running=False)
        case TurnStarted():
            return replace(
                _add(state, event.message),
                turn=event.turn,
                running=True,
                said=state.said.plus(event.message),
                turn_usage=Usage(),
                attempts=(),
                baseline=None,
                outcome=None,
            )
        case OutlineTaken():
            return replace(state, outline=event.text)
        case NoteAdded():
            return _tell(state, say(event.text))
        case MessageQueued():
            return replace(state, queue=(*state.queue, Queued(event.id, event.text, event.steer, event.images)))
        case MessageUnqueued():
            return _unqueue(state, event)
        case PatchApplied():
            return replace(state, patches=state.patches.put(event.patch), edited_since_checks=True)
        case CheckpointMade():
            return replace(state, checkpoints=state.checkpoints.plus(event.checkpoint))
        case ChecksRan(phase="baseline"):
            return replace(state, baseline=event.report, checks=event.report, edited_since_checks=False)
        case ChecksRan():
            return replace(state, checks=event.report, edited_since_checks=False)
        case AttemptRecorded():
            return _attempted(state, event.attempt)
        case PlanChanged():
            return replace(state, plan=event.steps)
        case VariantChanged():
            return _switched(state, event)
        case ApprovalChanged():
            return replace(state, approval=event.approval)
        case Compacted():
            return _compacted(state, event)
        case Rewound():
            return _rewound(state, event)
        case SessionNamed():
            return replace(state, name=event.name, usage=state.usage + (event.usage or Usage()))
        case TurnFinished():
            return _turn_over(state, event.outcome)
        case _:
            return state


def replay(events: Iterable[Event], state: SessionState | None = None) -> SessionState:
    """Fold many events."""
    state = state or SessionState()
    for event in events:
        state = fold(state, event)
    return state


def _attempted(state: SessionState, attempt: Attempt) -> SessionState:
    """An attempt with the number of an earlier one of this turn takes its place."""
    known = [one.number for one in state.attempts]
    if attempt.number not in known:
        return replace(state, attempts=(*state.attempts, attempt), tried=state.tried.plus(attempt))
    at = known.index(attempt.number)
    attempts = (*state.attempts[:at], attempt, *state.attempts[at + 1 :])
    earlier = len(state.tried) - len(state.attempts)
    return replace(state, attempts=attempts, tried=Growing((*state.tried[:earlier], *attempts)))


def _switched(state: SessionState, event: VariantChanged) -> SessionState:
    before = state.after_turn or state.variant
    moved = event.name != state.variant
    return replace(
        state,
        variant=event.name,
        automatic=event.auto,
        switched_at=state.calls if moved else state.switched_at,
        after_turn=None if event.sticky else before,
    )


def _tell(state: SessionState, message: UserMessage) -> SessionState:
    if state.pending:
        return replace(state, held=(*state.held, message))
    return _add(state, message)


def _add(state: SessionState, *messages: Message) -> SessionState:
    """The conversation grows."""
    characters = state.characters + total(messages)
    return replace(state, messages=state.messages.plus(*messages), characters=characters)


def _asked(state: SessionState, event: ModelAsked) -> SessionState:
    if event.aside or not (event.cache_break or state.cache_break):
        return replace(state, calls=event.call)
    last = f"{event.cache_break} before call {event.call}" if event.cache_break else state.last_break
    return replace(state, calls=event.call, cache_break="", last_break=last)


def _compacted(state: SessionState, event: Compacted) -> SessionState:
    characters = total(event.messages)
    return replace(
        state,
        messages=Growing(event.messages),
        characters=characters,
        measured=Measured(characters, event.tokens_after),
        cache_break="compaction",
        compactions=state.compactions + 1,
        summary=event.summary or state.summary,
    )


def _rewound(state: SessionState, event: Rewound) -> SessionState:
    messages = Growing[Message]((*state.messages[: event.kept], *event.messages))
    return replace(
        state,
        messages=messages,
        said=Growing(state.said[: event.said]),
        characters=total(messages),
        measured=None,
        pending=(),
        gathered=(),
        held=(),
        cache_break="rewind",
        summary="",
    )


def _unqueue(state: SessionState, event: MessageUnqueued) -> SessionState:
    taken = next((queued for queued in state.queue if queued.id == event.id), None)
    if taken is None:
        return state
    queue = tuple(queued for queued in state.queue if queued.id != event.id)
    if event.delivered and taken.steer and state.running:
        message = taken.message
        return _tell(replace(state, queue=queue, said=state.said.plus(message)), message)
    return replace(state, queue=queue)


def _answered(state: SessionState, event: ModelAnswered) -> SessionState:
    message = event.message
    spent = message.usage or Usage(calls=1)
    usage, turn_usage = state.usage + spent, state.turn_usage + spent
    if event.aside or not message.parts:
        return replace(state, usage=usage, turn_usage=turn_usage)
    characters = state.characters + length(message)
    return replace(
        state,
        usage=usage,
        turn_usage=turn_usage,
        messages=state.messages.plus(message),
        characters=characters,
        measured=Measured(characters, spent.total) if spent.prompt else state.measured,
        pending=message.calls,
        gathered=(),
    )


def _finished(state: SessionState, result: ToolResult) -> SessionState:
    if not any(call.id == result.call_id for call in state.pending):
        return state  # a call that tcoder made itself (the guided strategy, `!` commands)
    gathered = (*state.gathered, result)
    if len(gathered) < len(state.pending):
        return replace(state, gathered=gathered)
    by_call = {gathered_result.call_id: gathered_result for gathered_result in gathered}
    new = (ToolResults(tuple(by_call[call.id] for call in state.pending)), *state.held)
    return replace(
        state,
        messages=state.messages.plus(*new),
        characters=state.characters + total(new),
        pending=(),
        gathered=(),
        held=(),
    )


def _turn_over(state: SessionState, outcome: Outcome) -> SessionState:
    """The conversation must end with an answer, so that the next message finds it valid for every vendor."""
    if state.messages and not isinstance(state.messages[-1], AssistantMessage):
        text = outcome.answer or f"[{outcome.reason or outcome.status}]"
        state = _add(state, AssistantMessage(parts=(TextPart(text),)))
    variant = state.after_turn or state.variant
    return replace(state, running=False, outcome=outcome, variant=variant, after_turn=None)
