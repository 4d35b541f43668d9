"""Which files the index looks at: what git knows and does not ignore, else a walk of its own. Always bounded."""

import os
import stat
from pathlib import Path
from typing import NamedTuple

from tcoder.index.git import git
from tcoder.index.languages import language_of

MAX_FILES = 200_000
MAX_ENTRIES = 400_000
MAX_DEPTH = 40
IGNORE_FILE = ".tcoderignore"
SKIPPED_FOLDERS = frozenset(
    [
        ".git",
        ".hg",
        ".svn",
        ".tcoder",
        "node_modules",
        "__pycache__",
        ".venv",
        "venv",
        ".tox",
        ".nox",
        ".mypy_cache",
        ".ruff_cache",
        ".pytest_cache",
        ".idea",
        ".gradle",
        ".cache",
        "site-packages",
        "bower_components",
    ]
)
"""Folders that tools fill, not people. What git tracks in them is indexed all the same."""
ENVIRONMENT_MARK = "pyvenv.cfg"
"""The file that says that its folder is a Python environment, whatever its name."""


class Stamp(NamedTuple):
    """What tells cheaply that a file is the same: modification time, size, inode."""

    mtime_ns: int
    size: int
    inode: int


class Listing(NamedTuple):
    """Stamps by path relative to the root; `problem` says why the folder is not indexed."""

    files: dict[str, Stamp]
    problem: str = ""


def list_files(root: Path) -> Listing:
    """Regular files in the root that have a language, are not ignored and in no folder that tools fill. Symbolic links
    are not followed; names that are not UTF-8 are left out."""
    if problem := unsuitable(root):
        return Listing({}, problem)
    filled = [f"--exclude={name}/" for name in sorted(SKIPPED_FOLDERS)]  # git asks this of untracked files only
    listed = git(root, "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--deduplicate", *filled)
    if listed is not None and listed.count(b"\0") > MAX_ENTRIES:
        return Listing({}, f"more than {MAX_ENTRIES:,} files")
    names = _decode(listed) if listed is not None else _walk(root)
    if names is None:
        return Listing({}, f"more than {MAX_ENTRIES:,} files")
    environments = tuple(name.removesuffix(ENVIRONMENT_MARK) for name in names if name.endswith(f"/{ENVIRONMENT_MARK}"))
    names = [name for name in names if language_of(name) and not name.startswith(environments)]
    if len(names) > MAX_FILES:
        return Listing({}, f"more than {MAX_FILES:,} source files")
    ignored = _ignored(root, names)
    files: dict[str, Stamp] = {}
    for name in names:
        if name not in ignored and (found := stamp(root, name)):
            files[name] = found
    return Listing(files)


def is_filled(root: Path, path: str) -> bool:
    """Whether a file lies in a folder that tools fill: packages, caches, environments."""
    folders = path.split("/")[:-1]
    if not SKIPPED_FOLDERS.isdisjoint(folders):
        return True
    return any((root / "/".join(folders[:depth]) / ENVIRONMENT_MARK).is_file() for depth in range(1, len(folders) + 1))


def unsuitable(root: Path) -> str:
    """Why a folder is not indexed unasked: it is a home folder or the root of the file system."""
    resolved = root.resolve()
    home = Path.home().resolve()
    if resolved == Path(resolved.anchor):
        return "the root of the file system"
    if resolved == home or resolved in home.parents:
        return "a home folder"
    return ""


def stamp(root: Path, name: str) -> Stamp | None:
    """The stamp of a regular file, None for anything else."""
    try:
        found = os.lstat(f"{root}/{name}")
    except (OSError, ValueError):
        return None
    return Stamp(found.st_mtime_ns, found.st_size, found.st_ino) if stat.S_ISREG(found.st_mode) else None


def _decode(listed: bytes) -> list[str]:
    names: list[str] = []
    for raw in listed.split(b"\0"):
        try:
            names.append(raw.decode("utf-8"))
        except UnicodeDecodeError:
            continue  # such a path cannot be shown, named or sent to a model
    return [name for name in names if name]


def _walk(root: Path) -> list[str] | None:
    """Paths below the root, in no order; None when there are too many entries to look at."""
    names: list[str] = []
    folders = [("", 0)]
    entries = 0
    while folders:
        folder, depth = folders.pop()
        try:
            with os.scandir(f"{root}/{folder}") as found:
                for entry in found:
                    entries += 1
                    if entries > MAX_ENTRIES:
                        return None
                    if not _is_text(entry.name) or entry.name in SKIPPED_FOLDERS:
                        continue
                    name = f"{folder}/{entry.name}" if folder else entry.name
                    if entry.is_dir(follow_symlinks=False):
                        if depth < MAX_DEPTH:
                            folders.append((name, depth + 1))
                    elif entry.is_file(follow_symlinks=False):
                        names.append(name)
        except OSError:
            continue  # an unreadable or vanished folder holds nothing for us
    return _without_ignored(root, names)


def _is_text(name: str) -> bool:
    try:
        name.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _without_ignored(root: Path, names: list[str]) -> list[str]:
    ignored = _matching(root / ".gitignore", names)
    return [name for name in names if name not in ignored]


def _ignored(root: Path, names: list[str]) -> frozenset[str]:
    return _matching(root / IGNORE_FILE, names)


def _matching(file: Path, names: list[str]) -> frozenset[str]:
    """The names that an ignore file covers. Its patterns are foreign: they go to git's own matcher where there is git,
    which is linear in practice, and to pathspec for a bounded number of short patterns else."""
    try:
        text = file.read_bytes()[:100_000].decode("utf-8", "replace")
    except OSError:
        return frozenset()
    patterns = [line for line in text.splitlines() if line.strip() and len(line) <= 200 and line.count("*") <= 6][:500]
    if not patterns:
        return frozenset()
    from pathspec import GitIgnoreSpec  # most repositories never need it

    return frozenset(GitIgnoreSpec.from_lines(patterns).match_files(names))
