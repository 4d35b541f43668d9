"""Builds a session: settings, model, workspace, tools, strategies, joined once and handed down."""

import asyncio
import os
import secrets
import time
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import TypeVar

from msgspec.structs import replace

from tcoder import __version__
from tcoder.agent import context, loop
from tcoder.agent.budget import TIERS
from tcoder.agent.environment import Environment
from tcoder.agent.grants import Grants
from tcoder.agent.journal import Journal, Loaded, load, private_folder, project_folder
from tcoder.agent.session import Session, StrategyRunner
from tcoder.agent.state import replay
from tcoder.agent.stored import journals, summarise_all
from tcoder.app import credentials, variants
from tcoder.app.options import Options
from tcoder.config import Config, Settings
from tcoder.config import load as load_config
from tcoder.index import Index
from tcoder.models.switchboard import Switchboard
from tcoder.plugins import loader
from tcoder.protocol.budget import Budget
from tcoder.protocol.checks import CheckCommand
from tcoder.protocol.errors import JournalError, SandboxError, UsageError
from tcoder.protocol.events import Notice, Progress, SessionResumed, SessionStarted, VariantChanged
from tcoder.protocol.handles import Model
from tcoder.protocol.permissions import Approval, Rule
from tcoder.protocol.variant import ModelVariant, Strategy
from tcoder.resources import plugin_folder, prompt
from tcoder.tools import registry
from tcoder.workspace import checks, repository
from tcoder.workspace.files import WorkspaceFiles
from tcoder.workspace.ledger import Ledger
from tcoder.workspace.shell import Shell

RULE_FILES = ("AGENTS.md", "CLAUDE.md")
N = TypeVar("N", int, float, Decimal)


@dataclass(frozen=True)
class Place:
    """Where a run happens: the repository, its settings, its stored sessions."""

    root: Path
    config: Config
    trusted: bool

    @property
    def settings(self) -> Settings:
        return self.config.settings

    @property
    def sessions(self) -> Path:
        return project_folder(self.config.folders.state, self.root)


def find_place(options: Options) -> Place:
    """The repository around the given path, with its settings. Raises `UsageError`, `WorkspaceError`."""
    start = Path(options.path).expanduser()
    if not start.is_dir():
        raise UsageError(f"{options.path} is not a folder")
    root = repository.find_root(start.resolve())
    user_file = Path(options.config_file) if options.config_file else None
    folders_only = load_config(os.environ, {})
    trusted = _is_trusted(root, folders_only.folders.state, now=options.trust)
    config = load_config(
        os.environ, options.settings(), project=root, trusted=trusted, user_file=user_file, profile=options.profile
    )
    return Place(root, config, trusted)


def _is_trusted(root: Path, state: Path, *, now: bool) -> bool:
    if not now and not (root / ".tcoder" / "config.toml").exists():
        return False
    from tcoder.plugins.trust import TrustStore  # late: most repositories have nothing to trust

    store = TrustStore(state / "trust.json")
    if now:
        store.trust(root)
    return store.is_trusted(root)


def open_model(place: Place, on_note: Callable[[str], None] | None = None) -> Model:
    """A model object over all providers; each is opened at its first request. `on_note` hears what is being waited
    for while an embedded engine starts."""
    keys = place.config.folders.config / "credentials.toml"
    settings = place.settings

    def open_one(variant: ModelVariant) -> Model:
        if variant.provider == "local":
            from tcoder.models.local import LocalModel  # late: only the embedded engine needs it

            local = settings.local
            return LocalModel(threads=local.threads, idle_s=local.idle_s, context=local.context, on_note=on_note)
        if variant.provider == "scripted":
            from tcoder.models.scripted import open_script  # late: only demos and tests need it

            return open_script(variant.model)
        from tcoder.models.client import open_model as open_client  # late: httpx is not needed before

        own = variants.own_url(settings, os.environ, variant)
        return open_client(variant, credentials.key_for(variant, os.environ, keys, own_url=own))

    return Switchboard(open_one)


def open_shell(place: Place, spill: Path) -> tuple[Shell, str]:
    """The session's shell and the name of what contains it (empty = nothing). Raises `SandboxError` when the sandbox
    does not hold and no person switched it off."""
    settings = place.settings
    writable = tuple(Path(folder).expanduser().resolve() for folder in settings.add_dirs)
    if settings.sandbox == "off":
        return Shell(place.root, sandbox=None, spill_dir=spill), ""
    from tcoder.workspace import sandbox  # late: not needed when it is switched off

    folders = place.config.folders
    report = sandbox.probe(cache=folders.cache / "sandbox.json")
    if not report.holds:
        raise SandboxError(f"the sandbox does not hold here: {report.detail}", report.fix or "use --sandbox off")
    own = (folders.config, folders.state, folders.data)
    box = sandbox.Sandbox(place.root, writable=writable, network=settings.network == "on", hidden=own)
    return Shell(place.root, sandbox=box, spill_dir=spill), report.mode


def find_checks(place: Place, options: Options) -> CheckCommand | None:
    """How the project is tested: said by a person, or found from its own files."""
    if options.no_tests:
        return None
    found = checks.find(place.root, override=place.settings.checks.test)
    return next((command for command in found if command.kind == "test"), None)


def system_prompt(place: Place, options: Options, tests: CheckCommand | None) -> str:
    """The frozen head of every prompt."""
    facts = f"Tests: `{tests.command}`" if tests else ""
    rules = [file for name in RULE_FILES if (file := place.root / name).is_file()][:1]
    texts = [file.read_text(encoding="utf-8", errors="replace") for file in rules]
    if options.append_system_prompt:
        texts.append(_read_prompt(Path(options.append_system_prompt)))
    instructions = prompt("system/agent").replace("$root", str(place.root))
    return context.system_text(instructions, "\n\n".join(texts), facts)


def _read_prompt(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"cannot read {path}: {error}") from error


def budget_of(settings: Settings) -> Budget:
    """The tier's limits, replaced one by one by what the person set; 0 = no limit."""
    limits = settings.budget
    tier = TIERS[limits.tier]
    return Budget(
        max_turns=_limit(limits.max_turns, tier.max_turns),
        max_cost=_limit(limits.max_cost, tier.max_cost),
        max_tokens=_limit(limits.max_tokens, tier.max_tokens),
        max_time_s=_limit(limits.max_time_s, tier.max_time_s),
        max_context=_limit(limits.max_context, tier.max_context),
        compact_at=limits.compact_at or tier.compact_at,
        tool_output=limits.tool_output or tier.tool_output,
    )


def _limit(own: N | None, tier: N | None) -> N | None:
    return tier if own is None else own or None


def new_session_id() -> str:
    """Sortable by time, unique without asking anybody."""
    return f"{time.strftime('%Y%m%d-%H%M%S', time.gmtime())}-{secrets.token_hex(3)}"


def find_session(place: Place, session_id: str) -> Path:
    """The journal of a stored session, by id or its beginning; empty = the last one. Raises `UsageError`."""
    stored = journals(place.sessions)
    matching = [path for path in stored if path.stem.startswith(session_id)]
    if not matching:
        what = f"no session {session_id!r}" if session_id else "no stored session"
        raise UsageError(f"there is {what} for {place.root}", "see `tcoder sessions`")
    if session_id and len(matching) > 1 and matching[0].stem != session_id:
        raise UsageError(f"{session_id!r} fits {len(matching)} sessions", "give more of the id")
    return matching[0]


@dataclass(frozen=True)
class Opened:
    """A session with what it stands on."""

    session: Session
    env: Environment
    opened_ledger: Callable[[], Ledger | None]

    async def close(self) -> None:
        """End children and connections; the session itself is closed by its `Close` op."""
        await self.env.runner.close()
        await self.env.model.close()
        await self.env.index.close()
        if ledger := self.opened_ledger():
            await ledger.close()


async def open_session(options: Options, place: Place, *, interactive: bool) -> Opened:
    """A session that is ready for ops; its first event says what it is made of. Raises `TcoderError`s."""
    settings = place.settings
    chosen = variants.choose(settings, os.environ)
    standard = chosen["standard"]
    loaded, journal_path, parent = _stored(options, place)
    session_id = journal_path.stem
    journal = None if options.no_session else Journal(journal_path, next_seq=_next_seq(loaded))
    private = private_folder(place.sessions / session_id)
    shell, contained = open_shell(place, private)
    strategy: Strategy = standard.strategy if settings.strategy == "auto" else settings.strategy
    approval: Approval = settings.approval or ("ask" if interactive else "auto")
    plugins = loader.load(
        [plugin_folder(), place.config.folders.config / "plugins"], frozenset(settings.plugins.disabled)
    )
    tests = find_checks(place, options)
    tools = registry.shipped(tool for plugin in plugins.plugins for tool in plugin.tools)
    if options.allowed_tools:
        tools = tools.only(options.allowed_tools)
    system = system_prompt(place, options, tests)
    frame = context.Frame(system, tools.specs, session_id)
    ledger = _LateLedger(lambda: Ledger.open(place.root, place.config.folders.state, session_id))
    env = Environment(
        root=place.root,
        version=__version__,
        model=open_model(place, lambda text: session.emit(Progress(text))),
        variants=chosen,
        strategy=strategy,
        files=WorkspaceFiles(place.root),
        index=Index.open(place.root, place.config.folders.cache),
        runner=shell,
        ledger=ledger,
        tools=tools,
        resolve=lambda model: variants.choose(replace(settings, model=model, base_url=""), os.environ),
        stored_sessions=lambda: summarise_all(place.sessions)[0],
        grants=Grants(rules_of(settings), place.sessions / "rules.toml"),
        budget=budget_of(settings),
        checks=tests,
        checks_timeout_s=settings.checks.timeout_s,
        max_attempts=settings.checks.max_attempts,
        interactive=interactive,
        yolo=options.yolo,
        sandbox=contained,
        network=settings.network == "on",
        trusted=place.trusted,
    )
    past = loaded.events if loaded else ()
    session = Session(
        env,
        frame,
        journal,
        {strategy: _strategy(strategy)},
        state=replay(recorded.event for recorded in past),
        past=list(past),
    )
    if loaded and not parent:
        session.record(SessionResumed(__version__, standard, session_id))
    else:
        session.record(
            SessionStarted(
                session_id, str(place.root), __version__, standard, strategy, approval, contained or "off", parent
            )
        )
    session.observe(plugins.observer(session.record))
    if settings.variant != "standard":
        name = "fast" if settings.variant == "fast" and "fast" in chosen else "standard"
        session.record(VariantChanged(name, settings.variant == "auto", sticky=True, reason="asked for", by="person"))
    for problem in (*place.config.notices, *plugins.problems, *(loaded.problems if loaded else ())):
        session.record(Notice("warning", "start", problem))
    return Opened(session, env, ledger.opened)


def _stored(options: Options, place: Place) -> tuple[Loaded | None, Path, str]:
    """The journal to go on with or to begin, and the session it was forked from."""
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
    loaded = load(path)
    if not options.fork:
        return loaded, path, ""
    return loaded, place.sessions / f"{options.session_id or new_session_id()}.jsonl", path.stem


def _next_seq(loaded: Loaded | None) -> int:
    return loaded.events[-1].seq + 1 if loaded and loaded.events else 1


def rules_of(settings: Settings) -> tuple[Rule, ...]:
    return tuple(
        Rule(rule.decision, rule.tool, rule.match, rule.matches, rule.misses, source="settings")
        for rule in settings.rules
    )


def _strategy(strategy: Strategy) -> StrategyRunner:
    if strategy == "guided":
        from tcoder.agent import guided  # late: only small models need it

        return guided.run
    return loop.run


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
