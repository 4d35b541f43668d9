"""Putting files of the ledger back into the work tree."""

import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from tcoder.workspace.files.atomic import Change
from tcoder.workspace.files.files import WorkspaceFiles, digest_of
from tcoder.workspace.git.objects import LINK, PROGRAM
from tcoder.workspace.ledger.restore import Target
from tcoder.workspace.ledger.sweep import Sweep
from tcoder.workspace.ledger.tree import above


def change_of(sweep: Sweep, path: str, target: Target, blobs: Mapping[str, bytes], mode: int) -> Change:
    """What to write so that `path`, as the sweep found it, becomes `target`. `blobs` has its content now; `mode` are
    permission bits that git does not keep, -1 = as usual."""
    now = sweep.entries.get(path)
    old = digest_of(blobs[now.oid]) if now else ""
    link = target.entry is not None and target.entry.mode == LINK
    bits: int | None = mode if mode >= 0 else None
    if target.entry and not link:
        program = target.entry.mode == PROGRAM
        current = sweep.modes.get(path) if now and now.mode != LINK else None
        if bits is None and current is not None and bool(current & 0o100) != program:
            bits = current | (current & 0o444) >> 2 if program else current & ~0o111
        elif bits is None and current is None and program:
            bits = 0o755
    return Change(path, old, target.data, bits, link)


def write(files: WorkspaceFiles, changes: list[Change], made: set[str]) -> None:
    """Write the changes, all or none; `made` are folders that came with what is taken back, to be removed when nothing
    else is in them. A folder may have to make room for a file and the other way round: then what goes, goes first.
    Blocks; raises `WorkspaceError`."""
    going = [change for change in changes if change.new is None]
    gone = {change.path for change in going}
    coming = [change for change in changes if change.new is not None]
    folders_needed = {folder for change in coming for folder in above(change.path)}
    folders_left = {folder for path in gone for folder in above(path)}
    if gone & folders_needed or folders_left & {change.path for change in coming}:
        files.commit(going)
        _remove_empty(files.root, gone, made | folders_left)
        _make_room(files.root, coming, made)
        files.commit(coming)
        return
    _make_room(files.root, coming, made)
    files.commit(changes)
    _remove_empty(files.root, gone, made)


def settle_folders(root: Path, folders: Iterable[str], *, back: bool) -> None:
    """Folders that went with a change: they come back, empty where no file is put into them, or go again when they are
    empty. Blocks; raises `OSError`."""
    for folder in sorted(folders, key=len, reverse=not back):
        place = root / folder
        if any((root / one).is_symlink() for one in above(folder)):
            continue
        if not back:
            _remove_if_empty(place)
        elif place.parent.is_dir() and not os.path.lexists(place):
            place.mkdir()


def _make_room(root: Path, coming: list[Change], made: set[str]) -> None:
    """Remove empty folders that came with what is taken back and lie where a file is to be."""
    places = {change.path for change in coming} & made
    within = {folder for folder in made if folder in places or places & set(above(folder))}
    for folder in sorted(within, key=len, reverse=True):
        _remove_if_empty(root / folder)


def _remove_empty(root: Path, gone: set[str], made: set[str]) -> None:
    """Remove folders that came with what is gone, where nothing else is in them."""
    candidates = made & {folder for path in gone for folder in above(path)}
    for folder in sorted(candidates, key=len, reverse=True):
        _remove_if_empty(root / folder)


def _remove_if_empty(place: Path) -> None:
    if place.is_dir() and not place.is_symlink() and not any(place.iterdir()):
        place.rmdir()
