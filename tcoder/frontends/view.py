"""What the status line, the dock and the panels show: a frozen value, folded from events and deltas."""

from decimal import Decimal

from msgspec import Struct
from msgspec.structs import replace

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
    Delta,
    MessageQueued,
    MessageUnqueued,
    ModelAnswered,
    ModelAsked,
    Notice,
    OutputDelta,
    PatchApplied,
    PermissionAnswered,
    PermissionAsked,
    PlanChanged,
    Progress,
    Recorded,
    SessionEnded,
    SessionNamed,
    SessionResumed,
    SessionStarted,
    ToolFinished,
    ToolStarted,
    TurnFinished,
    TurnStarted,
    VariantChanged,
)
from tcoder.protocol.messages import TextPart
from tcoder.protocol.outcome import Outcome
from tcoder.protocol.permissions import Approval, Question
from tcoder.protocol.plan import PlanStep
from tcoder.protocol.request import ReasoningDelta, RetryDelta, TextDelta
from tcoder.protocol.variant import Effort, Served, VariantName


class Waiting(Struct, frozen=True):
    """A queued message."""

    id: str
    text: str
    steer: bool


class View(Struct, frozen=True):
    """`activity` is one word for what happens now. `since` is the ISO time at which the turn began. `context` are the
    tokens of the last prompt. `stop_next` is the stop of the next turn only, None = the sticky one. `model` is the one
    that works, between turns that of the slider's stop; `models` are those that were seen at each stop."""

    session_id: str = ""
    title: str = ""
    workspace: str = ""
    sandbox: str = ""
    approval: Approval = "ask"
    stop: VariantName = "standard"
    stop_next: VariantName | None = None
    served_stop: VariantName | None = None
    auto: bool = False
    reason: str = ""
    model: str = ""
    models: dict[VariantName, str] = {}
    effort: Effort | None = None
    window: int = 0
    context: int = 0
    served: Served = Served()
    last_usage: Usage | None = None
    usage: Usage = Usage()
    cost: Decimal | None = None
    turn: int = 0
    running: bool = False
    since: str = ""
    activity: str = ""
    progress: str = ""
    queue: tuple[Waiting, ...] = ()
    questions: tuple[Question, ...] = ()
    plan: tuple[PlanStep, ...] = ()
    attempts: tuple[Attempt, ...] = ()
    patches: tuple[Patch, ...] = ()
    checkpoints: tuple[Checkpoint, ...] = ()
    checks: CheckReport | None = None
    outcome: Outcome | None = None
    ended: str = ""
    retry: RetryDelta | None = None
    attention: str = ""

    @property
    def tokens_per_s(self) -> float | None:
        """Of the last answer; None when the provider's timing does not say."""
        if self.last_usage is None or self.served.first_token_s is None:
            return None
        seconds = self.served.duration_s - self.served.first_token_s
        return self.last_usage.output / seconds if seconds > 0.05 and self.last_usage.output > 1 else None


def fold(view: View, item: Recorded | Delta) -> View:
    """The view after `item`; the same object when nothing changed."""
    match item:
        case Recorded():
            return _fold_event(view, item)
        case TextDelta():
            return view if view.activity == "writing" else replace(view, activity="writing", progress="", retry=None)
        case ReasoningDelta():
            return view if view.activity == "thinking" else replace(view, activity="thinking", progress="", retry=None)
        case OutputDelta():
            return view
        case RetryDelta():
            return replace(view, retry=item, activity="waiting")
        case Progress():
            share = f" {item.done * 100 // item.total} %" if item.total else ""
            return replace(view, progress=item.text + share)
        case _:
            return view


def _fold_event(view: View, recorded: Recorded) -> View:
    match event := recorded.event:
        case SessionStarted():
            return replace(
                view,
                ended="",
                running=False,
                session_id=event.session_id,
                workspace=event.workspace,
                sandbox=event.sandbox,
                approval=event.approval,
                stop=event.variant.name,
                model=event.variant.id,
                models={event.variant.name: event.variant.id},
                effort=event.variant.effort,
                window=event.variant.context_window,
            )
        case SessionResumed():
            return replace(
                view,
                running=False,
                activity="",
                ended="",
                questions=(),
                sandbox=event.sandbox or view.sandbox,
                stop=event.variant.name,
                model=event.variant.id,
                effort=event.variant.effort,
                window=event.variant.context_window,
            )
        case TurnStarted():
            text = "".join(part.text for part in event.message.parts if isinstance(part, TextPart))
            return replace(
                view,
                turn=event.turn,
                running=True,
                ended="",
                since=recorded.time,
                activity="starting",
                progress="",
                title=view.title or text[:200],
                attempts=(),
                outcome=None,
            )
        case MessageQueued():
            return replace(view, queue=(*view.queue, Waiting(event.id, event.text, event.steer)))
        case MessageUnqueued():
            return replace(view, queue=tuple(waiting for waiting in view.queue if waiting.id != event.id))
        case Notice(topic="attention"):
            return replace(view, attention=event.text)
        case ModelAsked():
            return replace(
                view,
                retry=None,
                activity="waiting",
                progress="",
                model=event.model,
                models={**view.models, event.variant: event.model},
                served_stop=event.variant,
                reason=event.reason or view.reason,
            )
        case ModelAnswered():
            return _answered(view, event)
        case ToolStarted():
            return replace(view, activity=event.call.name, progress="")
        case ToolFinished():
            return replace(view, activity="working", progress="")
        case PermissionAsked():
            return replace(view, questions=(*view.questions, event.question), activity="asking")
        case PermissionAnswered():
            left = tuple(question for question in view.questions if question.id != event.question_id)
            return replace(view, questions=left, activity="working")
        case SessionNamed():
            usage = view.usage + (event.usage or Usage())
            return replace(view, title=event.name, usage=usage, cost=usage.cost if event.usage else view.cost)
        case PlanChanged():
            return replace(view, plan=event.steps)
        case AttemptRecorded():
            others = tuple(one for one in view.attempts if one.number != event.attempt.number)
            return replace(view, attempts=tuple(sorted((*others, event.attempt), key=lambda one: one.number)))
        case PatchApplied():
            others = tuple(patch for patch in view.patches if patch.id != event.patch.id)
            return replace(view, patches=(*others, event.patch))
        case CheckpointMade():
            return replace(view, checkpoints=(*view.checkpoints, event.checkpoint))
        case ChecksRan():
            return replace(view, checks=event.report)
        case VariantChanged(sticky=True):
            return replace(
                view,
                stop=event.name,
                stop_next=None,
                auto=event.auto,
                reason=event.reason,
                model=view.model if view.running else view.models.get(event.name, view.model),
            )
        case VariantChanged():
            return replace(view, stop_next=None if event.name == view.stop else event.name, reason=event.reason)
        case ApprovalChanged():
            return replace(view, approval=event.approval)
        case Compacted():
            return replace(view, context=event.tokens_after)
        case TurnFinished():
            return replace(
                view,
                running=False,
                model=view.models.get(view.stop, view.model),
                activity="",
                progress="",
                retry=None,
                questions=(),
                stop_next=None,
                served_stop=None,
                outcome=event.outcome,
            )
        case SessionEnded():
            return replace(view, running=False, activity="", questions=(), ended=event.reason)
        case _:
            return view


def _answered(view: View, event: ModelAnswered) -> View:
    usage = event.message.usage
    view = replace(view, served=event.served, activity="working", progress="", retry=None)
    if usage is None:
        return view
    total = view.usage + usage
    context = view.context if event.aside else usage.prompt + usage.output
    return replace(view, last_usage=usage, usage=total, cost=total.cost, context=context)
