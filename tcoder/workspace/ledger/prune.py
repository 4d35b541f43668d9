"""Forgetting old sessions: their refs and logs, by a rule that the user sets, and never while one is open here."""

import fcntl
import os
import time
from pathlib import Path

from msgspec import Struct

from tcoder.workspace.git.door import Git
from tcoder.workspace.ledger.ledger import find_store, ledger_folder
from tcoder.workspace.ledger.refs import PREFIX

DAY_S = 86_400


class Rule(Struct, frozen=True):
    """What is kept: sessions that were used in the last `days`, and of those no more than `sessions`."""

    days: float = 30
    sessions: int = 200


async def prune(root: Path, state_dir: Path, rule: Rule) -> tuple[str, ...]:
    """Remove the ledgers of old sessions of a work tree; gives their names. Nothing is removed while any session of it
    is open. Raises `GitError`, `WorkspaceError`."""
    root = root.resolve()
    folder = ledger_folder(root, state_dir)
    logs = sorted(folder.glob("*.jsonl"), key=lambda log: log.stat().st_mtime, reverse=True)
    if not logs or any(_is_open(log) for log in logs):
        return ()
    oldest = time.time() - rule.days * DAY_S
    kept = [log for log in logs if log.stat().st_mtime >= oldest][: max(rule.sessions, 0)]
    old = [log for log in logs if log not in kept]
    if not old:
        return ()
    git, _, _ = await find_store(root, folder)
    for log in old:
        await _remove_refs(git, log.stem)
        log.unlink()
    return tuple(sorted(log.stem for log in old))


def _is_open(log: Path) -> bool:
    fd = os.open(log, os.O_RDONLY | os.O_CLOEXEC)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(fd)
    return False


async def _remove_refs(git: Git, session: str) -> None:
    listed = await git.run("for-each-ref", "--format=delete %(refname)", "--", f"{PREFIX}{session}/")
    if listed:
        await git.run("update-ref", "--no-deref", "--stdin", data=listed)
