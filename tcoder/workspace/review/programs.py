"""What a commit would run that a repository brings along: its hooks, and programs that its own settings name. What the
person has configured for all repositories is theirs and not listed."""

import os
from pathlib import Path

from tcoder.workspace.git.door import Git, common_dir

HOOKS = (
    "pre-commit",
    "prepare-commit-msg",
    "commit-msg",
    "post-commit",
    "post-index-change",
    "reference-transaction",
)
SETTINGS = ("core.fsmonitor", "gpg.program", "gc.recentobjectshook", "core.sshcommand")
SWITCHES = frozenset({"", "true", "false", "yes", "no", "on", "off", "0", "1"})


async def programs_of(git: Git, git_dir: Path) -> tuple[str, ...]:
    """Names of hooks and settings of the repository that a commit in it would run, sorted. Reading them runs nothing.
    Raises `GitError`."""
    listed = await git.run("config", "--null", "--show-scope", "--list")
    fields = listed.decode("utf-8", "surrogateescape").split("\0")
    hooks: tuple[str, str] = ("", "")
    found: set[str] = set()
    for scope, pair in zip(fields[::2], fields[1::2], strict=False):
        key, _, value = pair.partition("\n")
        if key == "core.hookspath" and scope != "command":
            hooks = (scope, value)
        if scope in ("local", "worktree") and _runs(key, value):
            found.add(key)
    scope, folder = hooks
    if scope in ("", "local", "worktree"):
        place = git.root / os.path.expanduser(folder) if folder else common_dir(git_dir) / "hooks"
        found |= {name for name in HOOKS if os.access(place / name, os.X_OK)}
    return tuple(sorted(found))


def _runs(key: str, value: str) -> bool:
    """Whether a setting names a program that a commit may start."""
    if value.lower() in SWITCHES:
        return False
    section, _, rest = key.partition(".")
    variable = rest.rpartition(".")[2]
    if section == "filter":
        return variable in ("clean", "process")
    return key in SETTINGS or (section == "gpg" and variable in ("program", "defaultkeycommand"))
