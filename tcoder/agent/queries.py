"""Answers to what front ends ask besides the events: nothing here changes anything."""

from collections.abc import Sequence
from typing import Protocol

from tcoder.agent.context import Frame
from tcoder.agent.environment import Environment
from tcoder.agent.layers import context_report
from tcoder.agent.reviewing import as_state, draft_message, since_of
from tcoder.agent.situation import samples, situation
from tcoder.agent.state import SessionState
from tcoder.models import routing
from tcoder.protocol.events import Recorded
from tcoder.protocol.queries import (
    ChangePreview,
    CompletePaths,
    ExplainVariant,
    ListModels,
    ListRules,
    ListSessions,
    ListTools,
    ListUserCommands,
    ModelChoice,
    ModelList,
    PathMatches,
    PreviewChange,
    Query,
    ReadContext,
    ReadReview,
    ReadStatus,
    ReadTimeline,
    Reply,
    RuleList,
    SessionList,
    StatusReport,
    Timeline,
    TimelineEntry,
    ToolList,
    Unavailable,
    UserCommandList,
    VariantReport,
)
from tcoder.protocol.variant import ModelVariant


class Asked(Protocol):
    """What answers are made from."""

    @property
    def env(self) -> Environment: ...
    @property
    def frame(self) -> Frame: ...
    @property
    def state(self) -> SessionState: ...
    @property
    def log(self) -> Sequence[Recorded]: ...


async def answer(session: Asked, query: Query) -> Reply:
    """The answer that the query's docstring names."""
    env = session.env
    match query:
        case CompletePaths():
            paths = await env.index.files_matching(query.text, query.limit)
            return PathMatches(tuple(paths), env.index.state().complete >= 1)
        case PreviewChange():
            return await _preview(session, query)
        case ReadReview():
            return await _review(session)
        case ReadTimeline():
            return timeline(session.state)
        case ReadContext():
            return context_report(session.state, session.frame, _variant(session), env.budget)
        case ListRules():
            return RuleList(env.grants.rules)
        case ListModels():
            chosen = {variant.id: name for name, variant in env.variants.items()}
            return ModelList(tuple(ModelChoice(model, note=name) for model, name in chosen.items()))
        case ListTools():
            return ToolList(env.tools.specs)
        case ListUserCommands():
            return UserCommandList(())
        case ExplainVariant():
            return _variants(session)
        case ReadStatus():
            return _status(session)
        case ListSessions():
            return SessionList(env.stored_sessions())


async def _preview(session: Asked, query: PreviewChange) -> Reply:
    checkpoints = session.state.checkpoints
    since = query.since or (checkpoints[0].id if checkpoints else "")
    if not since:
        return ChangePreview("")
    ledger = await session.env.ledger()
    diff = await ledger.diff(since)
    files = tuple(line[6:] for line in diff.split("\n") if line.startswith("+++ b/"))
    return ChangePreview(diff, files)


async def _review(session: Asked) -> Reply:
    state = session.state
    if not state.checkpoints:
        return Unavailable("this session has changed nothing")
    current = await session.env.reviewer.look(since_of(state))
    checks = ""
    if state.checks is not None:
        checks = "ok" if state.checks.ok else f"{len(state.checks.failing)} failed"
    return as_state(current, checks, draft_message(state))


def timeline(state: SessionState) -> Timeline:
    """Checkpoints and patches, oldest first."""
    entries = [
        TimelineEntry(
            id=made.id,
            time=made.time,
            kind="checkpoint",
            cause=made.cause.summary,
            turn=made.cause.turn,
            attempt=made.cause.attempt,
            uncovered=made.uncovered,
        )
        for made in state.checkpoints
    ]
    entries += [
        TimelineEntry(
            id=patch.id,
            time=patch.time,
            kind="patch",
            cause=f"{patch.cause.kind}: {patch.cause.summary}",
            turn=patch.cause.turn,
            attempt=patch.cause.attempt,
            files=tuple(change.path for change in patch.files),
            insertions=patch.insertions,
            deletions=patch.deletions,
            undone=patch.undone,
            uncovered=tuple(f"{path} (ignored by git, and gone)" for path in patch.lost),
        )
        for patch in state.patches
    ]
    return Timeline(tuple(sorted(entries, key=lambda entry: entry.time)))


def _variant(session: Asked) -> ModelVariant:
    variants = session.env.variants
    return variants.get(session.state.variant) or variants["standard"]


def _variants(session: Asked) -> VariantReport:
    state, variants = session.state, session.env.variants
    here = situation(state)
    setting = "auto" if state.automatic else state.variant
    choice = routing.choose(here, setting, state.variant, variants)
    return routing.explain(choice, setting, here, variants, samples(session.log), state.attempts)


def _status(session: Asked) -> StatusReport:
    state, env = session.state, session.env
    cost = state.usage.cost
    return StatusReport(
        (
            ("session", state.session_id),
            ("workspace", str(env.root)),
            ("tcoder", env.version),
            ("strategy", env.strategy or "by the model"),
            ("approval", state.approval),
            ("sandbox", env.sandbox or "off"),
            ("tests", env.checks.command if env.checks else "not known"),
            ("turns", str(state.turn)),
            ("model calls", str(state.usage.calls)),
            ("tokens", str(state.usage.total)),
            ("cost", f"${cost}" if cost is not None else "unknown"),
        )
    )
