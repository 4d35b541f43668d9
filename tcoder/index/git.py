"""git, read-only and hardened: what a repository configures never runs, nothing is locked, nothing is fetched."""

import os
import subprocess
from pathlib import Path

_SETTINGS = (
    "core.fsmonitor=false",
    "core.hooksPath=/dev/null",
    "core.untrackedCache=false",
    "core.quotePath=false",
    "core.pager=cat",
    "core.sshCommand=false",
    "core.alternateRefsCommand=",
    "credential.helper=",
    "protocol.allow=never",
    "log.showSignature=false",
    "log.mailmap=false",
    "diff.external=",
    "submodule.recurse=false",
    "gc.auto=0",
)
_ENVIRONMENT = {
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_CONFIG_NOSYSTEM": "1",
    "LC_ALL": "C",
}
_KEPT = ("PATH", "HOME", "TMPDIR", "XDG_CONFIG_HOME")


def git(root: Path, *arguments: str, data: bytes | None = None, timeout_s: float = 30.0) -> bytes | None:
    """What git prints, or None when it fails, is missing or takes too long: the index then does without."""
    options = [option for setting in _SETTINGS for option in ("-c", setting)]
    environment = {name: os.environ[name] for name in _KEPT if name in os.environ} | _ENVIRONMENT
    try:
        done = subprocess.run(
            ["git", "--no-pager", *options, *arguments],
            cwd=root,
            env=environment,
            input=data if data is not None else b"",
            capture_output=True,
            timeout=timeout_s,
            start_new_session=True,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout if done.returncode == 0 else None
