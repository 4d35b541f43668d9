"""Snapshots of a work tree as git trees, beside the repository's own index, which is never touched.

A snapshot sweeps stat values in a thread and asks git for one thing only: which of the names that are new it ignores.
"""

import asyncio
import os
import time
from collections.abc import Collection, Iterable
from pathlib import Path

from tcoder.protocol.errors import GitError, WorkspaceError
from tcoder.workspace.files.paths import quote
from tcoder.workspace.git.door import Git, common_dir
from tcoder.workspace.git.objects import GITLINK, Algorithm, ObjectStore
from tcoder.workspace.git.repository import git_dir_of, head_of
from tcoder.workspace.ledger import seed as ledger_seed
from tcoder.workspace.ledger.sweep import Found, Limits, Sweep
from tcoder.workspace.ledger.tree import Entry

IGNORE_TIMEOUT_S = 30.0
MAX_NOTICES = 20
MAX_SUBMODULE_FILES = 5_000  # their content is copied at the first look


class Snapshots:
    """Takes snapshots of one work tree; one at a time."""

    def __init__(self, git: Git, git_dir: Path, algorithm: Algorithm, limits: Limits) -> None:
        self._git = git
        self._git_dir = git_dir
        self.store = ObjectStore(git, git_dir, algorithm)
        self.sweep = Sweep(git.root, self.store, limits)
        self._rules: tuple[int, ...] = ()
        self._problem = ""
        self._modules: dict[str, Git | None] = {}

    async def seed(self, *, from_index: bool) -> None:
        """Look at the tree for the first time. Raises `GitError`, `WorkspaceError`."""
        began = time.time_ns()
        self.sweep.begin()
        self.sweep.watch("")
        if from_index:
            try:
                index = await ledger_seed.read_index(self._git)
                doubtful = await ledger_seed.unfaithful(self._git, index, self._git_dir)
            except GitError as error:
                self._problem = f"what is tracked but ignored ({error})"
            else:
                self.store.trust(await ledger_seed.known_trees(self._git))
                self.store.trust(one.oid for one in index.values())
                mtime = _mtime_ns(self._git_dir / "index")
                await asyncio.to_thread(ledger_seed.adopt, self.sweep, index, doubtful, mtime, began)
        self._rules = self._rule_stamps()
        await self._take_in_all(await asyncio.to_thread(self.sweep.look_around))
        await self._look_at_submodules()
        self.sweep.settle()

    async def tree(self) -> str:
        """The tree as it was at the last look."""
        return await asyncio.to_thread(self.sweep.trees.root)

    async def take(self) -> str:
        """The tree as it is now. Raises `GitError`, `WorkspaceError`; then the next one looks at everything again."""
        try:
            self.sweep.begin()
            await self._look()
            return await self.tree()
        except (GitError, WorkspaceError):
            self.sweep.distrust()
            raise

    async def take_only(self, paths: Collection[str]) -> str:
        """The tree as it was at the last look, with these files as they are now: what else has changed meanwhile is
        not a part of it. Raises as `take` does."""
        try:
            self.sweep.begin()
            if not await asyncio.to_thread(self.sweep.look_only, paths):
                await self._look()
            return await self.tree()
        except (GitError, WorkspaceError):
            self.sweep.distrust()
            raise

    @property
    def uncovered(self) -> tuple[str, ...]:
        """What the last snapshot does not hold, and why."""
        notices = sorted(set(self.sweep.notices.values()))
        if self._problem:
            notices.insert(0, self._problem)
        if len(notices) > MAX_NOTICES:
            notices[MAX_NOTICES:] = [f"{len(notices) - MAX_NOTICES} more files or folders"]
        return tuple(notices)

    async def cover(self, paths: Iterable[str]) -> dict[str, Entry]:
        """Cover these files from now on even if they are ignored; gives those that were not covered before. They do not
        count as changed by that."""
        covered: dict[str, Entry] = {}
        for path in paths:
            if path in self.sweep.entries or path in self.sweep.forced:
                continue
            self.sweep.forced.add(path)
            if await asyncio.to_thread(self.sweep.cover, path):
                self.sweep.changed.pop(path, None)
                covered[path] = self.sweep.entries[path]
        return covered

    async def _look(self) -> None:
        for path in list(self.sweep.submodules):
            if not (self._git.root / path).is_dir():
                self.sweep.drop_submodule(path)
                self._modules.pop(path, None)
        rules = self._rule_stamps()
        if rules != self._rules:
            self._rules = rules
            self.sweep.distrust(ignored=True)
        found = await asyncio.to_thread(self.sweep.look)
        if any(path.endswith(".gitignore") for path in (*self.sweep.touched, *found.files)):
            self.sweep.distrust(ignored=True)
            found = await asyncio.to_thread(self.sweep.look)
        await self._take_in_all(found)
        await self._look_at_submodules()

    async def _take_in_all(self, found: Found) -> None:
        while found.files or found.folders:
            found = await self._take_in(found)

    async def _take_in(self, found: Found) -> Found:
        ignored = await self._ignored((*found.files, *found.folders))
        self.sweep.leave_out(ignored)
        await asyncio.to_thread(self.sweep.add_files, [path for path in found.files if path not in ignored])
        return await asyncio.to_thread(self.sweep.add_folders, [path for path in found.folders if path not in ignored])

    async def _ignored(self, paths: Iterable[str]) -> set[str]:
        """Which of these names git ignores, each by the rules of the repository that it lies in."""
        by_module: dict[str, list[str]] = {}
        for path in paths:
            by_module.setdefault(self.sweep.submodule_of(path), []).append(path)
        found: set[str] = set()
        for module, within in by_module.items():
            if not module:
                found |= await _ignored_by(self._git, within, "")
                continue
            git = self._modules.get(module)
            try:
                found |= await _ignored_by(git, within, f"{module}/") if git else set(within)
            except GitError as error:  # a broken submodule must not cost the checkpoint of everything else
                self.sweep.notices[module] = f"new files in the submodule {quote(module)} ({error})"
                found.update(within)
        return found

    def _rule_stamps(self) -> tuple[int, ...]:
        """Change when the rules for ignoring do that lie outside the tree."""
        places = [common_dir(self._git_dir) / "info" / "exclude"]
        own = os.environ.get("XDG_CONFIG_HOME") or f"{os.environ.get('HOME', '')}/.config"
        return tuple(_mtime_ns(place) for place in (*places, Path(own, "git", "ignore")))

    async def _look_at_submodules(self) -> None:
        for path, entry in list(self.sweep.submodules.items()):
            git_dir = git_dir_of(self._git.root / path)
            if git_dir is None:
                continue  # its files were never fetched
            commit = head_of(git_dir)
            if commit and commit != entry.oid:
                self.sweep.adopt(path, Entry(GITLINK, commit), None, 0)
            if path not in self._modules:
                self._modules[path] = await self._cover_submodule(path, git_dir)

    async def _cover_submodule(self, path: str, git_dir: Path) -> Git | None:
        """Cover the files in a submodule too; gives git in it, None when only what tcoder changes there is covered."""
        git = Git(self._git.root / path, git_dir=git_dir)
        try:
            listed = await git.run("ls-files", "-z")
        except GitError as error:
            self.sweep.notices[path] = f"changes in the submodule {quote(path)}, but for tcoder's own edits ({error})"
            return None
        tracked = [f"{path}/{os.fsdecode(name)}" for name in listed.split(b"\0") if name]
        if len(tracked) > MAX_SUBMODULE_FILES:
            self.sweep.notices[path] = (
                f"changes in the submodule {quote(path)}, but for tcoder's own edits ({len(tracked)} files)"
            )
            return None
        self.sweep.notices[path] = f"the repository inside {quote(path)}, but its files are"
        self._modules[path] = git
        await asyncio.to_thread(self.sweep.add_files, tracked)
        await self._take_in_all(await asyncio.to_thread(self.sweep.list_new, [path]))
        return git


async def _ignored_by(git: Git, paths: Iterable[str], folder: str) -> set[str]:
    """Which of these names one repository ignores; `folder` is where it lies, with a slash at its end."""
    # This command knows no literal pathspecs; behind `./` a name is taken as it is.
    data = b"".join(b"./%s\0" % os.fsencode(path[len(folder) :]) for path in paths)
    listed = await git.run(
        "check-ignore", "-z", "--stdin", "--no-index",
        data=data, accept=(0, 1), timeout_s=IGNORE_TIMEOUT_S, environment={"GIT_LITERAL_PATHSPECS": "0"},
    )  # fmt: skip
    return {folder + os.fsdecode(path[2:]) for path in listed.split(b"\0") if path}


def _mtime_ns(place: Path) -> int:
    try:
        return place.stat().st_mtime_ns
    except OSError:
        return 0
