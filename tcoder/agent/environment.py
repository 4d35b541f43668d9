"""Everything concrete that a session works with, built once by `app.py` and handed down."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

from tcoder.agent.context import Frame
from tcoder.agent.grants import Grants
from tcoder.agent.outlines import Outlines
from tcoder.agent.reviewing import Reviewer
from tcoder.index import Index
from tcoder.protocol.budget import Budget
from tcoder.protocol.checks import CheckCommand
from tcoder.protocol.handles import Model
from tcoder.protocol.queries import SessionSummary
from tcoder.protocol.variant import ModelVariant, Strategy, VariantName
from tcoder.tools.registry import Registry
from tcoder.workspace.files.files import WorkspaceFiles
from tcoder.workspace.ledger.ledger import Ledger
from tcoder.workspace.shell.shell import Shell


@dataclass(frozen=True)
class Environment:
    """`variants` are the slider's ends and may change when a person chooses another model, which `resolve` looks up.
    `ledger` opens the ledger at its first use, since it asks git; `checks` is how the project is tested, None when
    that is unknown or switched off. `private` is the session's own folder outside of the
    repository. `frame` reads again what stands above the conversation, and puts an outline into
    it; `outlines` has them. `interactive` says whether a person can answer
    questions. `yolo` skips questions but no denials. `sandbox` names what contains commands, empty = nothing does;
    `wary` = something should and does not, so that every command is asked about. `writable` are further folders that
    commands may change."""

    root: Path
    version: str
    model: Model
    variants: dict[VariantName, ModelVariant]
    strategy: Strategy | None
    files: WorkspaceFiles
    index: Index
    runner: Shell
    ledger: Callable[[], Awaitable[Ledger]]
    tools: Registry
    grants: Grants
    reviewer: Reviewer
    budget: Budget
    resolve: Callable[[str], dict[VariantName, ModelVariant]]
    stored_sessions: Callable[[], tuple[SessionSummary, ...]]
    private: Path | None = None
    frame: Callable[[str], Frame] | None = None
    outlines: Outlines | None = None
    checks: CheckCommand | None = None
    checks_timeout_s: float = 900.0
    max_attempts: int = 5
    interactive: bool = False
    yolo: bool = False
    sandbox: str = ""
    network: bool = False
    trusted: bool = False
    wary: bool = False
    writable: tuple[str, ...] = ()
