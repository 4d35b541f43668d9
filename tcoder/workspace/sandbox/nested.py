"""A bounded look through a workspace: repositories inside of it, and files that are linked to somewhere outside.

Commands may write the workspace, so what lies there when the sandbox starts and reaches further has to be found first.
"""

import os
from collections import deque
from pathlib import Path

from msgspec import Struct

MAX_FOLDERS = 8000
MAX_FILES = 20_000
MAX_LINKED = 200
NOT_SCANNED = frozenset(
    {"node_modules", ".venv", "venv", "target", "__pycache__", ".tox", ".nox", ".mypy_cache", ".pytest_cache", ".git"}
)
_OWN = (".git", ".tcoder")


class Nested(Struct, frozen=True):
    """`kept` are `.git` and `.tcoder` entries below the root's own, `bare` folders that are laid out as a bare
    repository, `linked` files of which a hard link lies elsewhere. `note` says what was not looked at, empty = all
    but folders of dependencies and caches was."""

    kept: tuple[Path, ...] = ()
    bare: tuple[Path, ...] = ()
    linked: tuple[Path, ...] = ()
    note: str = ""


def look(root: Path, *, links: bool = True) -> Nested:
    """Look through `root`, the shallow folders first, without following symlinks. Hard links are counted only in the
    first `MAX_FILES` files, and not at all without `links`."""
    top = os.fspath(root)
    queue = deque([top])
    kept: list[Path] = []
    bare: list[Path] = []
    several: dict[tuple[int, int], list[os.DirEntry[str]]] = {}
    folders = files = 0
    while queue and folders < MAX_FOLDERS:
        folder = queue.popleft()
        folders += 1
        try:
            with os.scandir(folder) as found:
                entries = list(found)
        except OSError:
            continue  # unreadable for us, so for the command too
        names: set[str] = set()
        for entry in entries:
            if entry.name in _OWN and folder != top:
                kept.append(Path(entry.path))
            elif entry.is_dir(follow_symlinks=False):
                names.add(entry.name)
                if entry.name not in NOT_SCANNED:
                    queue.append(entry.path)
            elif entry.name == "HEAD":
                names.add(entry.name)
            if links and files < MAX_FILES and entry.is_file(follow_symlinks=False):
                files += 1
                _count_links(entry, several)
        if {"HEAD", "objects", "refs"} <= names:
            bare.append(Path(folder))
    linked = [Path(one.path) for entries in several.values() if _leads_out(entries) for one in entries]
    notes: list[str] = []
    if queue:
        notes.append(f"only the first {MAX_FOLDERS} folders were looked through for repositories to protect")
    if links and files >= MAX_FILES:
        notes.append(f"only the first {MAX_FILES} files were looked at for hard links to outside")
    if len(linked) > MAX_LINKED:
        notes.append(f"{len(linked) - MAX_LINKED} files with hard links to outside can be written")
    return Nested(tuple(kept), tuple(bare), tuple(linked[:MAX_LINKED]), "; ".join(notes))


def _count_links(entry: os.DirEntry[str], several: dict[tuple[int, int], list[os.DirEntry[str]]]) -> None:
    try:
        status = entry.stat(follow_symlinks=False)
    except OSError:
        return  # gone meanwhile
    if status.st_nlink > 1:
        several.setdefault((status.st_dev, status.st_ino), []).append(entry)


def _leads_out(entries: list[os.DirEntry[str]]) -> bool:
    """Whether a file has more names than were found here."""
    return entries[0].stat(follow_symlinks=False).st_nlink > len(entries)
