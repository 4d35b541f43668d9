"""What a strategy can do in a turn: ask the model, call tools, run the tests, change files. All of it is recorded."""

import asyncio
import time
from collections.abc import Iterable, Sequence
from typing import Protocol

from tcoder.agent import breaker, budget, compaction, context, halt, permission, proving
from tcoder.agent.environment import Environment
from tcoder.agent.proof import Proof
from tcoder.agent.situation import situation
from tcoder.agent.state import SessionState
from tcoder.agent.trying import Tries
from tcoder.models import routing
from tcoder.protocol.checks import CheckPhase, CheckReport
from tcoder.protocol.edits import Cause, Checkpoint, Edit, Patch
from tcoder.protocol.errors import DeniedError, ModelError, TcoderError, ToolError
from tcoder.protocol.events import (
    CheckpointMade,
    Delta,
    Event,
    MessageUnqueued,
    ModelAnswered,
    ModelAsked,
    ModelFailed,
    NoteAdded,
    Notice,
    OutputDelta,
    PatchApplied,
    PlanChanged,
    Recorded,
    ToolFinished,
    ToolStarted,
    VariantChanged,
)
from tcoder.protocol.messages import AssistantMessage, ToolCall, ToolResult
from tcoder.protocol.ops import Decide
from tcoder.protocol.permissions import Question, Verdict
from tcoder.protocol.plan import PlanStep
from tcoder.protocol.request import CacheBreak, ModelReply, ModelRequest, RetryDelta, TextDelta
from tcoder.protocol.variant import ModelVariant
from tcoder.tools.base import Kind, Reply, ToolContext
from tcoder.tools.edit import apply
from tcoder.tools.outputs import Outputs

SHOWN_KEPT = 4_000
SHOWN_LOST = 5


class Recorder(Protocol):
    """The session as a turn sees it: the one writer, and the person."""

    @property
    def state(self) -> SessionState: ...

    @property
    def log(self) -> Sequence[Recorded]: ...
    @property
    def whole_log(self) -> Iterable[Recorded]: ...

    last_request: ModelRequest | None

    def record(self, event: Event) -> Recorded: ...
    def emit(self, delta: Delta) -> None: ...
    async def ask_person(self, call_id: str, question: Question, verdict: Verdict) -> Decide: ...
    async def renew_frame(self) -> context.Frame: ...


class Turn:
    """One turn. `task` is what the person said, `unfinished` the answer that an interrupt cut off. Methods raise `Halt`
    when the turn must stop."""

    def __init__(self, session: Recorder, env: Environment, frame: context.Frame, task: str) -> None:
        self.session = session
        self.env = env
        self.frame = frame
        self.task = task
        self.started = time.monotonic()
        self.model_s = 0.0
        self.tools_s = 0.0
        self.warnings: list[str] = []
        self.denied: list[str] = []
        self.unfinished = ""
        self._steps: list[breaker.Step] = []
        self._low: set[str] = set()
        self._running: ToolCall | None = None
        self.start = self.start_tree = ""
        self.tries = Tries(self)
        self._changed_since_checkpoint = False
        self._reason = ""
        self._shown = ""
        self.tools = ToolContext(
            root=env.root,
            files=env.files,
            index=env.index,
            runner=env.runner,
            emit=self.show_output,
            run_checks=self._run_tests,
            set_plan=self._set_plan,
            outputs=Outputs(env.private, env.budget.tool_output),
            is_denied=lambda path: permission.denies_reading(env, path),
        )

    # -- what is known

    @property
    def state(self) -> SessionState:
        return self.session.state

    @property
    def variant(self) -> ModelVariant:
        variants = self.env.variants
        return variants.get(self.state.variant) or variants["standard"]

    @property
    def elapsed_s(self) -> float:
        return time.monotonic() - self.started

    @property
    def runs_a_tool(self) -> bool:
        """Whether a call of the model runs just now, whose time is counted already."""
        return self._running is not None

    @property
    def changed(self) -> bool:
        """Whether tcoder has changed a file in this turn."""
        return bool(self.last_change)

    @property
    def last_change(self) -> str:
        """The id of tcoder's last patch in this turn, empty when there is none."""
        own = (p.id for p in reversed(self.state.patches) if p.cause.turn == self.state.turn and p.cause.kind != "user")
        return next(own, "")

    # -- telling

    def record(self, event: Event) -> Recorded:
        return self.session.record(event)

    def emit(self, delta: Delta) -> None:
        self.session.emit(delta)

    def note(self, topic: str, text: str) -> None:
        """Tell the model something, as a user message of tcoder's own."""
        self.record(NoteAdded(topic, text))

    def warn(self, topic: str, text: str) -> None:
        """Tell the person something that the outcome must carry too; the same warning once."""
        if text not in self.warnings:
            self.warnings.append(text)
            self.record(Notice("warning", topic, text))

    def show_output(self, text: str) -> None:
        """Show what a running tool printed just now."""
        self._shown = (self._shown + text)[-SHOWN_KEPT:]
        self.emit(OutputDelta(self._running.id if self._running else "", text))

    def _set_plan(self, steps: tuple[PlanStep, ...]) -> None:
        self.record(PlanChanged(steps, "model"))

    # -- the budget

    def check_budget(self, *, tell_model: bool = True) -> None:
        """Raise `Halt` when a limit is reached; say once for each limit that it is near."""
        spending = budget.review(self.env.budget, self.state.turn_usage, self.elapsed_s)
        if spending.spent:
            raise halt.budget_spent(spending.spent)
        if self.env.budget.cost_asked and (
            why := budget.unpriced(self.env.budget, self.variant, self.state.turn_usage)
        ):
            self.warn("budget", why)
        fresh = [text for text in spending.low if text.split(" of ")[-1] not in self._low]
        for text in fresh:
            self._low.add(text.split(" of ")[-1])
            self.record(Notice("warning", "budget", f"{text} used"))
            if tell_model:
                self.note("budget", f"Budget: {text} used. Finish what is most important now.")

    # -- the model

    def build(self) -> ModelRequest:
        """The next request of the conversation, by the stop of the slider that the person or the rules choose."""
        state = self.state
        chosen = routing.choose(
            situation(state), "auto" if state.automatic else state.variant, state.variant, self.env.variants
        )
        self._reason = chosen.reason
        if chosen.stop != state.variant:
            self.record(VariantChanged(chosen.stop, state.automatic, sticky=True, reason=chosen.reason, by="rules"))
        return context.build(self.state, self.frame, self.variant)

    async def converse(self) -> AssistantMessage:
        """The model's next answer in the conversation, which is made shorter first where it has grown too long.
        Raises as `ask`, and `Halt` when there is no room."""
        self.check_budget()
        await compaction.make_room(self)
        try:
            return await self.ask(self.build())
        except ModelError as error:
            if error.failure != "context_full" or not await compaction.make_room(self, full=True):
                raise
        return await self.ask(self.build())

    async def renew_frame(self) -> None:
        """Read again what stands above the conversation, now that the prompt cache is lost anyway."""
        self.frame = await self.session.renew_frame()

    async def ask(self, request: ModelRequest, *, aside: bool = False, reason: str = "") -> AssistantMessage:
        """Ask the model within the budget; deltas are shown as they come. Raises `Halt`, or `ModelError` when there is
        no answer after the retries of the client."""
        self.check_budget(tell_model=not aside)
        number = self.state.calls + 1
        broken: CacheBreak = ""
        if not aside:
            if not context.continues(self.session.last_request, request):
                broken = self.state.cache_break or "variant"
            self.session.last_request = request
        variant = request.variant
        reason = reason or ("" if aside else self._reason)
        self.record(ModelAsked(number, variant.name, variant.id, reason, not broken, broken, aside))
        if self.env.outlines is not None:
            self.env.outlines.leave()
        began = time.monotonic()
        partial: list[str] = []
        reply: ModelReply | None = None
        try:
            async for part in self.env.model.stream(request):
                if isinstance(part, ModelReply):
                    reply = part
                    continue
                if isinstance(part, TextDelta):
                    partial.append(part.text)
                elif isinstance(part, RetryDelta):
                    partial.clear()
                self.emit(part)
        except ModelError as error:
            self.record(ModelFailed(number, error.failure, error.message, error.hint, "".join(partial)))
            raise
        except asyncio.CancelledError:
            self.unfinished = "" if aside else "".join(partial)
            self.record(ModelFailed(number, "interrupted", "interrupted", partial=self.unfinished))
            raise
        finally:
            self.model_s += time.monotonic() - began
        if reply is None:
            raise ModelError("bad_response", "the model's answer ended without an end")
        self.record(ModelAnswered(number, reply.message, reply.served, aside))
        if reply.served.warning:
            self.warn("model", reply.served.warning)
        return reply.message

    def deliver_steering(self) -> None:
        """Hand the model what the person typed to steer it, now that no tool runs."""
        for queued in self.state.queue:
            if queued.steer:
                self.record(MessageUnqueued(queued.id, delivered=True))

    # -- tools

    async def call(self, call: ToolCall) -> ToolResult:
        """Run one call of the model: judged, run, recorded; exactly one result, whatever happens. Raises `Halt` when
        the model runs in circles."""
        result = await self._run(call)
        self._break_circles(call, result)
        return result

    def refuse(self, call: ToolCall, why: str) -> None:
        """Answer a call that must not run."""
        self.record(ToolStarted(call, call.name))
        self.record(ToolFinished(call.id, call.name, ToolResult(call.id, why, "error"), 0.0))

    async def _run(self, call: ToolCall) -> ToolResult:
        self.check_budget()
        began = time.monotonic()
        title, kind = call.name, "other"
        started = False
        self._running = call
        self._shown = ""
        result = ToolResult(call.id, "interrupted before it was done", "cancelled")
        try:
            tool, args = self.env.tools.resolve(call)
            title, kind = tool.title(args), tool.kind
            self.record(ToolStarted(call, title))
            started = True
            if why := self.tries.refuse_command(call):
                raise ToolError(why)
            await permission.require(self, call, tool, args)
            if kind in ("edit", "shell") and call.name != "test":
                await self.before_change(kind, f"{call.name} {title}"[:200], tool.touches(args).paths)
            before = self.tries.before_edit(tool.touches(args).paths) if kind == "edit" else {}
            began = time.monotonic()
            reply = await tool.run(args, self.tools)
            if before and (why := self.tries.refuse_edit(before)):
                raise ToolError(why)
            content = self.tools.outputs.fit(reply.content, call.name)
            result = ToolResult(call.id, content, reply.status, reply.display, reply.images)
        except DeniedError as error:
            self.denied.append(f"{call.name}: {title}")
            result = ToolResult(call.id, str(error), "denied")
        except TcoderError as error:
            result = ToolResult(call.id, str(error), "error")
        except asyncio.CancelledError:
            result = ToolResult(call.id, f"interrupted; so far it had printed:\n{self._shown}", "cancelled")
            raise
        finally:
            self._running = None
            spent = time.monotonic() - began
            self.tools_s += spent
            if not started:
                self.record(ToolStarted(call, title))
            self.record(ToolFinished(call.id, call.name, result, spent))
        self.tries.ran(call, kind, result.content if result.status == "error" else "")
        if kind in ("edit", "shell"):
            await self.after_change(Cause("edit" if kind == "edit" else "shell", title[:200], call_id=call.id))
        return result

    def _break_circles(self, call: ToolCall, result: ToolResult) -> None:
        waits = call.name == "shell" and any(word in call.arguments for word in ("sleep", "wait", "curl", "tail"))
        self._steps.append(breaker.Step(f"{call.name} {call.arguments}", result.content, waits))
        del self._steps[: -breaker.MEMORY * 4]
        finding = breaker.inspect(self._steps)
        if finding.action == "stop":
            raise halt.no_progress(finding.reason, "say what to try instead, or use another model")
        if finding.action == "warn":
            self.record(Notice("warning", "breaker", finding.reason))
            self.note("breaker", f"You are running in circles: {finding.reason}. Try something else.")

    # -- changes of the tree

    async def before_change(self, kind: Kind, about: str = "", paths: tuple[str, ...] = ()) -> None:
        """What must be there before tcoder changes something: the user's own changes as a patch of theirs, a
        checkpoint of what has changed since the last one, and the tests' result before the first edit. `paths` are
        files that will be edited; they are covered even if git ignores them."""
        await self.checkpoint()
        ledger = await self.env.ledger()
        if paths:
            await ledger.cover(paths)
        await self._record_patch(await ledger.record(Cause("user", "changed meanwhile", turn=self.state.turn)))
        if self._changed_since_checkpoint:
            await self._make_checkpoint(f"before {about}")
        if kind == "edit" and self.env.checks and self.state.baseline is None and not self.changed:
            await proving.run(self, "baseline", again=True)

    async def after_change(self, cause: Cause) -> Patch | None:
        """Record what changed since `before_change` as a patch of this turn."""
        ledger = await self.env.ledger()
        cause = Cause(cause.kind, cause.summary, self.state.turn, cause.call_id, cause.attempt)
        patch = await self._record_patch(await ledger.record(cause))
        if lost := ledger.lost:
            more = f" and {len(lost) - SHOWN_LOST} more" if len(lost) > SHOWN_LOST else ""
            names = ", ".join(lost[:SHOWN_LOST]) + more
            self.warn("checkpoint", f"gone for good, since git ignores it and no checkpoint holds it: {names}")
        return patch

    async def after_interrupt(self) -> None:
        """Record what an interrupted tool left behind, so that it can be undone."""
        if self.start:
            await self.after_change(Cause("shell", "left behind when the turn ended"))

    async def _record_patch(self, recorded: tuple[Patch, str] | None) -> Patch | None:
        if recorded is None:
            return None
        patch, diff = recorded
        self._changed_since_checkpoint = True
        self.record(PatchApplied(patch, diff))
        await self.env.index.changed(change.path for change in patch.files)
        return patch

    async def checkpoint(self, summary: str = "before the turn") -> None:
        """The checkpoint at the beginning of this turn, made once."""
        if not self.start:
            made = await self._make_checkpoint(summary)
            self.start, self.start_tree = made.id, made.tree

    async def _make_checkpoint(self, summary: str) -> Checkpoint:
        ledger = await self.env.ledger()
        made = await ledger.checkpoint(Cause("checkpoint", summary, turn=self.state.turn))
        self._changed_since_checkpoint = False
        self.record(CheckpointMade(made))
        for uncovered in made.uncovered:
            self.warn("checkpoint", f"not covered by checkpoints: {uncovered}")
        return made

    async def mark(self, summary: str) -> str:
        """Keep the tree as it is now as a checkpoint; its id."""
        return (await self._make_checkpoint(summary)).id

    async def differs_from(self, checkpoint_id: str) -> bool:
        """Whether the tree is another than at a checkpoint of this session."""
        ledger = await self.env.ledger()
        return await ledger.tree() != await ledger.tree(checkpoint_id)

    async def roll_back(self, checkpoint_id: str) -> None:
        """Bring the files back to a checkpoint, the user's own changes left alone. Raises `WorkspaceError`."""
        ledger = await self.env.ledger()
        known = {patch.id: patch for patch in self.state.patches}
        patch = await ledger.rollback(checkpoint_id)
        for one in ledger.patches:
            if known.get(one.id) != one:
                self.record(PatchApplied(one))
        self._changed_since_checkpoint = True
        self.tools.seen.clear()
        await self.env.index.changed(change.path for change in patch.files)

    async def apply(self, edits: tuple[Edit, ...], cause: Cause) -> tuple[Reply, Patch | None]:
        """Edit files as tcoder itself (the guided strategy), recorded like a model's edit. Raises `PatchError`."""
        await self.before_change("edit")
        reply = apply(self.tools, edits)
        return reply, await self.after_change(cause)

    # -- tests

    async def run_checks(self, phase: CheckPhase, select: tuple[str, ...] = ()) -> CheckReport:
        """Run the project's tests and record what they said. A full run before the first change is the baseline.
        Raises `WorkspaceError` when it is not known how the project is tested."""
        return await proving.run(self, phase, select)

    async def _run_tests(self, select: tuple[str, ...]) -> CheckReport:
        """The model runs tests: the baseline before the first change, an attempt after one."""
        await proving.know_the_start(self)
        report = await proving.run(self, "attempt", select, again=not self.changed)
        await self.tries.record(report)
        return report

    async def prove(self, *, anyway: bool = False) -> Proof:
        """Run all tests now, after the last edit, and hold them against the baseline; recorded as an attempt. `anyway`
        = even when the budget of the model is spent."""
        return await proving.prove(self, anyway=anyway)
