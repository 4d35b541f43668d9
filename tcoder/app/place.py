"""Where a run happens: the repository, its settings, whether it is trusted, its stored sessions."""

import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from tcoder.agent.journal import project_folder
from tcoder.agent.stored import journals
from tcoder.app.options import Options
from tcoder.config import Config, Settings
from tcoder.config import load as load_config
from tcoder.protocol.errors import UsageError
from tcoder.workspace.git import repository

if TYPE_CHECKING:
    from tcoder.plugins.trust import Fingerprint

MAX_TOLD = 20


@dataclass(frozen=True)
class Place:
    """Where a run happens: the repository, its settings, its stored sessions."""

    root: Path
    config: Config
    trusted: bool
    untrusted: "Fingerprint | None" = None
    """What the folder would run, as it is shown to the person who is asked for trust."""

    @property
    def asks_trust(self) -> bool:
        """Whether the folder has settings of its own that nobody has said yes to."""
        return not self.trusted and (self.root / ".tcoder" / "config.toml").exists()

    def trust(self) -> None:
        """Trust the folder as it was shown. Raises `UsageError` when it cannot be."""
        from tcoder.plugins.trust import TrustStore  # late: most repositories have nothing to trust

        TrustStore(self.config.folders.state / "trust.json").trust(self.root, self.untrusted)

    def trusts_programs(self) -> bool:
        """Whether programs that the repository brings along may run, as it is now. Reads the folder."""
        from tcoder.plugins.trust import TrustStore  # late: only a commit asks

        return self.trusted or TrustStore(self.config.folders.state / "trust.json").is_trusted(self.root)

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
        raise UsageError(
            f"{options.path} is not a folder", "`tcoder --help` lists the commands; a task goes behind --task"
        )
    root = repository.find_root(start.resolve())
    user_file = Path(options.config_file) if options.config_file else None
    folders_only = load_config(os.environ, {})
    trusted = _is_trusted(root, folders_only.folders.state, now=options.trust)
    config = load_config(
        os.environ, options.settings(), project=root, trusted=trusted, user_file=user_file, profile=options.profile
    )
    if trusted or not (root / ".tcoder" / "config.toml").exists():
        return Place(root, config, trusted)
    from tcoder.plugins.trust import TrustStore, fingerprint  # late: most repositories have nothing to trust

    shown = fingerprint(root)
    changes = TrustStore(folders_only.folders.state / "trust.json").changes(root)
    told = [f"not trusted: {change}" for change in changes[:MAX_TOLD]]
    if len(changes) > MAX_TOLD:
        told.append(f"not trusted: and {len(changes) - MAX_TOLD} more")
    return Place(root, replace(config, notices=(*config.notices, *told)), trusted, shown)


def _is_trusted(root: Path, state: Path, *, now: bool) -> bool:
    if not now and not (root / ".tcoder" / "config.toml").exists():
        return False
    from tcoder.plugins.trust import TrustStore  # late: most repositories have nothing to trust

    store = TrustStore(state / "trust.json")
    if now:
        store.trust(root)
    return store.is_trusted(root)


def new_session_id() -> str:
    """Sortable by time, unique without asking anybody."""
    return f"{time.strftime('%Y%m%d-%H%M%S', time.gmtime())}-{os.urandom(3).hex()}"


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
