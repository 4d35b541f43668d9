"""A session: ops in, events out, one writer. Turns run one after the other; what is typed meanwhile waits."""

import asyncio
import time
import traceback
from collections.abc import Awaitable, Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from uuid import uuid4

from msgspec.structs import replace

from tcoder.agent import chores, halt, queries, titles
from tcoder.agent.context import Frame
from tcoder.agent.environment import Environment
from tcoder.agent.feed import Feed
from tcoder.agent.journal import Journal
from tcoder.agent.state import SessionState, fold
from tcoder.agent.turn import Turn
from tcoder.agent.verdict import Ending, outcome, stopped
from tcoder.protocol.errors import ModelError, TcoderError, UsageError
from tcoder.protocol.events import (
    ApprovalChanged,
    Delta,
    Event,
    MessageQueued,
    MessageUnqueued,
    Notice,
    OutlineTaken,
    PermissionAnswered,
    PermissionAsked,
    PlanChanged,
    Progress,
    Recorded,
    SessionEnded,
    SessionNamed,
    ToolFinished,
    ToolStarted,
    TurnFinished,
    TurnStarted,
    VariantChanged,
)
from tcoder.protocol.messages import TextPart, ToolResult, UserMessage
from tcoder.protocol.ops import (
    Close,
    CommitAccepted,
    Compact,
    Decide,
    EditHunk,
    Interrupt,
    JudgeHunks,
    MakeCheckpoint,
    Op,
    Redo,
    Rename,
    Rollback,
    RunChecks,
    RunShell,
    SetApproval,
    SetEffort,
    SetModel,
    SetPlan,
    SetVariant,
    SplitHunk,
    Submit,
    TakeBack,
    Undo,
)
from tcoder.protocol.outcome import Duration, ExitCode
from tcoder.protocol.permissions import Question, Verdict
from tcoder.protocol.queries import Query, Reply
from tcoder.protocol.request import ModelRequest
from tcoder.protocol.variant import ModelVariant, Strategy, VariantName

StrategyRunner = Callable[[Turn], Awaitable[Ending]]
Observer = Callable[[Recorded], None]


class Session:
    """Implements `SessionHandle` for front ends and `Recorder` for turns."""

    def __init__(
        self,
        env: Environment,
        frame: Frame,
        journal: Journal | None,
        strategies: Callable[[Strategy], StrategyRunner],
        *,
        state: SessionState | None = None,
        past: list[Recorded] | None = None,
        stored: Iterable[Recorded] | None = None,
    ) -> None:
        """`past` is what front ends are shown of a session that goes on; when that is not all, `stored` is."""
        self.env = env
        self.frame = frame
        self._journal = journal
        self._strategies = strategies
        self._state = state or SessionState()
        self._log = list(past or [])
        self._stored = stored
        self._opened_at = len(self._log)
        self._feeds: list[Feed] = []
        self._observers: list[Observer] = []
        self._questions: dict[str, asyncio.Future[Decide]] = {}
        self._turn: asyncio.Task[None] | None = None
        self._chores: set[asyncio.Task[None]] = set()
        self._titling: asyncio.Task[None] | None = None
        self._closing: Close | None = None
        self._journal_problem = ""
        self.last_request: ModelRequest | None = None

    # -- the one writer

    @property
    def session_id(self) -> str:
        return self._state.session_id

    @property
    def state(self) -> SessionState:
        return self._state

    @property
    def log(self) -> Sequence[Recorded]:
        """What front ends are shown of the past, and every event since."""
        return self._log

    @property
    def whole_log(self) -> Iterable[Recorded]:
        """Every event of the session, from its journal where `log` has not all of them."""
        return self._log if self._stored is None else self._stored

    def record(self, event: Event) -> Recorded:
        """Fold, write, tell everybody: the only way anything comes to be."""
        self._state = fold(self._state, event)
        recorded = self._write(event)
        self._log.append(recorded)
        for feed in self._feeds:
            feed.put(recorded)
        for observer in self._observers:
            observer(recorded)
        if self._journal and self._journal.problem and not self._journal_problem:
            self._journal_problem = self._journal.problem
            self.record(Notice("error", "journal", self._journal_problem))
        return recorded

    def _write(self, event: Event) -> Recorded:
        if self._journal:
            return self._journal.append(event)
        from_seq = self._log[-1].seq if self._log else 0
        return Recorded(seq=from_seq + 1, time=time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), event=event)

    def emit(self, delta: Delta) -> None:
        """Show something that the journal does not keep."""
        for feed in self._feeds:
            feed.put(delta)

    @contextmanager
    def subscribe(self, *, past: bool = True) -> Generator[Feed]:
        feed = Feed(self._log if past else self._log[self._opened_at :])
        self._feeds.append(feed)
        if self._closing and self._turn is None:
            feed.put(None)
        try:
            yield feed
        finally:
            self._feeds.remove(feed)

    def observe(self, observer: Observer) -> None:
        """Let `observer` see every event right after it is written. It must not raise."""
        self._observers.append(observer)

    # -- ops

    async def submit(self, op: Op) -> None:
        if self._closing:
            if isinstance(op, Close):
                return
            raise UsageError("the session is closed")
        match op:
            case Submit():
                self._take_message(op)
            case TakeBack():
                self._take_back(op.id)
            case Interrupt():
                self._interrupt()
            case Decide():
                self._decide(op)
            case SetVariant():
                self._set_variant(op)
            case SetApproval():
                self.record(ApprovalChanged(op.approval))
            case Rename():
                self.record(SessionNamed(op.name))
            case SetPlan():
                self.record(PlanChanged(op.steps, "person"))
            case Close():
                await self._close(op)
            case (
                RunShell()
                | MakeCheckpoint()
                | Undo()
                | Redo()
                | Rollback()
                | RunChecks()
                | Compact()
                | JudgeHunks()
                | EditHunk()
                | SplitHunk()
                | CommitAccepted()
            ):
                self._start_chore(op)
            case SetModel():
                self._set_variants(self.env.resolve(op.model), f"the person chose {op.model}")
            case SetEffort():
                variants = self.env.variants.items()
                changed: dict[VariantName, ModelVariant] = {name: replace(v, effort=op.effort) for name, v in variants}
                self._set_variants(changed, f"the person chose effort {op.effort}")

    def _take_message(self, op: Submit) -> None:
        if not op.text.strip() and not op.images:
            raise UsageError("the message is empty")
        if self._turn is not None:
            self.record(MessageQueued(uuid4().hex[:8], op.text, op.steer, op.images))
            return
        self._start_turn(UserMessage((TextPart(op.text), *op.images)))

    def _take_back(self, message_id: str) -> None:
        queue = self._state.queue
        taken = next((queued for queued in reversed(queue) if not message_id or queued.id == message_id), None)
        if taken is None:
            raise UsageError("no such message is waiting")
        self.record(MessageUnqueued(taken.id, delivered=False))

    def _interrupt(self) -> None:
        if self._turn is not None:
            self._turn.cancel()
        for chore in self._chores:
            chore.cancel()

    def _decide(self, op: Decide) -> None:
        waiting = self._questions.get(op.question_id)
        if waiting is None or waiting.done():
            raise UsageError("that question is not open")
        self.record(PermissionAnswered(op.question_id, op.answer, "person", op.note))
        waiting.set_result(op)

    def _set_variant(self, op: SetVariant) -> None:
        name = op.name or self._state.variant
        if name not in self.env.variants:
            raise UsageError(f"no {name} variant is configured", "set [variants.fast] in the settings")
        self.record(
            VariantChanged(name, auto=op.name is None, sticky=op.sticky, reason="chosen by the person", by="person")
        )

    def _set_variants(self, chosen: dict[VariantName, ModelVariant], reason: str) -> None:
        """Use other models from the next call on."""
        self.env.variants.clear()
        self.env.variants.update(chosen)
        name = self._state.variant if self._state.variant in chosen else "standard"
        self.record(VariantChanged(name, self._state.automatic, sticky=True, reason=reason, by="person"))

    async def _close(self, op: Close) -> None:
        self._closing = op
        self._interrupt()
        if self._titling is not None:
            self._titling.cancel()
        running = [task for task in (self._turn, *self._chores) if task is not None]
        if running:
            await asyncio.wait(running)
        self.record(SessionEnded(op.reason))
        if self._journal:
            self._journal.close()
        for feed in self._feeds:
            feed.put(None)

    async def ask_person(self, call_id: str, question: Question, verdict: Verdict) -> Decide:
        """Put a question and wait for the `Decide` that answers it."""
        answer: asyncio.Future[Decide] = asyncio.get_running_loop().create_future()
        self._questions[question.id] = answer
        try:
            self.record(PermissionAsked(call_id, question, verdict))
            return await answer
        finally:
            del self._questions[question.id]

    async def renew_frame(self) -> Frame:
        """The rules and the outline as they are now."""
        if self.env.outlines is not None:
            self._take_outline(await self.env.outlines.anew())
        if self.env.frame is not None:
            self.frame = self.env.frame(self._state.outline)
        return self.frame

    async def _begin_frame(self) -> None:
        """The outline that the first request begins with, where there is one without waiting."""
        if self.env.outlines is None or self.env.frame is None or self._state.calls:
            return
        self._take_outline(await self.env.outlines.first())
        if self._state.outline:
            self.frame = self.env.frame(self._state.outline)

    def _take_outline(self, text: str) -> None:
        if text != self._state.outline:
            self.record(OutlineTaken(text))

    async def query(self, query: Query) -> Reply:
        return await queries.answer(self, query)

    # -- turns

    def _start_turn(self, message: UserMessage) -> None:
        self._turn = asyncio.create_task(self._run_turns(message))

    async def _run_turns(self, message: UserMessage) -> None:
        """The turn, then those that wait in the queue. After an interrupt the queue waits for the person."""
        try:
            while True:
                finished = await self._run_turn(message)
                self._entitle()
                waiting = self._state.queue
                if not finished or not waiting or self._closing:
                    return
                self.record(MessageUnqueued(waiting[0].id, delivered=True))
                message = waiting[0].message
        finally:
            self._turn = None

    async def _run_turn(self, message: UserMessage) -> bool:
        """Run one turn to its `TurnFinished`; False when it was interrupted."""
        self.record(TurnStarted(self._state.turn + 1, message))
        task = "".join(part.text for part in message.parts if isinstance(part, TextPart))
        await self._begin_frame()
        turn = Turn(self, self.env, self.frame, task)
        try:
            ending = await self._strategies(self.env.strategy or turn.variant.strategy)(turn)
        except asyncio.CancelledError:
            ending = self._interrupted(turn)
        except ModelError as error:
            ending = stopped(halt.of_model(error), self._state)
        except halt.Halt as stop:
            ending = stopped(stop, self._state)
        except TcoderError as error:
            ending = Ending("error", ExitCode.BUG, error.message, reason=str(error))
        except Exception as error:  # noqa: BLE001 a bug must end the turn, not the session
            self.record(Notice("error", "bug", traceback.format_exc()))
            ending = Ending("error", ExitCode.BUG, f"unexpected error in tcoder: {error!r}")
        await self._settle(turn)
        total = turn.elapsed_s
        harness = max(0.0, total - turn.model_s - turn.tools_s)
        duration = Duration(round(total, 3), round(turn.model_s, 3), round(turn.tools_s, 3), round(harness, 3))
        ended = outcome(ending, self._state, denied=bool(turn.denied), warnings=tuple(turn.warnings), duration=duration)
        self.record(TurnFinished(self._state.turn, ended))
        return ending.status != "interrupted"

    def _entitle(self) -> None:
        """Have a title written, where one is wanted, while the person reads or types on."""
        if self.env.interactive and titles.wanted(self._state, self.env.variants) is not None:
            self._titling = asyncio.create_task(self._write_title())

    async def _write_title(self) -> None:
        named = await titles.entitle(self.env, self._state)
        if named is not None and not self._state.name and self._closing is None:
            self.record(named)

    def _interrupted(self, turn: Turn) -> Ending:
        terminated = self._closing is not None and self._closing.reason in ("sigterm", "sighup")
        code = ExitCode.TERMINATED if terminated else ExitCode.INTERRUPTED
        return Ending("interrupted", code, turn.unfinished, reason="interrupted")

    async def _settle(self, turn: Turn) -> None:
        """Leave a valid conversation and a recorded tree, however the turn ended."""
        for call in self._state.unanswered:  # none of these has begun: a turn answers each call that it starts
            self.record(ToolStarted(call, call.name))
            result = ToolResult(call.id, "not run: the turn ended before", "cancelled")
            self.record(ToolFinished(call.id, call.name, result, 0.0))
        try:
            await turn.after_interrupt()
        except TcoderError as error:
            self.record(Notice("error", "ledger", str(error)))

    # -- what a person does without the model

    def _start_chore(self, op: Op) -> None:
        if self._turn is not None:
            raise UsageError("a turn is running", "interrupt it first, or wait")
        task = asyncio.create_task(self._run_chore(op))
        self._chores.add(task)
        task.add_done_callback(self._chores.discard)

    async def _run_chore(self, op: Op) -> None:
        try:
            await chores.perform(Turn(self, self.env, self.frame, ""), op)
        except asyncio.CancelledError:
            self.record(Notice("info", "interrupt", "interrupted"))
        except TcoderError as error:
            self.record(Notice("error", error.kind, str(error)))
        except Exception as error:  # noqa: BLE001 a bug must be seen, and must not end the session
            self.record(Notice("error", "bug", f"unexpected error in tcoder: {error!r}\n{traceback.format_exc()}"))
        finally:
            self.emit(Progress(""))  # a verdict on a hunk leaves no event, but who shows the review must look again
