"""What happened: the journal's records, and the deltas that are only shown.

Order within a turn: `TurnStarted`, then for each model call `ModelAsked` … `ModelAnswered`, for each of its tool calls
`ToolStarted` … `ToolFinished` (after `PermissionAsked`/`PermissionAnswered` where a person was needed), and at last
`TurnFinished`. Every `ToolStarted` has exactly one `ToolFinished`, also after an interrupt. A front end that does not
know an event may ignore it; the journal's reader may not.
"""

from typing import Literal

from msgspec import Struct

from tcoder.protocol.attempt import Attempt
from tcoder.protocol.budget import Usage
from tcoder.protocol.checks import CheckPhase, CheckReport
from tcoder.protocol.edits import Checkpoint, Patch
from tcoder.protocol.location import Location
from tcoder.protocol.messages import AssistantMessage, ImagePart, Message, ToolCall, ToolResult, UserMessage
from tcoder.protocol.outcome import Outcome
from tcoder.protocol.permissions import Answer, Approval, Question, Verdict
from tcoder.protocol.plan import PlanStep
from tcoder.protocol.request import CacheBreak, CallDelta, ReasoningDelta, RetryDelta, TextDelta
from tcoder.protocol.variant import ModelVariant, Served, Strategy, VariantName

SCHEMA = 1


class SessionStarted(Struct, frozen=True, tag="session_started"):
    """The first event of a journal. `workspace` is an absolute path; `parent` names the session this one was forked
    from."""

    session_id: str
    workspace: str
    version: str
    variant: ModelVariant
    strategy: Strategy
    approval: Approval
    sandbox: str
    parent: str = ""


class SessionResumed(Struct, frozen=True, tag="session_resumed"):
    """`sandbox` is what contains commands from now on, empty in journals of before."""

    version: str
    variant: ModelVariant
    session_id: str = ""
    sandbox: str = ""


class TurnStarted(Struct, frozen=True, tag="turn_started"):
    turn: int
    message: UserMessage


class OutlineTaken(Struct, frozen=True, tag="outline_taken"):
    """The outline of the repository that stands above the conversation from here on: before the first request, and anew
    at a compaction."""

    text: str


class NoteAdded(Struct, frozen=True, tag="note_added"):
    """Something tcoder tells the model as a user message: test results, a budget that runs low, what a person undid."""

    topic: str
    text: str


class MessageQueued(Struct, frozen=True, tag="message_queued"):
    """A message that waits: `steer` = for after the running tool, else for the next turn."""

    id: str
    text: str
    steer: bool
    images: tuple[ImagePart, ...] = ()


class MessageUnqueued(Struct, frozen=True, tag="message_unqueued"):
    """It was taken back, or delivered."""

    id: str
    delivered: bool


class ModelAsked(Struct, frozen=True, tag="model_asked"):
    """A request goes out. `call` counts from 1 in a session; `prefix_kept` is False when the request does not begin
    with the one before it, and `cache_break` says why. `reason` is why this variant. An `aside` (a title, a summary, a
    step of the guided strategy) is not part of the conversation."""

    call: int
    variant: VariantName
    model: str
    reason: str = ""
    prefix_kept: bool = True
    cache_break: CacheBreak = ""
    aside: bool = False


class ModelAnswered(Struct, frozen=True, tag="model_answered"):
    call: int
    message: AssistantMessage
    served: Served
    aside: bool = False


class ModelFailed(Struct, frozen=True, tag="model_failed"):
    """No answer; `partial` is what had arrived, kept for people and never run."""

    call: int
    failure: str
    message: str
    hint: str = ""
    partial: str = ""


class PermissionAsked(Struct, frozen=True, tag="permission_asked"):
    call_id: str
    question: Question
    verdict: Verdict


class PermissionAnswered(Struct, frozen=True, tag="permission_answered"):
    question_id: str
    answer: Answer
    by: Literal["person", "mode", "headless"]
    note: str = ""


class ToolStarted(Struct, frozen=True, tag="tool_started"):
    """`title` is one line for people: what the call is about."""

    call: ToolCall
    title: str


class ToolFinished(Struct, frozen=True, tag="tool_finished"):
    call_id: str
    name: str
    result: ToolResult
    duration_s: float


class Located(Struct, frozen=True, tag="located"):
    location: Location
    duration_s: float


class PatchApplied(Struct, frozen=True, tag="patch_applied"):
    patch: Patch
    diff: str = ""


class CheckpointMade(Struct, frozen=True, tag="checkpoint_made"):
    checkpoint: Checkpoint


class ChecksRan(Struct, frozen=True, tag="checks_ran"):
    phase: CheckPhase
    report: CheckReport


class AttemptRecorded(Struct, frozen=True, tag="attempt_recorded"):
    attempt: Attempt


class PlanChanged(Struct, frozen=True, tag="plan_changed"):
    steps: tuple[PlanStep, ...]
    by: Literal["model", "person", "tcoder"]


class VariantChanged(Struct, frozen=True, tag="variant_changed"):
    """`name` is the slider's stop; `sticky` False = for the next turn only; `auto` = the rules choose."""

    name: VariantName
    auto: bool
    sticky: bool
    reason: str
    by: Literal["person", "rules", "tcoder"]


class ApprovalChanged(Struct, frozen=True, tag="approval_changed"):
    approval: Approval


class Compacted(Struct, frozen=True, tag="compacted"):
    """From here on the conversation is `messages`. `summary` is what the model wrote for it."""

    messages: tuple[Message, ...]
    tokens_before: int
    tokens_after: int
    how: Literal["results_dropped", "summary"]
    summary: str = ""


class Rewound(Struct, frozen=True, tag="rewound"):
    """The conversation goes back to a checkpoint: it is its own first `kept` messages, then `messages` (which holds
    the old ones when it has been compacted since). The person's first `said` messages stay said."""

    checkpoint_id: str
    kept: int
    said: int
    messages: tuple[Message, ...] = ()


class SessionNamed(Struct, frozen=True, tag="session_named"):
    """The session has a name: from a person, or a title that `model` wrote, with what that cost."""

    name: str
    by: Literal["person", "model"] = "person"
    model: str = ""
    usage: Usage | None = None


class Notice(Struct, frozen=True, tag="notice"):
    """Something a person should know. `topic` groups notices of one kind (`budget`, `sandbox`, `index`, `tests`, …)."""

    level: Literal["info", "warning", "error"]
    topic: str
    text: str


class TurnFinished(Struct, frozen=True, tag="turn_finished"):
    turn: int
    outcome: Outcome


class SessionEnded(Struct, frozen=True, tag="session_ended"):
    reason: str


Event = (
    SessionStarted
    | SessionResumed
    | TurnStarted
    | OutlineTaken
    | NoteAdded
    | MessageQueued
    | MessageUnqueued
    | ModelAsked
    | ModelAnswered
    | ModelFailed
    | PermissionAsked
    | PermissionAnswered
    | ToolStarted
    | ToolFinished
    | Located
    | PatchApplied
    | CheckpointMade
    | ChecksRan
    | AttemptRecorded
    | PlanChanged
    | VariantChanged
    | ApprovalChanged
    | Compacted
    | Rewound
    | SessionNamed
    | Notice
    | TurnFinished
    | SessionEnded
)


class OutputDelta(Struct, frozen=True, tag="output_delta"):
    """What a running tool printed just now."""

    call_id: str
    text: str


class Progress(Struct, frozen=True, tag="progress"):
    """How far something is; `total` 0 = unknown. `text` is for people, empty = it is over."""

    text: str
    done: int = 0
    total: int = 0


Delta = TextDelta | ReasoningDelta | CallDelta | RetryDelta | OutputDelta | Progress


class Recorded(Struct, frozen=True):
    """An event as the journal holds it: `seq` counts from 1 without gaps, `time` is ISO 8601 UTC."""

    seq: int
    time: str
    event: Event
