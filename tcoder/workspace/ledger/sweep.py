"""The work tree as it stands, held in memory: a sweep over stat values finds what has changed since the last one.

Only stat values are compared, so a sweep reads no content. A file that was written within the clock's grain before it
was read is read again at the next sweep, since it could have changed without showing it.
"""

import os
import stat
import time
from collections.abc import Iterable
from pathlib import Path

from msgspec import Struct

from tcoder.workspace.files.paths import fold, is_temporary, open_below, quote
from tcoder.workspace.git.objects import FILE, GITLINK, LINK, PROGRAM, ObjectStore
from tcoder.workspace.ledger.tree import INSIDE, Entry, Trees, above

RACY_NS = 20_000_000

# Modification and change time, size, inode and mode. None = do not rely on it: read the file again.
Stamp = tuple[int, int, int, int, int] | None


class Limits(Struct, frozen=True):
    """What one snapshot may cost: bytes of one file, number of files, bytes read and seconds spent on files that are
    seen for the first time."""

    file_bytes: int = 20_000_000
    files: int = 100_000
    bytes: int = 1_000_000_000
    seconds: float = 15.0


class Folder(Struct):
    """A folder that is watched. `left_out` are names in it that are ignored or beyond the limits."""

    stamp: Stamp
    left_out: set[str]


class Found(Struct, frozen=True):
    """Names that a sweep has not seen before, and cannot judge: a file may be ignored, so may a folder."""

    files: tuple[str, ...]
    folders: tuple[str, ...]


def stamp_of(status: os.stat_result, began: int) -> Stamp:
    newest = max(status.st_mtime_ns, status.st_ctime_ns)
    if newest > began - RACY_NS:
        return None
    return (status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino, status.st_mode)


class Sweep:
    """Knows every covered file of a work tree with its content's id. Not thread-safe; its methods block."""

    def __init__(self, root: Path, store: ObjectStore, limits: Limits) -> None:
        self.root = root
        self.store = store
        self.limits = limits
        self.trees = Trees(store)
        self.entries: dict[str, Entry] = {}
        self.modes: dict[str, int] = {}
        self.old_modes: dict[str, int] = {}
        self.folders: dict[str, Folder] = {}
        self.changed: dict[str, Entry | None] = {}
        self.new_folders: list[str] = []
        self.gone_folders: list[str] = []
        self.lost: list[str] = []
        self.forced: set[str] = set()
        self.notices: dict[str, str] = {}
        self.submodules: dict[str, Entry] = {}
        self.touched: set[str] = set()
        self._stamps: dict[str, Stamp] = {}
        self._root_fd = os.open(root, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        self._began = 0
        self._deadline = 0.0
        self._bytes_left = 0

    def close(self) -> None:
        os.close(self._root_fd)

    def adopt(self, path: str, entry: Entry, stamp: Stamp, mode: int) -> None:
        """Take a file for known without reading it: the index vouches for its content."""
        self._set(path, entry, stamp, mode)

    def submodule_of(self, path: str) -> str:
        """The outermost submodule that `path` lies in; empty = none."""
        if self.submodules:
            end = path.find("/")
            while end > 0:
                if path[:end] in self.submodules:
                    return path[:end]
                end = path.find("/", end + 1)
        return ""

    def tree_path(self, path: str) -> str:
        """Where a tree holds `path`."""
        module = self.submodule_of(path)
        return f"{module}{INSIDE}{path[len(module) :]}" if module else path

    # -- one sweep

    def begin(self) -> None:
        """Start counting against the limits, and what is `touched`."""
        self.touched.clear()
        self._began = time.time_ns()
        self._deadline = time.monotonic() + self.limits.seconds
        self._bytes_left = self.limits.bytes

    def look(self) -> Found:
        """Take in every change of what is known; what is new is only named. Raises `WorkspaceError`."""
        changed = self._changed_folders()
        self._look_at_files()
        for path in self.forced:
            if path not in self.entries:
                self.cover(path)
        return self._list_all(changed)

    def look_only(self, paths: Iterable[str]) -> bool:
        """Take in these files and nothing else: they have just been written. False when that cannot be all: one of them
        has other names. Raises `WorkspaceError`."""
        alone = True
        gone: set[str] = set()
        for path in paths:
            try:
                status = os.lstat(f"{self.root}/{path}")
            except OSError:
                self._remove(path)
                gone |= {name for name in above(path) if name in self.folders and not (self.root / name).is_dir()}
                continue
            folder = path.rpartition("/")[0]
            while folder not in self.folders:
                self.watch(folder)
                self.new_folders.append(folder)
                folder = folder.rpartition("/")[0]
            self._read(path, status)
            alone = alone and (status.st_nlink == 1 or not stat.S_ISREG(status.st_mode))
        self._forget_folders(gone)
        if any(path.endswith(".gitignore") for path in self.touched):
            self.distrust(ignored=True)
        return alone

    def look_around(self) -> Found:
        """Name what is new in the folders, without looking at the files that are known."""
        return self._list_all(list(self.folders))

    def _list_all(self, names: Iterable[str]) -> Found:
        files: list[str] = []
        folders: list[str] = []
        for name in names:
            fresh_files, fresh_folders = self._list(name)
            files += fresh_files
            folders += fresh_folders
        return Found(tuple(files), tuple(folders))

    def _changed_folders(self) -> list[str]:
        changed: list[str] = []
        gone: set[str] = set()
        lstat, base = os.lstat, f"{self.root}/"
        for name, folder in self.folders.items():
            if gone and name.rpartition("/")[0] in gone:
                gone.add(name)  # also when a link has taken the place of the folder above
                continue
            try:
                status = lstat(base + name)
            except OSError:
                gone.add(name)
                continue
            if not stat.S_ISDIR(status.st_mode):
                gone.add(name)
                changed.append(name.rpartition("/")[0])
                continue
            stamp = folder.stamp
            if stamp is None or stamp[1] != status.st_ctime_ns or stamp[3] != status.st_ino:
                changed.append(name)
        if gone:
            self._forget_folders(gone)
        return [name for name in dict.fromkeys(changed) if name in self.folders]

    def _forget_folders(self, gone: set[str]) -> None:
        """Folders are gone, or something else now: so is all that was in them."""
        for path in [path for path in self.entries if path.rpartition("/")[0] in gone]:
            self._remove(path)
        for path in gone:
            self.lost += [f"{path}/{name}" for name in self.folders[path].left_out]
            del self.folders[path]
        self.gone_folders += gone

    def _look_at_files(self) -> None:
        lstat, base = os.lstat, f"{self.root}/"
        suspects: list[tuple[str, os.stat_result | None]] = []
        for name, stamp in self._stamps.items():
            try:
                status = lstat(base + name)
            except OSError:
                suspects.append((name, None))
                continue
            if stamp != (status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino, status.st_mode):
                suspects.append((name, status))
        for name, status in suspects:
            if status is None:
                self._remove(name)
            else:
                self._read(name, status)

    def _list(self, name: str) -> tuple[list[str], list[str]]:
        """Names in a folder that are neither known nor left out: files, then folders."""
        folder = self.folders[name]
        files: list[str] = []
        folders: list[str] = []
        prefix = f"{name}/" if name else ""
        try:
            folder.stamp = stamp_of(os.lstat(f"{self.root}/{name}"), time.time_ns())
            with os.scandir(f"{self.root}/{name}") as found:
                children = list(found)
        except OSError as error:
            self.notices[f"{name}/"] = f"{quote(name) or '.'}/ ({error.strerror})"
            return files, folders
        there = {child.name for child in children}
        self.lost += [prefix + gone for gone in folder.left_out - there]
        folder.left_out &= there
        for child in children:
            path = prefix + child.name
            if path in self.entries or child.name in folder.left_out or is_temporary(child.name):
                continue
            if child.name.casefold().startswith(".g") and fold(child.name) == ".git":
                continue
            if child.is_dir(follow_symlinks=False):
                if path not in self.folders:
                    folders.append(path)
            elif child.is_file(follow_symlinks=False) or child.is_symlink():
                files.append(path)
        return files, folders

    # -- what is new, after somebody has said what is ignored

    def leave_out(self, paths: Iterable[str]) -> None:
        """Do not cover these, nor ask about them again."""
        for path in paths:
            folder, _, name = path.rpartition("/")
            if folder in self.folders:
                self.folders[folder].left_out.add(name)

    def add_files(self, paths: Iterable[str]) -> None:
        """Cover new files, as far as the limits go. Raises `WorkspaceError`."""
        for path in paths:
            try:
                status = os.lstat(f"{self.root}/{path}")
            except OSError:
                continue  # gone again
            if self._beyond_limits(status.st_size):
                self.leave_out([path])
                folder = path.rpartition("/")[0]
                self.notices[f"{folder}/"] = f"new files in {quote(folder) or '.'} (too many, or too big together)"
                continue
            self._read(path, status)

    def add_folders(self, paths: Iterable[str]) -> Found:
        """Watch new folders; gives what is in them."""
        watched: list[str] = []
        for path in paths:
            if self._beyond_limits(0):
                self.leave_out([path])
                self.notices[f"{path}/"] = f"{quote(path)}/ (too many files, or too slow to look through)"
                continue
            if os.path.lexists(f"{self.root}/{path}/.git"):
                self.notices[f"{path}/.git"] = f"the repository inside {quote(path)}, but its files are"
            self.watch(path)
            self.new_folders.append(path)
            watched.append(path)
        return self._list_all(watched)

    def watch(self, path: str) -> None:
        """See from now on what comes into a folder."""
        self.folders.setdefault(path, Folder(None, set()))

    def distrust(self, *, ignored: bool = False) -> None:
        """Look at every folder again: what is known of them may be wrong. With `ignored` also at what was left out."""
        for folder in self.folders.values():
            folder.stamp = None
            if ignored:
                folder.left_out.clear()

    def read_tracked(self, paths: Iterable[str]) -> None:
        """Read files that are covered whatever the limits on new ones."""
        for path in paths:
            try:
                status = os.lstat(f"{self.root}/{path}")
            except OSError:
                continue
            self._read(path, status)

    def _beyond_limits(self, size: int) -> bool:
        return len(self.entries) >= self.limits.files or size > self._bytes_left or time.monotonic() > self._deadline

    # -- one file

    def _read(self, path: str, status: os.stat_result) -> None:
        """Take in a file's content. Raises `WorkspaceError` when it cannot be stored."""
        known = self.entries.get(path)
        if known and known.mode == GITLINK:
            return
        if stat.S_ISLNK(status.st_mode):
            try:
                data = os.fsencode(os.readlink(f"{self.root}/{path}"))
            except OSError:
                self._remove(path)
                return
            self._set(path, Entry(LINK, self.store.write("blob", data)), stamp_of(status, self._began), status.st_mode)
            return
        if not stat.S_ISREG(status.st_mode):
            self._remove(path)
            return
        if status.st_size > self.limits.file_bytes:
            self._too_big(path, status)
            return
        try:
            fd = open_below(self._root_fd, path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW, links=False)
        except FileNotFoundError:
            self._remove(path)
            return
        except OSError as error:
            self._uncovered(path, status, f"{quote(path)} ({error.strerror})")
            return
        with os.fdopen(fd, "rb") as file:
            status = os.fstat(fd)
            data = file.read(self.limits.file_bytes + 1)
        if len(data) > self.limits.file_bytes:
            self._too_big(path, status)
            return
        self._bytes_left -= 0 if known else len(data)
        self.notices.pop(path, None)
        mode = PROGRAM if status.st_mode & 0o100 else FILE
        stamp = stamp_of(status, time.time_ns())
        self._set(path, Entry(mode, self.store.write("blob", data)), stamp, status.st_mode)

    def _too_big(self, path: str, status: os.stat_result) -> None:
        self._uncovered(path, status, f"{quote(path)} ({status.st_size // 1_000_000} MB)")

    def _uncovered(self, path: str, status: os.stat_result, notice: str) -> None:
        """A file that cannot be covered: what is known of it stays, so that it does not look deleted."""
        self.notices[path] = notice
        if path in self.entries:
            self._stamps[path] = stamp_of(status, self._began)
        else:
            self.leave_out([path])

    def _set(self, path: str, entry: Entry, stamp: Stamp, mode: int) -> None:
        known = self.entries.get(path)
        if entry.mode == GITLINK:
            self.submodules[path] = entry
        else:
            self._stamps[path] = stamp
            if known is not None and path not in self.changed:
                self.old_modes[path] = self.modes.get(path, -1)
            self.modes[path] = stat.S_IMODE(mode)
        if known != entry:
            self.touched.add(path)
            self.changed.setdefault(path, known)
            self.entries[path] = entry
            self.trees.put(self.tree_path(path), entry)

    def _remove(self, path: str) -> None:
        known = self.entries.pop(path, None)
        self._stamps.pop(path, None)
        self.notices.pop(path, None)
        if known is not None:
            if path not in self.changed:
                self.old_modes[path] = self.modes.get(path, -1)
            self.modes.pop(path, None)
            self.touched.add(path)
            self.changed.setdefault(path, known)
            self.trees.drop(self.tree_path(path))

    def drop_submodule(self, path: str) -> None:
        """A submodule's folder is gone: so are its files, and something else may be in its place."""
        self._forget_folders({one for one in self.folders if one == path or one.startswith(f"{path}/")})
        for one in [one for one in self.entries if one.startswith(f"{path}/")]:
            self._remove(one)
        self._remove(path)
        self.submodules.pop(path, None)
        folder = self.folders.get(path.rpartition("/")[0])
        if folder is not None:
            folder.stamp = None

    def list_new(self, names: Iterable[str]) -> Found:
        """Watch these folders from now on; gives what is in them and not known."""
        watched = list(names)
        for name in watched:
            self.watch(name)
        return self._list_all(watched)

    def settle(self) -> None:
        """What has changed so far is on record."""
        self.changed.clear()
        self.old_modes.clear()
        self.new_folders.clear()
        self.gone_folders.clear()
        self.lost.clear()

    def cover(self, path: str) -> bool:
        """Cover a file although it is ignored, from now on; True when it was not covered before."""
        if path in self.entries:
            return False
        try:
            status = os.lstat(f"{self.root}/{path}")
        except OSError:
            return False
        if not (stat.S_ISREG(status.st_mode) or stat.S_ISLNK(status.st_mode)):
            return False
        self._read(path, status)
        return path in self.entries

    def content_is(self, path: str, data: bytes) -> bool:
        """Whether `data` is what the last sweep found at `path`."""
        entry = self.entries.get(path)
        return entry is not None and entry.oid == self.store.id_of("blob", data)
