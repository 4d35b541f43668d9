"""Trees of the work tree as it stands: a private index beside the repository's own, which is never touched.

A sweep over stat values finds out in-process whether anything has changed; git is asked only when it has.
"""

import contextlib
import hashlib
import os
import shutil
import stat
import time
from pathlib import Path

from tcoder.protocol.errors import GitError
from tcoder.workspace.git import Git

MAX_FILE_BYTES = 20_000_000
MAX_UNTRACKED_FILES = 20_000
LIST_TIMEOUT_S = 20.0
RACY_NS = 20_000_000

# What a file or folder looked like: its stat values, or its content where those cannot be relied on yet.
Stamp = tuple[int, int, int, int] | bytes


def _stat_values(path: str) -> tuple[int, int, int, int] | None:
    try:
        status = os.lstat(path)
    except OSError:
        return None
    return (status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino)


def _content(path: str) -> bytes | None:
    """A digest of a file's bytes, a link's target or a folder's names."""
    try:
        mode = os.lstat(path).st_mode
        if stat.S_ISDIR(mode):
            data = "\0".join(sorted(os.listdir(path))).encode("utf-8", "surrogateescape")
        elif stat.S_ISLNK(mode):
            data = os.fsencode(os.readlink(path))
        else:
            data = Path(path).read_bytes()
    except OSError:
        return None
    return hashlib.blake2b(data, digest_size=16).digest() + mode.to_bytes(4, "big")


def _stamp(path: str, began: int) -> Stamp | None:
    """How `path` looks. A file written in the last moments before `began` may be written again within the clock's
    grain, so its content is remembered instead."""
    values = _stat_values(path)
    if values is not None and max(values[:2]) > began - RACY_NS:
        return _content(path)
    return values


def _looks_the_same(path: str, stamp: Stamp) -> bool:
    return (_content(path) if isinstance(stamp, bytes) else _stat_values(path)) == stamp


class Snapshots:
    """Makes git trees of a work tree. `uncovered` says what the last one does not hold, and why."""

    def __init__(self, git: Git, index: Path) -> None:
        self._git = git
        self._environment = {"GIT_INDEX_FILE": str(index)}
        self._index = index
        self._files: dict[str, Stamp] = {}
        self._folders: dict[str, Stamp] = {}
        self._tree = ""
        self.uncovered: tuple[str, ...] = ()

    async def seed(self, user_index: Path | None) -> None:
        """Begin with a copy of the repository's index, so that unchanged files need not be read."""
        if user_index is not None and user_index.is_file():
            with contextlib.suppress(OSError):
                shutil.copyfile(user_index, self._index)
        listed = await self._git.run("ls-files", "-v", "-z", environment=self._environment)
        hidden = [
            entry[2:] for entry in listed.split(b"\0") if entry[:1] and (entry[:1].islower() or entry[:1] == b"S")
        ]
        if hidden:
            # Files that the user told git to overlook are looked at all the same; in this private index only.
            names = b"\0".join(hidden) + b"\0"
            for flag in ("--no-assume-unchanged", "--no-skip-worktree"):
                await self._git.run("update-index", flag, "-z", "--stdin", data=names, environment=self._environment)

    async def take(self) -> str:
        """The tree of the work tree now. Raises `GitError`."""
        if self._tree and not self._changed():
            return self._tree
        began = time.time_ns()
        names = await self._candidates()
        if names:
            await self._git.run(
                "update-index", "-z", "--add", "--remove", "--stdin",
                data=b"\0".join(names) + b"\0", environment=self._environment,
            )  # fmt: skip
        tree = (await self._git.run("write-tree", "--missing-ok", environment=self._environment)).decode().strip()
        await self._remember(names, began)
        self._tree = tree
        return tree

    def _changed(self) -> bool:
        """Whether any known file or folder looks different from when the last tree was made."""
        root = str(self._git.root)
        return not all(
            _looks_the_same(f"{root}/{name}", stamp)
            for table in (self._folders, self._files)
            for name, stamp in table.items()
        )

    async def _candidates(self) -> list[bytes]:
        """Names of files that may differ from the private index, what is too big or too many left out."""
        modified = await self._git.run("ls-files", "-z", "-m", "-d", environment=self._environment)
        uncovered: list[str] = []
        try:
            others = await self._git.run(
                "ls-files", "-z", "-o", "--exclude-standard", environment=self._environment, timeout_s=LIST_TIMEOUT_S
            )
        except GitError as error:
            uncovered.append(f"untracked files ({error})")
            others = b""
        fresh = [name for name in others.split(b"\0") if name]
        if len(fresh) > MAX_UNTRACKED_FILES:
            uncovered.append(f"{len(fresh) - MAX_UNTRACKED_FILES} of {len(fresh)} untracked files")
            fresh = fresh[:MAX_UNTRACKED_FILES]
        names = [*dict.fromkeys(name for name in modified.split(b"\0") if name), *fresh]
        covered = [name for name in names if self._fits(name, uncovered)]
        self.uncovered = tuple(uncovered)
        return covered

    def _fits(self, name: bytes, uncovered: list[str]) -> bool:
        path = os.path.join(os.fsencode(self._git.root), name)
        try:
            status = os.lstat(path)
        except OSError:
            return True  # deleted: that is a change too
        if stat.S_ISDIR(status.st_mode):
            if name.endswith(b"/"):
                uncovered.append(f"nested repository {os.fsdecode(name)}")
                return False
            return True  # a submodule that is tracked
        if not (stat.S_ISREG(status.st_mode) or stat.S_ISLNK(status.st_mode)):
            uncovered.append(f"{os.fsdecode(name)} (not a file)")
            return False
        if status.st_size > MAX_FILE_BYTES:
            uncovered.append(f"{os.fsdecode(name)} ({status.st_size // 1_000_000} MB)")
            return False
        return True

    async def _remember(self, names: list[bytes], began: int) -> None:
        """Stamp what may have changed, and every folder that holds a covered file."""
        fresh = [os.fsdecode(name) for name in names]
        if not self._files:
            listed = await self._git.run("ls-files", "-z", environment=self._environment)
            fresh = [os.fsdecode(name) for name in listed.split(b"\0") if name]
        fresh += [name for name, stamp in self._files.items() if isinstance(stamp, bytes)]
        root = str(self._git.root)
        for name in fresh:
            stamp = _stamp(f"{root}/{name}", began)
            if stamp is None:
                self._files.pop(name, None)
            else:
                self._files[name] = stamp
        folders = {""}
        for name in self._files:
            while name := name.rpartition("/")[0]:
                if name in folders:
                    break
                folders.add(name)
        stamped = {folder: _stamp(f"{root}/{folder}", began) for folder in folders}
        self._folders = {folder: stamp for folder, stamp in stamped.items() if stamp is not None}
