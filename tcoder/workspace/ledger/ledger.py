"""The ledger: every change of the tree as a named patch with its cause, every state worth returning to a checkpoint.

Trees are written beside everything else into the repository's object store (outside git into a bare store in the state
folder) and kept by refs under `refs/tcoder/SESSION/`. The user's HEAD, index, stash, branches, hooks and reflogs are
never touched. A log in the state folder says what happened, so a ledger can be opened again after any end.
"""

import asyncio
import contextlib
import hashlib
import os
import tempfile
from collections.abc import Collection, Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path

from tcoder.protocol.edits import Cause, CauseKind, Checkpoint, Patch
from tcoder.protocol.errors import GitError, WorkspaceError
from tcoder.workspace.files.files import WorkspaceFiles
from tcoder.workspace.files.paths import quote, unquote
from tcoder.workspace.git.door import NO_INDEX, Git, check_ref, common_dir
from tcoder.workspace.git.repository import git_dir_of
from tcoder.workspace.ledger import restore as ledger_restore
from tcoder.workspace.ledger.diff import compare
from tcoder.workspace.ledger.log import CheckpointLine, Log, PatchLine, fold
from tcoder.workspace.ledger.lost import is_made_again
from tcoder.workspace.ledger.refs import Refs, ref_folder
from tcoder.workspace.ledger.restore import ConflictError, Target, differences
from tcoder.workspace.ledger.snapshot import Snapshots
from tcoder.workspace.ledger.sweep import Limits
from tcoder.workspace.ledger.tree import Entry
from tcoder.workspace.ledger.write import change_of, settle_folders, write

__all__ = ["ConflictError", "Ledger", "Limits"]

NOT_OURS: frozenset[CauseKind] = frozenset({"user", "undo", "redo"})
USUAL_MODES = frozenset({0o644, 0o755, 0o664, 0o775})


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


class Ledger:
    """The patches and checkpoints of one session in one work tree."""

    def __init__(self, git: Git, snapshots: Snapshots, refs: Refs, log: Log) -> None:
        self._git = git
        self._snapshots = snapshots
        self._sweep = snapshots.sweep
        self._refs = refs
        self._log = log
        self._files = WorkspaceFiles(git.root)
        self._timeline = fold(log.lines)
        self._recorded = ""
        self._lost: tuple[str, ...] = ()
        self._lock = asyncio.Lock()

    @classmethod
    async def open(cls, root: Path, state_dir: Path, session_id: str, *, limits: Limits | None = None) -> "Ledger":
        """Open the ledger of a session, a new or an old one. Raises `GitError`, and `WorkspaceError` when the session
        is open elsewhere."""
        root = root.resolve()
        folder = ledger_folder(root, state_dir)
        log = Log(folder / f"{ref_folder(session_id)}.jsonl")
        try:
            git, git_dir, own = await find_store(root, folder)
            settings = await git.settings()
            algorithm = "sha256" if settings.get("extensions.objectformat") == "sha256" else "sha1"
            snapshots = Snapshots(git, git_dir, algorithm, limits or Limits())
            ledger = cls(git, snapshots, Refs(git, snapshots.store, log, session_id), log)
            await snapshots.seed(from_index=not own)
            await ledger._resume()
        except BaseException:
            log.close()
            raise
        return ledger

    async def _resume(self) -> None:
        """Go on from where an earlier run stopped: what has changed since is not recorded yet."""
        self._recorded = await self._snapshots.tree()
        if not self._timeline:
            return
        patches = [item for item in self._timeline if isinstance(item, Patch)]
        first = self._timeline[0]
        last = patches[-1].after if patches else first.tree if isinstance(first, Checkpoint) else first.before
        await self._refs.catch_up(self._timeline)
        if last == self._recorded:
            return
        changed = await self._differences(last, self._recorded)
        await self._snapshots.cover(path for path, (_, now) in changed.items() if now is None)
        current = await self._snapshots.take()
        changed = await self._differences(last, current)
        self._sweep.changed.update({path: before for path, (before, _) in changed.items()})
        self._recorded = last

    # -- recording

    async def checkpoint(self, cause: Cause) -> Checkpoint:
        """Keep the tree as it is now. Raises `GitError`, `WorkspaceError`: then there is no checkpoint, and what it was
        to protect must not begin."""
        async with self._lock:
            return self._keep(await self._snapshots.take(), cause)

    def _keep(self, tree: str, cause: Cause) -> Checkpoint:
        number = sum(isinstance(item, Checkpoint) for item in self._timeline) + 1
        made = Checkpoint(f"c{number}", _now(), tree, cause, self.uncovered)
        self._log.append(CheckpointLine(made))
        self._timeline.append(made)
        self._refs.keep(made.id, tree, cause)
        return made

    async def record(self, cause: Cause) -> tuple[Patch, str] | None:
        """What has changed since the last patch (or since the ledger was opened), as a patch of this cause, and its
        unified diff; None when nothing has. Raises `GitError`, `WorkspaceError`."""
        async with self._lock:
            return await self._record(cause)

    async def _record(self, cause: Cause, only: Collection[str] = ()) -> tuple[Patch, str] | None:
        after = await (self._snapshots.take_only(only) if only else self._snapshots.take())
        before = self._recorded
        self._lost = tuple(sorted({quote(path) for path in self._sweep.lost if not is_made_again(path)}))
        if before == after:
            self._sweep.settle()
            return None
        files, diff = await compare(self._git, before, after, files=len(self._sweep.changed))
        number = sum(isinstance(item, Patch) for item in self._timeline) + 1
        patch = Patch(f"p{number}", _now(), cause, files, before, after, lost=self._lost)
        came, went = (tuple(map(quote, names)) for names in (self._sweep.new_folders, self._sweep.gone_folders))
        line = PatchLine(patch, self._unusual_modes(), came, went)
        self._log.append(line)
        self._timeline = fold(self._log.lines)
        self._recorded = after
        self._sweep.settle()
        self._refs.keep(patch.id, after, cause)
        return patch, diff

    def _unusual_modes(self) -> dict[str, tuple[int, int]]:
        """Permission bits of changed files that git does not keep."""
        found: dict[str, tuple[int, int]] = {}
        for path, before in self._sweep.changed.items():
            now = self._sweep.modes.get(path, -1) if path in self._sweep.entries else -1
            then = self._sweep.old_modes.get(path, -1) if before else -1
            if {now, then} - USUAL_MODES - {-1}:
                found[quote(path)] = (then, now)
        return found

    async def cover(self, paths: Iterable[str]) -> None:
        """Say which files tcoder is about to change, relative to the root: they are covered from now on even if
        they are ignored. To be called before the change."""
        async with self._lock:
            covered = await self._snapshots.cover([self._files.resolve(path) for path in paths])
            if covered:
                self._recorded = await self._with(self._recorded, covered)

    async def _with(self, tree: str, entries: Mapping[str, Entry]) -> str:
        """A tree with more files in it."""
        with tempfile.TemporaryDirectory(prefix="tcoder-") as folder:
            environment = {"GIT_INDEX_FILE": f"{folder}/index"}
            await self._git.run("read-tree", check_ref(tree), environment=environment)
            data = b"".join(
                os.fsencode(f"{one.mode} {one.oid}\t{self.tree_path(path)}") + b"\0" for path, one in entries.items()
            )
            await self._git.run("update-index", "-z", "--index-info", data=data, environment=environment)
            return (await self._git.run("write-tree", environment=environment)).decode().strip()

    @property
    def uncovered(self) -> tuple[str, ...]:
        """What the last snapshot does not hold, and why."""
        problem = self._refs.problem
        return (*self._snapshots.uncovered, *((problem,) if problem else ()))

    @property
    def lost(self) -> tuple[str, ...]:
        """Files and folders that git ignores and that had gone when changes were recorded last, whatever can be made
        again left out: they were not covered. Known of names that a look before had seen, not of what lies within an
        ignored folder."""
        return self._lost

    # -- looking

    def timeline(self) -> list[Patch | Checkpoint]:
        """Patches and checkpoints, oldest first."""
        return list(self._timeline)

    @property
    def patches(self) -> tuple[Patch, ...]:
        return tuple(item for item in self._timeline if isinstance(item, Patch))

    async def diff(self, since: str, until: str = "") -> str:
        """A unified diff from a checkpoint, or from before a patch, until another one or now."""
        async with self._lock:
            end = self._tree_of(until) if until else await self._snapshots.take()
            return (await compare(self._git, self._tree_of(since), end))[1]

    async def sides(self, since: str) -> dict[str, tuple[bytes | None, bytes | None]]:
        """The files that differ now from a checkpoint, or from before a patch: what each was and is, None = no file.
        Paths as a patch names them; what is no regular file is left out."""
        async with self._lock:
            changed = await self._differences(self._tree_of(since), await self._snapshots.take())
            regular = {
                path: both for path, both in changed.items() if all(one is None or one.mode[:2] == "10" for one in both)
            }
            ids = {one.oid for both in regular.values() for one in both if one is not None}
            data = await self._snapshots.store.read(ids)
            return {
                quote(path): (data[old.oid] if old else None, data[new.oid] if new else None)
                for path, (old, new) in regular.items()
            }

    async def tree(self, name: str = "") -> str:
        """The git tree of a checkpoint, of the state before a patch, or (empty) of the work tree now."""
        async with self._lock:
            return self._tree_of(name) if name else await self._snapshots.take()

    def tree_path(self, path: str) -> str:
        """Where trees of the ledger have the file at `path`: files inside a submodule lie beside its commit."""
        return self._sweep.tree_path(path)

    def submodule_of(self, path: str) -> str:
        """The submodule that `path` lies in; empty = none."""
        return self._sweep.submodule_of(path)

    def content_ids(self, paths: Iterable[str]) -> dict[str, str]:
        """The object ids of files as the last snapshot found them; empty = no file. Paths as a patch names them."""
        entries = self._sweep.entries
        return {path: entry.oid if (entry := entries.get(unquote(path))) else "" for path in paths}

    async def blobs(self, ids: Iterable[str]) -> dict[str, bytes]:
        """Contents by object id. Raises `GitError`."""
        return await self._snapshots.store.read(ids)

    @property
    def git(self) -> Git:
        """git in the store that holds the trees."""
        return self._git

    async def keep(self, tree: str, cause: Cause) -> Checkpoint:
        """Keep a tree that was made from others as a checkpoint."""
        async with self._lock:
            return self._keep(tree, cause)

    async def write(self, wanted: Mapping[str, tuple[str, bytes] | None], cause: Cause) -> Patch:
        """Give files another content (git's mode and bytes; None = remove), all or none, as a patch. What the user
        changed before is recorded as theirs first. Raises `WorkspaceError`."""
        async with self._lock:
            await self._record(Cause("user", "changed meanwhile"))
            targets: dict[str, Target] = {}
            for path, side in wanted.items():
                if side is None:
                    targets[unquote(path)] = Target(None, None)
                else:
                    mode, data = side
                    targets[unquote(path)] = Target(Entry(mode, self._snapshots.store.id_of("blob", data)), data)
            return await self._put([], targets, cause)

    def _tree_of(self, name: str) -> str:
        item = self._find(name)
        return item.tree if isinstance(item, Checkpoint) else item.before

    def _find(self, name: str) -> Patch | Checkpoint:
        for item in self._timeline:
            if item.id == name:
                return item
        raise WorkspaceError(f"there is no patch or checkpoint {name!r}", "see `tcoder timeline`")

    async def _differences(self, before: str, after: str) -> dict[str, tuple[Entry | None, Entry | None]]:
        trees = (check_ref(before), check_ref(after))
        options = ("-r", "-z", "--raw", "--no-renames")
        return differences(await self._git.run("diff-tree", *options, *trees, environment=NO_INDEX))

    # -- going back

    async def undo(self, patch_id: str = "") -> Patch:
        """Take one patch back, whatever came after it, by a three-way merge; empty = the last one that the agent made.
        That is a patch too, so it can be undone. Raises `ConflictError` when what came after it is in the way; then
        nothing is changed."""
        async with self._lock:
            wanted = self._undoable(patch_id)
            changed = await self._differences(wanted.after, wanted.before)
            return await self._reach([wanted.id], changed, Cause("undo", wanted.id, wanted.cause.turn))

    async def redo(self, patch_id: str = "") -> Patch:
        """Apply a patch again that was undone; empty = the one that was undone last."""
        async with self._lock:
            wanted = self._redoable(patch_id)
            changed = await self._differences(wanted.before, wanted.after)
            return await self._reach([wanted.id], changed, Cause("redo", wanted.id, wanted.cause.turn))

    def _undoable(self, patch_id: str) -> Patch:
        if patch_id:
            wanted = self._find(patch_id)
            if not isinstance(wanted, Patch):
                raise WorkspaceError(f"{patch_id} is a checkpoint, not a patch", "roll back to it instead")
            if wanted.undone:
                raise WorkspaceError(f"{patch_id} is undone already", "redo it, or choose another")
            return wanted
        own = [patch for patch in self.patches if not patch.undone and patch.cause.kind not in NOT_OURS]
        while len(own) > 1 and _takes_back(own[-1], own[-2]):
            del own[-2:]
        if not own:
            raise WorkspaceError("there is nothing to undo")
        return own[-1]

    def _redoable(self, patch_id: str) -> Patch:
        undone = [patch for patch in self.patches if patch.undone and patch.cause.kind not in ("undo", "redo")]
        if patch_id:
            wanted = self._find(patch_id)
            if not isinstance(wanted, Patch) or not wanted.undone:
                raise WorkspaceError(f"{patch_id} was not undone", "see `tcoder timeline`")
            return wanted
        undos = [patch.cause.summary for patch in self.patches if patch.cause.kind == "undo" and not patch.undone]
        last = next((name for name in reversed(undos) if any(patch.id == name for patch in undone)), "")
        if not last:
            raise WorkspaceError("nothing was undone")
        return next(patch for patch in undone if patch.id == last)

    async def rollback(self, checkpoint_id: str) -> Patch:
        """Take back everything that was done since a checkpoint, but for what the user did; that is a patch too, so it
        can be undone. Raises `ConflictError` when the user's changes are in the way; then nothing is changed."""
        async with self._lock:
            at = self._timeline.index(self._find(checkpoint_id))
            await self._record(Cause("user", "changed meanwhile"))
            since = [item for item in self._timeline[at:] if isinstance(item, Patch)]
            current = dict(self._sweep.entries)
            targets: dict[str, Target] = {}
            for patch in reversed(since):
                if patch.cause.kind == "user":
                    continue
                changed = await self._differences(patch.after, patch.before)
                for path, target in (await self._plan(f"rolling back to {checkpoint_id}", current, changed)).items():
                    targets[path] = target
                    if target.entry is None:
                        current.pop(path, None)
                    else:
                        current[path] = target.entry
                    if target.data is not None:
                        self._snapshots.store.write("blob", target.data)
            targets = {path: one for path, one in targets.items() if self._sweep.entries.get(path) != one.entry}
            if not targets:
                raise WorkspaceError(f"nothing but the user's own changes came after {checkpoint_id}")
            ids = [patch.id for patch in since if patch.cause.kind != "user"]
            return await self._put(ids, targets, Cause("rollback", checkpoint_id))

    async def _plan(self, what: str, current: Mapping[str, Entry], changed: ledger_restore.Wanted) -> dict[str, Target]:
        try:
            return await ledger_restore.plan(self._git, self._snapshots.store, current, changed)
        except ConflictError as error:
            raise ConflictError(what, error.conflicts) from error

    async def _reach(self, ids: list[str], changed: ledger_restore.Wanted, cause: Cause) -> Patch:
        await self._record(Cause("user", "changed meanwhile"))
        what = f"{'undoing' if cause.kind == 'undo' else 'redoing'} {cause.summary}"
        targets = await self._plan(what, self._sweep.entries, changed)
        if not targets:
            raise WorkspaceError(f"{what} changes nothing: the files are like that already")
        return await self._put(ids, targets, cause)

    async def _put(self, ids: list[str], targets: Mapping[str, Target], cause: Cause) -> Patch:
        """Write the targets, all or none, and record that as a patch."""
        lines = [line for line in self._log.lines if isinstance(line, PatchLine) and line.patch.id in ids]
        forward = cause.kind == "redo"
        modes = {unquote(path): both[forward] for line in lines for path, both in line.modes.items()}
        blobs = await self._snapshots.store.read(
            entry.oid for path in targets if (entry := self._sweep.entries.get(path)) is not None
        )
        changes = [change_of(self._sweep, path, one, blobs, modes.get(path, -1)) for path, one in targets.items()]
        made = {unquote(folder) for line in lines for folder in line.folders}
        await asyncio.to_thread(write, self._files, changes, made)
        went = {unquote(folder) for line in lines for folder in line.gone}
        with contextlib.suppress(OSError):  # the files are back, which matters more than an empty folder
            await asyncio.to_thread(settle_folders, self._git.root, went, back=not forward)
        recorded = await self._record(cause, targets.keys())
        if recorded is None:
            raise WorkspaceError("the files did not change", "somebody else changed them at the same time")
        return next(patch for patch in self.patches if patch.id == recorded[0].id)

    async def close(self) -> None:
        """Write the refs that are still missing and let the session go."""
        try:
            await self._refs.settle()
        finally:
            self._log.close()
            self._sweep.close()


def ledger_folder(root: Path, state_dir: Path) -> Path:
    """Where the ledgers of a work tree keep their logs, and their store outside git."""
    return state_dir / "ledger" / hashlib.sha256(os.fsencode(root)).hexdigest()[:16]


async def find_store(root: Path, folder: Path) -> tuple[Git, Path, bool]:
    """git for the trees, its directory, and whether it is a store of our own: outside git, and where the repository
    cannot be read or written."""
    git_dir = git_dir_of(root)
    if git_dir is not None and os.access(common_dir(git_dir) / "objects", os.W_OK):
        git = Git(root, git_dir=git_dir)
        try:
            if "core.repositoryformatversion" not in await git.settings():
                # Settings that git left out: it does not know an extension of the repository, such as reftable.
                await git.run("rev-parse", "--git-dir")
        except GitError:
            return *await _own_store(root, folder), True
        return git, git_dir, False
    return *await _own_store(root, folder), True


async def _own_store(root: Path, folder: Path) -> tuple[Git, Path]:
    """A bare store for a folder that is in no repository."""
    store = folder / "store.git"
    if not (store / "HEAD").exists():
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        await Git(folder).run("init", "--quiet", "--bare", "--template=", str(store))
    return Git(root, git_dir=store), store


def _takes_back(patch: Patch, earlier: Patch) -> bool:
    """Whether tcoder itself, in a turn, took back exactly what it had tried: nothing of both is left."""
    within = patch.cause.kind == "rollback" and patch.cause.turn > 0
    return within and (patch.before, patch.after) == (earlier.after, earlier.before)
