"""Committing what was accepted in a review, and nothing else, as the person's own git would.

The commit is made from a temporary index, so hooks see exactly what is committed. The person's index is locked
meanwhile, as git does for `git commit PATH`, and changed only when there is a commit: then the committed files are
brought up to date in it and what else was staged stays staged.
"""

import asyncio
import contextlib
import os
import shutil
import tempfile
from collections.abc import AsyncGenerator, Mapping, Sequence
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from tcoder.protocol.edits import Cause
from tcoder.protocol.errors import GitError, WorkspaceError
from tcoder.protocol.review import Committed, Review, ReviewFile
from tcoder.workspace.files.paths import quote, unquote
from tcoder.workspace.git.door import Completed, Git
from tcoder.workspace.git.objects import GITLINK, LINK
from tcoder.workspace.git.repository import IN_PROGRESS, git_dir_of
from tcoder.workspace.ledger.ledger import Ledger
from tcoder.workspace.ledger.restore import merge
from tcoder.workspace.ledger.tree import Entry, parse_tree
from tcoder.workspace.review.apply import Side, partial
from tcoder.workspace.review.load import contents_of, refuse_stale
from tcoder.workspace.review.programs import programs_of

LOCK_WAIT_S = 3.0
COMMIT_TIMEOUT_S = 600.0


class Staged(Struct, frozen=True):
    """A path as it is to be committed; `entry` None = it goes."""

    path: str
    entry: Entry | None


async def commit(
    ledger: Ledger,
    review: Review,
    message: str,
    *,
    trusted: bool = True,
    timeout_s: float = COMMIT_TIMEOUT_S,
) -> Committed:
    """Commit the accepted hunks. `trusted` = the repository's hooks, filters and signing may run. A hook that refuses
    is no error: `Committed.commit` is empty then, and everything is as before. Raises `WorkspaceError` or `GitError`
    when it cannot be tried: nothing accepted, a file changed since, a merge in progress, the index locked."""
    root = ledger.git.root
    git_dir = git_dir_of(root)
    if git_dir is None:
        raise WorkspaceError("this folder is in no git repository", "git init, then commit")
    in_progress = next((word for name, word in IN_PROGRESS if word != "bisect" and (git_dir / name).exists()), "")
    if in_progress:
        raise WorkspaceError(f"a {in_progress} is in progress", "finish it with git first")
    if not message.strip():
        raise WorkspaceError("the commit message is empty")
    files = [file for file in review.files if any(hunk.state == "accepted" for hunk in file.hunks)]
    if not files:
        raise WorkspaceError("nothing is accepted", "accept hunks first")
    within = {file.path: module for file in files if (module := ledger.submodule_of(unquote(file.path)))}
    if len(within) == len(files):
        raise WorkspaceError(
            f"what is accepted lies in the submodule {quote(min(within.values()))}", "commit it there, with git"
        )
    files = [file for file in files if file.path not in within]
    await refuse_stale(ledger, review, files)
    git = Git(root, git_dir=git_dir)
    maker = _Maker(ledger, git, git_dir, trusted=trusted, timeout_s=timeout_s)
    async with _locked(git_dir / "index"), _folder() as folder:
        made = await maker.make(review, files, message, folder)
    told = tuple(f"{path} lies in the submodule {quote(module)}: commit it there" for path, module in within.items())
    return replace(made, notices=(*made.notices, *told))


async def refuse_programs(root: Path) -> None:
    """Raise `WorkspaceError` when a commit would run programs that the repository brings along."""
    git_dir = git_dir_of(root)
    if git_dir is None:
        return
    programs = await programs_of(Git(root, git_dir=git_dir), git_dir)
    if programs:
        raise WorkspaceError(
            f"this folder is not trusted, and a commit would run programs of its own: {', '.join(programs)}",
            "look at them; then start with --trust to run them, or use `tcoder commit --no-hooks`",
        )


class _Maker:
    def __init__(self, ledger: Ledger, git: Git, git_dir: Path, *, trusted: bool, timeout_s: float) -> None:
        self._ledger = ledger
        self._git = git
        self._git_dir = git_dir
        self._trusted = trusted
        self._timeout_s = timeout_s

    async def make(self, review: Review, files: list[ReviewFile], message: str, folder: Path) -> Committed:
        blobs = await self._ledger.blobs(contents_of(files))
        head = await self._head()
        index = folder / "index"
        environment = {"GIT_INDEX_FILE": str(index)}
        staged = [one for file in files for one in await self._stage(file, blobs, head)]
        await self._begin_index(index, environment, born=bool(head))
        await _put(self._git, staged, environment)
        expected = (await self._git.run("write-tree", environment=environment)).decode().strip()
        done = await self._run_commit(message, environment)
        output = (done.out + done.err).decode("utf-8", "replace")
        now = await self._head()
        left_out = sum(hunk.state != "accepted" for hunk in review.hunks)
        if not now or now == head:
            return Committed("", output, done.code or 1, left_out=left_out)
        tree = (await self._git.run("rev-parse", "--verify", "--end-of-options", f"{now}^{{tree}}")).decode().strip()
        notices = [] if tree == expected else [await self._what_hooks_changed(expected, tree)]
        if done.code != 0:
            notices.append(f"git ended with exit code {done.code} after the commit")
        base = ""
        try:
            notices += await self._follow(staged, head, now, folder)
            base = await self._next_base(review, files, blobs, folder)
        except WorkspaceError as error:  # the commit is made: that must be said whatever comes after it
            notices.append(f"after the commit: {error}; `git status` shows what is left")
        paths = tuple(sorted({quote(one.path) for one in staged}))
        return Committed(now, output, done.code, paths, left_out, tuple(notices), base)

    async def _run_commit(self, message: str, environment: Mapping[str, str]) -> Completed:
        """The person's git, or, where the repository is not trusted, git without anything of the repository's."""
        command = ("commit", "-F", "-")
        data, timeout_s = message.encode(), self._timeout_s
        if self._trusted:
            return await self._git.run_for_user(*command, data=data, environment=environment, timeout_s=timeout_s)
        command = ("-c", "core.logAllRefUpdates=true", *command, "--no-verify")
        return await self._git.complete(*command, data=data, environment=environment, timeout_s=timeout_s)

    async def _head(self) -> str:
        out = await self._git.run("rev-parse", "--verify", "--quiet", "--end-of-options", "HEAD", accept=(0, 1))
        return out.decode().strip()

    async def _begin_index(self, index: Path, environment: Mapping[str, str], *, born: bool) -> None:
        """A temporary index that holds the last commit; it begins with the person's own, for its stat values."""
        if born:
            with contextlib.suppress(FileNotFoundError):
                shutil.copyfile(self._git_dir / "index", index)
            await self._git.run("read-tree", "--reset", "HEAD", environment=environment)
        else:
            await self._git.run("read-tree", "--empty", environment=environment)

    # -- what is committed

    async def _stage(self, file: ReviewFile, blobs: Mapping[str, bytes], head: str) -> list[Staged]:
        """The accepted hunks of one file on top of the last commit."""
        accepted = {hunk.id for hunk in file.hunks if hunk.state == "accepted"}
        old, new = blobs.get(file.old_id, b""), blobs.get(file.new_id, b"")
        side, moved = partial(file, old, new, accepted)
        path, old_path = unquote(file.path), unquote(file.old_path or file.path)
        committed = await self._committed_at(old_path, head)
        if GITLINK in (file.old_mode, file.new_mode):
            return [Staged(path, Entry(GITLINK, file.new_id) if file.new_mode == GITLINK else None)]
        if side is None:
            return [Staged(old_path, None)] if committed else []
        entry = await self._on_top(file, side, old, committed)
        gone = [Staged(old_path, None)] if moved and committed else []
        return [*gone, Staged(unquote(side.path), entry)]

    async def _on_top(self, file: ReviewFile, side: Side, old: bytes, committed: Entry | None) -> Entry:
        """The side to be committed as git stores it, merged with what is committed if that is not what the review
        began with."""
        path = unquote(side.path)
        wanted = await self._store(path, side.mode, side.data)
        if not file.old_mode or side.mode == LINK:
            if committed and not file.old_mode and committed.oid != wanted:
                raise WorkspaceError(f"{file.path} is committed already, with another content", "refresh the review")
            return Entry(side.mode, wanted)
        if committed is None:
            raise WorkspaceError(
                f"{file.path} was not committed before the session, so a part of it cannot be", "git add it first"
            )
        before = await self._store(path, file.old_mode, old)
        mode = side.mode if side.mode != file.old_mode else committed.mode
        if before == committed.oid:
            return Entry(mode, wanted)
        contents = await self._ledger.blobs([before, wanted, committed.oid])
        data, clean = await merge(self._git, contents[committed.oid], contents[before], contents[wanted])
        if not clean:
            raise WorkspaceError(
                f"{file.path}: accepted hunks are next to changes that were not committed before the session",
                "commit those first",
            )
        return Entry(mode, await self._store(path, "", data))

    async def _store(self, path: str, mode: str, data: bytes) -> str:
        """Store content as `git add` would: through the repository's filters where that is trusted."""
        convert = [f"--path={path}"] if mode and mode != LINK and self._trusted else ["--no-filters"]
        command = ("hash-object", "-w", "--stdin", *convert)
        if not self._trusted or mode in ("", LINK):
            return (await self._git.run(*command, data=data)).decode().strip()
        done = await self._git.run_for_user(*command, data=data, timeout_s=self._timeout_s)
        if done.code != 0:
            hint = f"if it is yours: git config --global --add safe.directory {self._git.root}"
            raise GitError(f"git hash-object: {done.complaint}", hint if "ownership" in done.complaint else "")
        return done.out.decode().strip()

    # -- after the commit

    async def _what_hooks_changed(self, expected: str, tree: str) -> str:
        listed = await self._git.run("diff-tree", "-r", "-z", "--name-only", "--no-renames", expected, tree)
        names = [quote(os.fsdecode(name)) for name in listed.split(b"\0") if name]
        return f"a hook changed what was committed: {', '.join(names[:10])}"

    async def _follow(self, staged: Sequence[Staged], head: str, now: str, folder: Path) -> list[str]:
        """Bring the committed files up to date in the person's index, keeping what else is staged."""
        index = self._git_dir / "index"
        copy = folder / "following"
        environment = {"GIT_INDEX_FILE": str(copy)}
        with contextlib.suppress(FileNotFoundError):
            shutil.copyfile(index, copy)
        notices: list[str] = []
        updates: list[Staged] = []
        for path in sorted({one.path for one in staged}):
            before, after = await self._committed_at(path, head), await self._committed_at(path, now)
            entry = await self._indexed(path, environment)
            if entry == after:
                continue
            if entry == before or entry is None or (entry.oid == _EMPTY.get(len(entry.oid)) and before is None):
                updates.append(Staged(path, after))
            elif (merged := await self._merge_staged(entry, before, after)) is not None:
                updates.append(Staged(path, merged))
            else:
                notices.append(f"{quote(path)} stays staged as it was: it overlaps what was committed")
        await _put(self._git, updates, environment)
        lock = self._git_dir / "index.lock"
        shutil.copyfile(copy, lock)
        with contextlib.suppress(FileNotFoundError):
            shutil.copymode(index, lock)
        lock.replace(index)
        return notices

    async def _committed_at(self, path: str, revision: str) -> Entry | None:
        if not revision:
            return None
        listed = await self._git.run("ls-tree", "-z", "--full-tree", revision, "--", path)
        return next((entry for name, entry in parse_tree(listed) if name == path), None)

    async def _indexed(self, path: str, environment: Mapping[str, str]) -> Entry | None:
        listed = await self._git.run("ls-files", "-s", "-z", "--", path, environment=environment)
        for record in listed.decode("utf-8", "surrogateescape").split("\0"):
            head, _, name = record.partition("\t")
            if name == path:
                mode, oid, _ = head.split(" ")
                return Entry(mode, oid)
        return None

    async def _merge_staged(self, entry: Entry, before: Entry | None, after: Entry | None) -> Entry | None:
        if before is None or after is None or GITLINK in (entry.mode, before.mode, after.mode):
            return None
        contents = await self._ledger.blobs([entry.oid, before.oid, after.oid])
        data, clean = await merge(self._git, contents[entry.oid], contents[before.oid], contents[after.oid])
        return Entry(entry.mode, await self._store("", "", data)) if clean else None

    async def _next_base(
        self, review: Review, files: list[ReviewFile], blobs: Mapping[str, bytes], folder: Path
    ) -> str:
        """The tree from which a later review goes on: the base with what was committed."""
        environment = {"GIT_INDEX_FILE": str(folder / "base")}
        git = self._ledger.git
        await git.run("read-tree", review.base, environment=environment)
        staged: list[Staged] = []
        for file in files:
            accepted = {hunk.id for hunk in file.hunks if hunk.state == "accepted"}
            path, old_path = unquote(file.path), unquote(file.old_path or file.path)
            if GITLINK in (file.old_mode, file.new_mode):
                staged.append(Staged(path, Entry(file.new_mode, file.new_id) if file.new_mode else None))
                continue
            side, moved = partial(file, blobs.get(file.old_id, b""), blobs.get(file.new_id, b""), accepted)
            if side is None or moved:
                staged.append(Staged(old_path, None))
            if side is not None:
                out = await git.run("hash-object", "-w", "--stdin", "--no-filters", data=side.data)
                staged.append(Staged(unquote(side.path), Entry(side.mode, out.decode().strip())))
        await _put(git, staged, environment)
        tree = (await git.run("write-tree", environment=environment)).decode().strip()
        await self._ledger.keep(tree, Cause("checkpoint", "committed"))
        return tree


async def _put(git: Git, staged: Sequence[Staged], environment: Mapping[str, str]) -> None:
    """Set paths in a temporary index; what goes first, since a folder may make room for a file."""
    zero = "0" * (64 if (await git.settings()).get("extensions.objectformat") == "sha256" else 40)
    lines = [
        os.fsencode(f"{one.entry.mode} {one.entry.oid}\t{one.path}" if one.entry else f"0 {zero}\t{one.path}")
        for one in sorted(staged, key=lambda one: one.entry is not None)
    ]
    if lines:
        data = b"".join(line + b"\0" for line in lines)
        await git.run("update-index", "-z", "--index-info", data=data, environment=environment)


_EMPTY = {
    40: "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391",
    64: "473a0f4c3be8a93681a267e3b1e9a7dcda1185436fe141f7749120a303721813",
}


@contextlib.asynccontextmanager
async def _locked(index: Path) -> AsyncGenerator[None]:
    """Hold the index as git does, by its lock file. Raises `WorkspaceError` when somebody else does for longer."""
    lock = index.with_name("index.lock")
    for attempt in range(int(LOCK_WAIT_S / 0.1) + 1):
        try:
            os.close(os.open(lock, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666))
            break
        except FileExistsError as error:
            if attempt * 0.1 >= LOCK_WAIT_S:
                raise WorkspaceError(
                    "the git index is locked by another program", f"wait for it, or remove {lock} if it was killed"
                ) from error
            await asyncio.sleep(0.1)
        except OSError as error:
            raise WorkspaceError(f"the git index cannot be locked: {error.strerror}") from error
    mine = lock.stat().st_ino
    try:
        yield
    finally:
        # After a commit the lock has become the index; another program's lock is not ours to remove.
        with contextlib.suppress(FileNotFoundError):
            if lock.stat().st_ino == mine:
                lock.unlink()


@contextlib.asynccontextmanager
async def _folder() -> AsyncGenerator[Path]:
    with tempfile.TemporaryDirectory(prefix="tcoder-") as folder:
        yield Path(folder)


def draft_message(review: Review) -> str:
    """A commit message by rule, from the accepted hunks: for when no model drafts one."""
    files = [file for file in review.files if any(hunk.state == "accepted" for hunk in file.hunks)]
    words = {"added": "Add", "deleted": "Remove", "renamed": "Rename"}
    kinds = {file.change for file in files}
    verb = words.get(next(iter(kinds)), "Update") if len(kinds) == 1 else "Update"
    names = [file.path.rpartition("/")[2] for file in files]
    if len(names) > 3:
        folders = {file.path.rpartition("/")[0] for file in files}
        where = f" in {next(iter(folders))}" if len(folders) == 1 and next(iter(folders)) else ""
        return f"{verb} {len(names)} files{where}"
    listed = " and ".join(names) if len(names) < 3 else f"{names[0]}, {names[1]} and {names[2]}"
    subject = f"{verb} {listed}"
    return subject if len(subject) <= 72 else f"{verb} {len(names)} files"
