"""Repositories that commands made inside of a workspace, and what a person's next `git status` in them would run.

A repository that is there when the sandbox starts cannot be written by commands. One that a command makes later can
hold hooks and settings which git runs as soon as somebody, or an editor, looks at it: those are set aside, by renaming,
so that nothing is lost. `git init`, `git clone` and their like pass, since they leave nothing that runs.
"""

import asyncio
import contextlib
import os
import re
import subprocess
import time
from collections.abc import Collection
from pathlib import Path

from msgspec import Struct

from tcoder.workspace.files.paths import open_below
from tcoder.workspace.sandbox.nested import look

SET_ASIDE = ".set-aside"
_GIT = "/usr/bin:/bin:/usr/local/bin"
_TIMEOUT_S = 5
# Settings that name no program, no other file of settings, and no folder elsewhere. Everything else sets aside.
_HARMLESS = re.compile(
    r"core\.(repositoryformatversion|filemode|bare|logallrefupdates|ignorecase|precomposeunicode|symlinks|autocrlf|eol"
    r"|safecrlf|sparsecheckout|quotepath|abbrev|compression)|user\.(name|email)|init\.defaultbranch"
    r"|remote\..*\.(url|fetch|tagopt|mirror)|branch\..*\.(remote|merge|rebase)|gc\.auto|maintenance\.auto"
    r"|commit\.gpgsign|tag\.gpgsign|pull\.(rebase|ff)|push\.default|extensions\.(objectformat|refstorage)"
    r"|advice\..*|submodule\..*\.(active|url)|color\..*|receive\.denycurrentbranch"
)


class Planted(Struct, frozen=True):
    """A repository that came into being: `path` is its `.git` entry or its bare folder, `why` what in it would run."""

    path: Path
    why: str


def find(root: Path, known: Collection[Path]) -> tuple[Planted, ...]:
    """Repositories below `root` that are not among the `known` paths and would run something, within the bounds of
    `nested.look`."""
    found = look(root, links=False)
    entries = [entry for entry in found.kept if entry.name == ".git" and entry not in known]
    entries += [folder for folder in found.bare if folder / "config" not in known]
    return tuple(Planted(entry, why) for entry in entries if (why := _runs(entry, known)))


def set_aside(root: Path, planted: Planted) -> str:
    """Rename what makes it a repository: its `.git`, and the `HEAD` of a folder, which is a bare repository by itself
    otherwise. Returns where that is now, relative to the root; empty when it is gone already or cannot be renamed.
    Follows no symlink that was put in its way meanwhile."""
    place = planted.path.relative_to(root)
    with contextlib.suppress(OSError):
        top = os.open(root, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            if planted.path.name == ".git":
                place = _renamed(top, place)
            with contextlib.suppress(OSError):  # a file, or a link
                head = _renamed(top, place / "HEAD")
                return os.fspath(place if planted.path.name == ".git" else head)
            return os.fspath(place)
        finally:
            os.close(top)
    return ""


def _renamed(top: int, path: Path) -> Path:
    """Give the path below the folder `top` a name that is free. Raises `OSError`."""
    folder = open_below(top, os.fspath(path.parent), os.O_PATH | os.O_DIRECTORY, links=False)
    try:
        names = (f"{path.name}{SET_ASIDE}{number}" for number in ("", *(f"-{n}" for n in range(2, 100))))
        free = next(name for name in names if not _is_there(folder, name))
        os.rename(path.name, free, src_dir_fd=folder, dst_dir_fd=folder)
    finally:
        os.close(folder)
    return path.with_name(free)


def _is_there(folder: int, name: str) -> bool:
    try:
        os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return True


def _runs(entry: Path, known: Collection[Path]) -> str:
    """What git would run in the repository of this `.git` entry or bare folder; empty = nothing."""
    if entry.is_symlink():
        return f"a link to {os.readlink(entry)}"
    if entry.is_file():
        text = entry.read_bytes()[:4096].decode("utf-8", "replace").removeprefix("gitdir:").strip()
        target = (entry.parent / text).resolve()
        inside = any(target.is_relative_to(one) for one in known)
        return "" if inside else f"it points to {text}"
    if (entry / "commondir").exists():
        return "it points to another folder (commondir)"
    hooks = entry / "hooks"
    if hooks.is_symlink():
        return "a link in the place of its hooks"
    with contextlib.suppress(OSError):
        names = sorted(one.name for one in os.scandir(hooks) if not one.name.endswith(".sample"))
        if names:
            return f"hooks: {', '.join(names[:5])}"
    return _settings(entry)


def _settings(git_dir: Path) -> str:
    settings: list[str] = []
    environment = {"PATH": _GIT, "HOME": "/nonexistent"}
    for name in ("config", "config.worktree"):
        if not os.path.lexists(git_dir / name):
            continue
        try:
            listed = subprocess.run(
                ["git", "config", "--no-includes", "--file", git_dir / name, "--list", "--name-only", "-z"],
                capture_output=True, timeout=_TIMEOUT_S, check=True, cwd="/", env=environment,
            ).stdout  # fmt: skip
        except (OSError, subprocess.SubprocessError):
            return f"its {name} cannot be read"
        settings += listed.decode("utf-8", "replace").split("\0")
    harmful = sorted({one for one in settings if one and not _HARMLESS.fullmatch(one.lower())})
    return f"settings: {', '.join(harmful[:5])}" if harmful else ""


class Watch:
    """Looks for planted repositories beside the work, so that no command waits for it: at most one look at a time, and
    looks take less than a thirtieth of the time."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._task: asyncio.Task[tuple[str, ...]] | None = None
        self._next = 0.0

    def take(self, known: Collection[Path]) -> tuple[str, ...]:
        """What the last look has set aside, in words, each once; begins another when it is time."""
        told: tuple[str, ...] = ()
        if self._task is not None and self._task.done():
            told, self._task = self._task.result(), None
        if self._task is None and time.monotonic() >= self._next:
            self._task = asyncio.create_task(self._look(known))
        return told

    async def finish(self, known: Collection[Path]) -> tuple[str, ...]:
        """One last look, when nothing runs any more."""
        before: tuple[str, ...] = ()
        if self._task is not None:
            before, self._task = await self._task, None
        return (*before, *await asyncio.to_thread(_tidy, self._root, known))

    async def _look(self, known: Collection[Path]) -> tuple[str, ...]:
        began = time.monotonic()
        told = await asyncio.to_thread(_tidy, self._root, known)
        now = time.monotonic()
        self._next = now + 30 * (now - began)
        return told


def _tidy(root: Path, known: Collection[Path]) -> tuple[str, ...]:
    told: list[str] = []
    for one in find(root, known):
        place = set_aside(root, one)
        name = os.fspath(one.path.relative_to(root))
        where = f"is now {place}" if place else "could not be set aside: do not run git there"
        told.append(f"a command made the repository {name}, in which git would run something ({one.why}): it {where}")
    return tuple(told)
