"""Refs that keep the ledger's trees from being collected: one commit a patch or checkpoint, each on top of the last, so
that `git show refs/tcoder/SESSION/p3` shows the patch. They are written behind the caller's back: the log knows the
trees already, and a ref that is missing is made up for at the next start."""

import asyncio
import contextlib
import hashlib
import os
import re
import time
from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

from tcoder.protocol.edits import Cause, Checkpoint, Patch
from tcoder.protocol.errors import GitError
from tcoder.workspace.git.door import Git, common_dir
from tcoder.workspace.git.objects import ObjectStore
from tcoder.workspace.ledger.log import Log

PREFIX = "refs/tcoder/"
STALE_LOCK_S = 1.0
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_-]{0,99}")


class Kept(Struct, frozen=True):
    """A tree that is to be kept under a name, with the objects that must be on the disk before."""

    name: str
    tree: str
    message: str
    unsynced: tuple[str, ...]


def ref_folder(session_id: str) -> str:
    """The part of a session's refs after `refs/tcoder/`: its id, or a digest of one that git would not take."""
    if _NAME.fullmatch(session_id):
        return session_id
    return hashlib.sha256(session_id.encode("utf-8", "surrogateescape")).hexdigest()[:16]


class Refs:
    """Writes the refs of one session, in order, in the background."""

    def __init__(self, git: Git, store: ObjectStore, log: Log, session_id: str) -> None:
        self._git = git
        self._store = store
        self._log = log
        self._folder = f"{PREFIX}{ref_folder(session_id)}"
        self._waiting: list[Kept] = []
        self._task: asyncio.Task[None] | None = None
        self._parent = ""
        self.problem = ""

    async def catch_up(self, timeline: list[Patch | Checkpoint]) -> None:
        """Find where an earlier run stopped, and make up for the refs that it could not write. Raises `GitError`."""
        listed = await self._git.run("for-each-ref", "--format=%(refname) %(objectname)", "--", self._folder)
        refs = dict(line.split(" ") for line in listed.decode().split("\n") if line)
        for item in timeline:
            commit = refs.get(f"{self._folder}/{item.id}")
            if commit is not None and not self._waiting:
                self._parent = commit
            elif commit is None:
                self.keep(item.id, item.after if isinstance(item, Patch) else item.tree, item.cause)

    def keep(self, name: str, tree: str, cause: Cause) -> None:
        """Keep a tree under `refs/tcoder/SESSION/NAME`."""
        self._waiting.append(Kept(name, tree, _message(name, cause), self._store.take_unsynced()))
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._write())

    async def _write(self) -> None:
        while self._waiting:
            batch, self._waiting = self._waiting, []
            try:
                await self._write_batch(batch)
            except (GitError, OSError) as error:
                self.problem = f"checkpoints against git's clean-up after two weeks ({error})"
                self._waiting[:0] = batch
                return
            self.problem = ""

    async def _write_batch(self, batch: list[Kept]) -> None:
        parent = self._parent
        refs: dict[str, str] = {}
        for kept in batch:
            parent = self._store.commit(kept.tree, [parent] if parent else [], kept.message, int(time.time()))
            refs[kept.name] = parent
        unsynced = [place for kept in batch for place in kept.unsynced]
        await asyncio.to_thread(self._sync, [*unsynced, *self._store.take_unsynced()])
        git_dir = self._git.git_dir
        if git_dir is None or (await self._git.settings()).get("extensions.refstorage", "files") != "files":
            commands = "".join(f"update {self._folder}/{name} {commit}\n" for name, commit in refs.items())
            await self._git.run("update-ref", "--no-deref", "--stdin", data=commands.encode())
        else:
            await asyncio.to_thread(write_refs, common_dir(git_dir) / self._folder, refs)
        self._parent = parent

    def _sync(self, objects: list[str]) -> None:
        """First what a ref will name, then the log, which must know of every ref."""
        self._store.sync(objects)
        self._log.sync()

    async def settle(self) -> None:
        """Wait until every ref is written, as far as that is possible."""
        if self._task is not None:
            await self._task
        if self._waiting:
            await self._write()


def write_refs(folder: Path, refs: Mapping[str, str]) -> None:
    """Write refs as git does where each is a file, without a process: into its lock, flushed, then renamed. Blocks;
    raises `OSError`, also when somebody else holds a lock."""
    folder.mkdir(parents=True, exist_ok=True)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    for name, commit in refs.items():
        lock = folder / f"{name}.lock"
        _outwait(lock)
        fd = os.open(lock, flags, 0o666)
        try:
            with os.fdopen(fd, "wb") as file:
                file.write(f"{commit}\n".encode())
                file.flush()
                os.fsync(fd)
            lock.replace(folder / name)
        except OSError:
            lock.unlink(missing_ok=True)
            raise


def _outwait(lock: Path) -> None:
    """Give a lock time to go, and remove one that stays as it is: git packs refs in less, the session is nobody
    else's, so it was left by a tcoder that was killed."""
    until = time.monotonic() + STALE_LOCK_S
    with contextlib.suppress(FileNotFoundError):
        while time.time() - lock.stat().st_mtime < STALE_LOCK_S:
            if time.monotonic() > until:
                return
            time.sleep(0.02)
        lock.unlink()


def _message(name: str, cause: Cause) -> str:
    facts = [f"turn {cause.turn}" if cause.turn else "", f"attempt {cause.attempt}" if cause.attempt else ""]
    facts.append(f"call {cause.call_id}" if cause.call_id else "")
    subject = f"{name} {cause.kind}: {cause.summary}".split("\n")[0][:120]
    body = ", ".join(fact for fact in facts if fact)
    return f"{subject}\n\n{body}".rstrip()
