"""What kind of place a folder is."""

import asyncio
import contextlib
import os
import stat
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from tcoder.protocol.errors import GitError
from tcoder.workspace.git.door import Git, common_dir

MAX_POINTER_BYTES = 4096
COUNT_TIMEOUT_S = 5.0
IN_PROGRESS = (
    ("rebase-merge", "rebase"),
    ("rebase-apply", "rebase"),
    ("MERGE_HEAD", "merge"),
    ("CHERRY_PICK_HEAD", "cherry-pick"),
    ("REVERT_HEAD", "revert"),
    ("BISECT_LOG", "bisect"),
)


class RepositoryInfo(Struct, frozen=True):
    """A work tree. `branch` is empty when detached; `commit` is empty when unborn. `in_progress` is `merge`, `rebase`,
    `cherry-pick`, `revert`, `bisect` or empty. Counts are of files, -1 = not counted in time. `problem` says why git
    cannot be used here although there is a `.git`. `wide` says why this is no project folder, so that a person is
    asked before it is walked."""

    root: str
    is_git: bool
    bare: bool = False
    branch: str = ""
    commit: str = ""
    in_progress: str = ""
    staged: int = -1
    unstaged: int = -1
    untracked: int = -1
    conflicted: int = -1
    linked: bool = False
    submodules: int = 0
    problem: str = ""
    wide: str = ""

    @property
    def detached(self) -> bool:
        return self.is_git and not self.branch

    @property
    def unborn(self) -> bool:
        return self.is_git and not self.commit

    @property
    def dirty(self) -> bool:
        return max(self.staged, self.unstaged, self.untracked, self.conflicted) > 0


def find_root(start: Path) -> Path:
    """The work tree around `start`: the nearest folder with a `.git`, else `start` itself. An empty folder of that
    name is none: a sandbox that was killed may have left it behind."""
    for folder in (start, *start.parents):
        entry = folder / ".git"
        if entry.exists() and not is_empty_folder(entry):
            return folder
    return start


def is_empty_folder(path: Path) -> bool:
    """Whether `path` is a folder within reach that has nothing in it."""
    try:
        return path.is_dir() and not any(path.iterdir())
    except OSError:
        return False


def git_dir_of(root: Path) -> Path | None:
    """The git directory of a work tree, also of a linked one or a submodule; None outside git or when it cannot be
    read."""
    entry = root / ".git"
    with contextlib.suppress(OSError):
        if entry.is_dir():
            return entry if (entry / "HEAD").exists() else None
        fd = os.open(entry, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(fd, "rb") as file:
            if not stat.S_ISREG(os.fstat(fd).st_mode):
                return None
            text = file.read(MAX_POINTER_BYTES).decode("utf-8", "surrogateescape")
        name, _, target = text.partition(":")
        if name.strip() == "gitdir":
            pointed = (root / target.strip()).resolve()
            return pointed if (pointed / "HEAD").exists() else None
    return None


def is_bare(folder: Path) -> bool:
    """Whether a folder is itself a git directory, such as a bare repository."""
    return all((folder / name).exists() for name in ("HEAD", "objects", "refs")) and not (folder / ".git").exists()


def head_of(git_dir: Path) -> str:
    """The commit that is checked out, read without a process; empty when there is none or it is kept otherwise."""
    with contextlib.suppress(OSError, UnicodeDecodeError):
        head = (git_dir / "HEAD").read_text("ascii").strip()
        if not head.startswith("ref: "):
            return head
        name = head.removeprefix("ref: ")
        for folder in dict.fromkeys((git_dir, common_dir(git_dir))):
            with contextlib.suppress(FileNotFoundError, NotADirectoryError):
                return (folder / name).read_text("ascii").strip()
            with contextlib.suppress(FileNotFoundError):
                for line in (folder / "packed-refs").read_text("utf-8", "replace").split("\n"):
                    if line.endswith(f" {name}"):
                        return line.split(" ")[0]
    return ""


def wide_folder(root: Path) -> str:
    """Why a folder is too wide to be a project, or empty."""
    if root == Path("/"):
        return "this is the root of the file system"
    with contextlib.suppress(RuntimeError):
        home = Path.home()
        if root == home:
            return "this is your home folder"
        if root in home.parents:
            return "your home folder is inside this one"
    return ""


async def describe(root: Path) -> RepositoryInfo:
    """What `root` is, within `COUNT_TIMEOUT_S`. Never raises for a repository in a strange state: `problem` says."""
    wide = wide_folder(root)
    git_dir = git_dir_of(root)
    if git_dir is None:
        problem = f"{root / '.git'} cannot be used as a repository" if os.path.lexists(root / ".git") else ""
        return RepositoryInfo(str(root), False, bare=is_bare(root), wide=wide, problem=problem)
    git = Git(root, git_dir=git_dir)
    try:
        listed = await git.run(
            "status", "--porcelain=v2", "--branch", "-z", "--ignore-submodules=dirty", timeout_s=COUNT_TIMEOUT_S
        )
        info = _parse_status(root, listed.decode("utf-8", "surrogateescape"))
    except GitError as error:
        info = RepositoryInfo(str(root), True, commit=await asyncio.to_thread(head_of, git_dir), problem=str(error))
    in_progress = next((word for name, word in IN_PROGRESS if (git_dir / name).exists()), "")
    linked = git_dir != root / ".git"
    return replace(info, in_progress=in_progress, linked=linked, wide=wide)


def _parse_status(root: Path, listed: str) -> RepositoryInfo:
    branch = commit = ""
    staged = unstaged = untracked = conflicted = submodules = 0
    records = iter(listed.split("\0"))
    for record in records:
        kind = record[:1]
        if record.startswith("# branch.oid "):
            commit = record.removeprefix("# branch.oid ").removeprefix("(initial)")
        elif record.startswith("# branch.head "):
            branch = record.removeprefix("# branch.head ").removeprefix("(detached)")
        elif kind in ("1", "2"):
            staged += record[2] != "."
            unstaged += record[3] != "."
            submodules += record[5] == "S"
            if kind == "2":
                next(records, "")  # the name before the move
        elif kind == "u":
            conflicted += 1
        elif kind == "?":
            untracked += 1
    return RepositoryInfo(
        str(root), True, branch=branch, commit=commit, staged=staged, unstaged=unstaged, untracked=untracked,
        conflicted=conflicted, submodules=submodules,
    )  # fmt: skip
