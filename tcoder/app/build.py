"""Builds a session: its parts joined once, its journal opened, its first events written."""

import asyncio
import gc
import os
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from msgspec.structs import replace

from tcoder import __version__
from tcoder.agent import context, loop
from tcoder.agent.budget import outline_tokens, unpriced
from tcoder.agent.environment import Environment
from tcoder.agent.grants import Grants
from tcoder.agent.journal import Journal, Stored, copy, private_folder
from tcoder.agent.outlines import Outlines
from tcoder.agent.recall import Recalled, left_open, recall, recall_beside
from tcoder.agent.reviewing import Reviewer
from tcoder.agent.rewind import events_before
from tcoder.agent.session import Session, StrategyRunner
from tcoder.agent.state import replay
from tcoder.agent.stored import summarise_all
from tcoder.app import credentials, going_on, parts, variants
from tcoder.app.instructions import RULE_FILES, read_instructions
from tcoder.app.options import Options
from tcoder.app.place import Place, find_session, new_session_id
from tcoder.app.printing import complain
from tcoder.config import Settings
from tcoder.index import Index
from tcoder.plugins import loader
from tcoder.protocol.budget import Usage
from tcoder.protocol.codec import encode_line
from tcoder.protocol.errors import JournalError, NoModelError, UsageError
from tcoder.protocol.events import Notice, Progress, Recorded, SessionResumed, SessionStarted, VariantChanged
from tcoder.protocol.permissions import Approval
from tcoder.protocol.variant import ModelVariant, Strategy, VariantName
from tcoder.resources import plugin_folder
from tcoder.tools import registry
from tcoder.tools.redact import Redactor, secrets_of
from tcoder.workspace.files.files import WorkspaceFiles
from tcoder.workspace.ledger import fork as ledger_fork
from tcoder.workspace.ledger.ledger import Ledger
from tcoder.workspace.ledger.prune import Rule, prune

OUTLINE = "outline.json"


@dataclass(frozen=True)
class Opened:
    """A session with what it stands on."""

    session: Session
    env: Environment
    opened_ledger: Callable[[], Ledger | None]

    async def close(self) -> None:
        """End children and connections; the session itself is closed by its `Close` op."""
        if self.env.outlines is not None:
            await self.env.outlines.close()
        ledger = self.opened_ledger()
        runner = asyncio.ensure_future(self.env.runner.close())
        others = [self.env.model.close(), self.env.index.close(), *([ledger.close()] if ledger else [])]
        await asyncio.gather(runner, *others)
        for told in runner.result():
            complain(told)


async def open_session(options: Options, place: Place, *, interactive: bool) -> Opened:
    """A session that is ready for ops; its first event says what it is made of. Without a model an interactive session
    opens all the same, for everything that needs none. Raises `TcoderError`s."""
    place = going_on.as_before(options, place)
    settings = place.settings
    chosen = _variants(settings, interactive=interactive)
    if not interactive:
        parts.refuse_unkept(settings, chosen)  # an interface refused before it began
    recalled, journal_path, parent = await _stored(options, place, interactive=interactive)
    session_id = journal_path.stem
    redactor = Redactor((*secrets_of(os.environ), *credentials.kept(place.config.folders.config / credentials.FILE)))
    next_seq = recalled.next_seq if recalled else 1
    journal = None if options.no_session else Journal(journal_path, next_seq=next_seq, redact=redactor.line)
    private = private_folder(place.sessions / session_id)
    contained = parts.open_shell(place, private, interactive=interactive)
    plugin_folders = (plugin_folder(), place.config.folders.config / "plugins")
    plugins = loader.load(plugin_folders, frozenset(settings.plugins.disabled))
    tests = parts.find_checks(place, options)
    tools = registry.shipped(tool for plugin in plugins.plugins for tool in plugin.tools)
    if options.allowed_tools:
        tools = tools.only(options.allowed_tools)
    ledger = _LateLedger(lambda: _open_ledger(place, session_id))
    index = Index.open(place.root, place.config.folders.cache)

    budget = parts.budget_of(settings)
    outlines = Outlines(index, place.root, place.sessions / OUTLINE, outline_tokens(budget, chosen["standard"]))

    def framed(outline: str) -> context.Frame:
        return parts.frame(place, options, tests, tools.specs, session_id, outline)

    env = Environment(
        root=place.root,
        version=__version__,
        model=parts.open_model(place, lambda text: session.emit(Progress(text))),
        variants=chosen,
        strategy=None if settings.strategy == "auto" else settings.strategy,
        files=WorkspaceFiles(place.root),
        index=index,
        runner=contained.shell,
        ledger=ledger,
        tools=tools,
        resolve=lambda model: variants.choose(replace(settings, model=model, base_url=""), os.environ),
        stored_sessions=lambda: summarise_all(place.sessions)[0],
        reviewer=Reviewer(ledger, place.sessions / session_id / "review.json", trusted=place.trusts_programs),
        grants=Grants(parts.rules_of(settings), place.sessions / "rules.toml"),
        budget=budget,
        private=private,
        frame=framed,
        outlines=outlines,
        checks=tests,
        checks_timeout_s=settings.checks.timeout_s,
        max_attempts=settings.checks.max_attempts,
        interactive=interactive,
        yolo=options.yolo,
        sandbox=contained.mode,
        wary=contained.wary,
        writable=tuple(map(str, contained.writable)),
        network=settings.network == "on",
        trusted=place.trusted,
    )
    session = Session(
        env,
        framed(recalled.state.outline if recalled else ""),
        journal,
        _strategy,
        state=recalled.state if recalled else None,
        past=list(recalled.past) if recalled else None,
        stored=Stored(journal_path) if recalled and not recalled.whole and journal else None,
    )
    if recalled:
        gc.freeze()  # all of it stays, so the garbage collector need not look at it again
    session.observe(plugins.observer(session.record))
    if options.debug:
        session.observe(_debug_log(options.debug, redactor))
    _begin(session, place, session_id, parent, resumed=recalled is not None and not parent)
    for event in left_open(recalled) if recalled else ():
        session.record(event)
    _, hidden = read_instructions(place.root, RULE_FILES)
    told = [one for one in (hidden, contained.notice) if one]
    problems = (*place.config.notices, *told, *plugins.problems)
    for problem in (*problems, *(recalled.problems if recalled else ())):
        session.record(Notice("warning", "start", problem))
    standard = chosen["standard"]
    asked = env.budget.cost_asked or standard.on_this_machine
    if not asked and (why := unpriced(env.budget, standard, Usage())):
        session.record(Notice("info", "budget", why))  # a limit that a person set is warned of in each turn
    if interactive:
        outlines.leave()
    return Opened(session, env, ledger.opened)


def _variants(settings: Settings, *, interactive: bool) -> dict[VariantName, ModelVariant]:
    try:
        return variants.choose(settings, os.environ)
    except NoModelError:
        if not interactive:
            raise
        return {"standard": variants.NOBODY}


def _begin(session: Session, place: Place, session_id: str, parent: str, *, resumed: bool) -> None:
    """The first events: what the session is made of, and where the slider stands."""
    env, settings = session.env, place.settings
    standard = env.variants["standard"]
    approval: Approval = settings.approval or ("ask" if env.interactive else "auto")
    if resumed:
        session.record(SessionResumed(__version__, standard, session_id, env.sandbox or "off"))
    else:
        strategy = env.strategy or standard.strategy
        sandbox = env.sandbox or "off"
        session.record(
            SessionStarted(session_id, str(place.root), __version__, standard, strategy, approval, sandbox, parent)
        )
    if settings.variant != "standard":
        name = "fast" if settings.variant == "fast" and "fast" in env.variants else "standard"
        session.record(VariantChanged(name, settings.variant == "auto", sticky=True, reason="asked for", by="person"))


async def _stored(options: Options, place: Place, *, interactive: bool) -> tuple[Recalled | None, Path, str]:
    """The session to go on with, the journal to go on with or to begin, and the session it was forked from. A person
    may be typing already while it is read."""
    resumes = options.resume_last or options.resume is not None
    if not resumes:
        session_id = options.session_id or new_session_id()
        if not session_id.replace("-", "").replace("_", "").isalnum():
            raise UsageError(f"{session_id!r} is not a session id", "letters, digits, - and _ only")
        path = place.sessions / f"{session_id}.jsonl"
        if path.exists():
            raise JournalError(f"session {session_id} exists", "resume it with -r, or choose another id")
        return None, path, ""
    path = find_session(place, options.resume or "")
    if not options.fork:
        return await recall_beside(path) if interactive else recall(path), path, ""
    fork = place.sessions / f"{options.session_id or new_session_id()}.jsonl"
    stored = Stored(path)
    events = islice(stored, events_before(stored, options.checkpoint)) if options.checkpoint else stored
    if options.no_session:
        past = tuple(events)
        state = replay(recorded.event for recorded in past)
        ledger_fork.fork(place.root, place.config.folders.state, path.stem, fork.stem)
        return Recalled(state, past, past[-1].seq + 1 if past else 1, tuple(stored.problems)), fork, path.stem
    copy(events, fork)
    ledger_fork.fork(place.root, place.config.folders.state, path.stem, fork.stem)
    return await recall_beside(fork) if interactive else recall(fork), fork, path.stem


def _strategy(strategy: Strategy) -> StrategyRunner:
    if strategy == "guided":
        from tcoder.agent import guided  # late: only small models need it

        return guided.run
    return loop.run


def _debug_log(name: str, redactor: Redactor) -> Callable[[Recorded], None]:
    """Writes every event to a file as the journal has it, keys redacted. Raises `UsageError` when it cannot."""
    try:
        fd = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise UsageError(f"cannot write {name}: {error.strerror}") from error

    def write(recorded: Recorded) -> None:
        os.write(fd, redactor.data(encode_line(recorded)))

    return write


async def _open_ledger(place: Place, session_id: str) -> Ledger:
    """The session's ledger; those of sessions that are older than the user wants to keep go first."""
    state = place.config.folders.state
    await prune(place.root, state, Rule(days=place.settings.sessions.keep_days))
    return await Ledger.open(place.root, state, session_id)


class _LateLedger:
    """Opens the ledger at the first call and gives the same one at every later call; opening asks git, which a run
    that changes nothing need not wait for."""

    def __init__(self, opening: Callable[[], Coroutine[None, None, Ledger]]) -> None:
        self._opening = opening
        self._task: asyncio.Task[Ledger] | None = None

    async def __call__(self) -> Ledger:
        if self._task is None:
            self._task = asyncio.create_task(self._opening())
        return await asyncio.shield(self._task)

    def opened(self) -> Ledger | None:
        """The ledger if it is open."""
        task = self._task
        if task is None or not task.done() or task.cancelled() or task.exception():
            return None
        return task.result()
