"""The ledger: every change of the tree as a named patch with its cause, every state worth returning to a checkpoint.

Trees live in the repository's object store (outside git in a bare store in the state folder) and are kept from being
collected by refs under `refs/tcoder/SESSION/`. The user's HEAD, index, stash, branches, hooks and reflogs are never
touched. What happened is told to the session's journal; the ledger is given it again when it is opened later.
"""

import asyncio
import hashlib
import os
import tempfile
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from msgspec.structs import replace

from tcoder.protocol.edits import Cause, ChangeKind, Checkpoint, FileChange, Patch
from tcoder.protocol.errors import WorkspaceError
from tcoder.workspace import restore
from tcoder.workspace.git import Git, check_ref
from tcoder.workspace.repository import git_dir_of
from tcoder.workspace.snapshot import Snapshots

IDENTITY = {
    "GIT_AUTHOR_NAME": "tcoder",
    "GIT_AUTHOR_EMAIL": "tcoder@localhost",
    "GIT_COMMITTER_NAME": "tcoder",
    "GIT_COMMITTER_EMAIL": "tcoder@localhost",
}
KINDS: dict[str, ChangeKind] = {"A": "added", "M": "modified", "D": "deleted", "T": "mode", "R": "renamed"}
MAX_DIFF_BYTES = 400_000


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


class Ledger:
    """The patches and checkpoints of one session in one work tree."""

    def __init__(self, git: Git, snapshots: Snapshots, session_id: str, known: Sequence[Patch | Checkpoint]) -> None:
        self._git = git
        self._snapshots = snapshots
        self._session_id = session_id
        self._patches = {item.id: item for item in known if isinstance(item, Patch)}
        self._checkpoints = {item.id: item for item in known if isinstance(item, Checkpoint)}
        self._tree = ""
        self._lock = asyncio.Lock()
        self._keeping: set[asyncio.Task[None]] = set()

    @classmethod
    async def open(
        cls, root: Path, state_dir: Path, session_id: str, known: Sequence[Patch | Checkpoint] = ()
    ) -> "Ledger":
        """Open the ledger of a session; `known` is what its journal already holds. Raises `GitError`."""
        folder = state_dir / "ledger"
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        own = git_dir_of(root)
        if own is None:
            git = await _own_store(root, folder)
        else:
            git = Git(root)
        index = Path(tempfile.mkstemp(prefix=f"{session_id}-", suffix=".index", dir=folder)[1])
        index.unlink()
        snapshots = Snapshots(git, index)
        user_index = own / "index" if own else None
        await snapshots.seed(user_index)
        ledger = cls(git, snapshots, session_id, known)
        ledger._index = index
        return ledger

    _index: Path

    # -- recording

    async def checkpoint(self, cause: Cause) -> Checkpoint:
        """Keep the tree as it is now. Raises `GitError`."""
        async with self._lock:
            tree = await self._take()
            made = Checkpoint(f"c{len(self._checkpoints) + 1}", _now(), tree, cause, self._snapshots.uncovered)
            self._checkpoints[made.id] = made
            self._keep(made.id, tree, cause)
            return made

    async def record(self, cause: Cause) -> tuple[Patch, str] | None:
        """What has changed since the last look at the tree, as a patch of this cause, and its unified diff; None when
        nothing has. Raises `GitError`."""
        async with self._lock:
            before = self._tree or await self._take()
            after = await self._take()
            if before == after:
                return None
            return await self._record(before, after, cause)

    async def _take(self) -> str:
        self._tree = await self._snapshots.take()
        return self._tree

    async def _record(self, before: str, after: str, cause: Cause) -> tuple[Patch, str]:
        files, diff = await self._compare(before, after)
        patch = Patch(f"p{len(self._patches) + 1}", _now(), cause, files, before, after)
        self._patches[patch.id] = patch
        self._keep(patch.id, after, cause)
        return patch, diff

    def _keep(self, name: str, tree: str, cause: Cause) -> None:
        """Protect a tree from garbage collection, without anybody waiting for it."""
        task = asyncio.create_task(self._write_ref(name, tree, cause))
        self._keeping.add(task)
        task.add_done_callback(self._keeping.discard)

    async def _write_ref(self, name: str, tree: str, cause: Cause) -> None:
        message = f"{cause.kind}: {cause.summary}"[:200]
        commit = await self._git.run("commit-tree", tree, "-m", message, environment=IDENTITY)
        await self._git.run("update-ref", f"refs/tcoder/{self._session_id}/{name}", commit.decode().strip())

    # -- looking

    @property
    def patches(self) -> tuple[Patch, ...]:
        return tuple(self._patches.values())

    async def diff(self, since: str, until: str = "") -> str:
        """A unified diff from a checkpoint, or from before a patch, until another or now."""
        async with self._lock:
            end = self._tree_of(until) if until else await self._take()
            return (await self._compare(self._tree_of(since), end))[1]

    def _tree_of(self, name: str) -> str:
        if name in self._checkpoints:
            return self._checkpoints[name].tree
        if name in self._patches:
            return self._patches[name].before
        raise WorkspaceError(f"there is no patch or checkpoint {name!r}", "see `tcoder timeline`")

    async def _compare(self, before: str, after: str) -> tuple[tuple[FileChange, ...], str]:
        """Files that differ between two trees, and the unified diff."""
        options = ("--no-ext-diff", "--no-textconv", "-r", "-M", "--no-commit-id")
        trees = (check_ref(before), check_ref(after))
        summary = await self._git.run("diff-tree", *options, "-z", "--raw", "--numstat", *trees)
        diff = await self._git.run("diff-tree", *options, "-p", *trees)
        text = diff[:MAX_DIFF_BYTES].decode("utf-8", "replace")
        if len(diff) > MAX_DIFF_BYTES:
            text += f"\n… {len(diff) - MAX_DIFF_BYTES} more bytes\n"
        return _file_changes(summary), text

    # -- going back

    async def undo(self, patch_id: str = "") -> Patch:
        """Take one patch back, whatever came after it, by a three-way merge; that is a patch too, so it can be undone.
        Raises `WorkspaceError` when what came after it is in the way; then nothing is changed."""
        wanted = self._undoable(patch_id)
        return await self._reapply(wanted, wanted.after, wanted.before, "undo")

    async def redo(self, patch_id: str = "") -> Patch:
        """Apply a patch again that was undone."""
        undone = [patch for patch in self._patches.values() if patch.undone]
        wanted = self._patches.get(patch_id) if patch_id else (undone[-1] if undone else None)
        if wanted is None or not wanted.undone:
            raise WorkspaceError(f"{patch_id or 'nothing'} was not undone", "see `tcoder timeline`")
        return await self._reapply(wanted, wanted.before, wanted.after, "redo")

    def _undoable(self, patch_id: str) -> Patch:
        own = [p for p in self._patches.values() if not p.undone and p.cause.kind not in ("user", "undo", "redo")]
        if patch_id:
            wanted = self._patches.get(patch_id)
            if wanted is None:
                raise WorkspaceError(f"there is no patch {patch_id!r}", "see `tcoder timeline`")
            if wanted.undone:
                raise WorkspaceError(f"{patch_id} is undone already", "redo it, or choose another")
            return wanted
        if not own:
            raise WorkspaceError("there is nothing to undo")
        return own[-1]

    async def _reapply(self, wanted: Patch, old: str, new: str, kind: str) -> Patch:
        async with self._lock:
            await self._record_strays()
            current = self._tree
            merged = await restore.merge(self._git, current, old, new)
            await restore.write_tree(self._git, current, merged)
            after = await self._take()
            cause = Cause("undo" if kind == "undo" else "redo", wanted.id, wanted.cause.turn)
            self._patches[wanted.id] = replace(wanted, undone=kind == "undo")
            patch, _ = await self._record(current, after, cause)
            return patch

    async def rollback(self, checkpoint_id: str) -> Patch:
        """Bring the files back to a checkpoint. What the user made since stays; it is a patch, so it can be undone."""
        async with self._lock:
            await self._record_strays()
            current = self._tree
            target = self._tree_of(checkpoint_id)
            keep = self._made_by_user(target)
            await restore.write_tree(self._git, current, target, keep=keep)
            after = await self._take()
            if after == current:
                raise WorkspaceError(f"the files are as at {checkpoint_id} already")
            patch, _ = await self._record(current, after, Cause("rollback", checkpoint_id))
            return patch

    def _made_by_user(self, target: str) -> frozenset[str]:
        users = (patch for patch in self._patches.values() if patch.cause.kind == "user" and patch.before != target)
        return frozenset(change.path for patch in users for change in patch.files if change.change == "added")

    async def _record_strays(self) -> None:
        """Before anything is put back, what changed unnoticed becomes a patch of the user's, so nothing can be lost."""
        before = self._tree or await self._take()
        after = await self._take()
        if before != after:
            await self._record(before, after, Cause("user", "changed meanwhile"))

    async def close(self) -> None:
        """Wait for the refs that are being written and remove the private index."""
        if self._keeping:
            await asyncio.gather(*self._keeping, return_exceptions=True)
        self._index.unlink(missing_ok=True)


async def _own_store(root: Path, folder: Path) -> Git:
    """A bare store for a folder that is in no repository."""
    store = folder / f"{hashlib.sha256(os.fsencode(root)).hexdigest()[:16]}.git"
    git = Git(root, git_dir=store)
    if not (store / "HEAD").exists():
        await Git(folder).run("init", "--quiet", "--bare", "--template=", str(store))
        (store / "info").mkdir(exist_ok=True)
    return git


def _file_changes(summary: bytes) -> tuple[FileChange, ...]:
    """Parse `diff-tree -z --raw --numstat`: first the raw records, then the counts."""
    fields = summary.decode("utf-8", "surrogateescape").split("\0")
    kinds: dict[str, tuple[ChangeKind, str]] = {}
    changes: list[FileChange] = []
    position = 0
    while position < len(fields) and fields[position]:
        field = fields[position]
        if field.startswith(":"):
            status = field.split(" ")[-1]
            renamed = status[0] in "RC"
            path = fields[position + 2] if renamed else fields[position + 1]
            old_path = fields[position + 1] if renamed else ""
            modes = field[1:].split(" ")[:2]
            kind = KINDS.get(status[0], "modified")
            if status[0] == "M" and modes[0] != modes[1]:
                kind = "mode"
            kinds[path] = (kind, old_path)
            position += 3 if renamed else 2
            continue
        added, removed, path = field.split("\t", 2)
        if not path:
            path = fields[position + 2]
            position += 2
        kind, old_path = kinds.get(path, ("modified", ""))
        counts = (0 if added == "-" else int(added), 0 if removed == "-" else int(removed))
        changes.append(FileChange(path, kind, *counts, old_path=old_path))
        position += 1
    return tuple(changes)
