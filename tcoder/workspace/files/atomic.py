"""Replacing files so that nobody ever sees half of one: written beside the place, flushed, then exchanged with what is
there, which is looked at once more before it goes. What somebody else saved at the last moment is put back.
"""

import contextlib
import ctypes
import errno
import fcntl
import hashlib
import os
import secrets
import stat
import time
from collections.abc import Generator, Sequence

from msgspec import Struct

from tcoder.protocol.errors import WorkspaceError
from tcoder.workspace.files.paths import (
    TEMPORARY_PREFIX,
    TEMPORARY_SUFFIX,
    is_temporary,
    open_below,
    quote,
)

RENAME_NOREPLACE, RENAME_EXCHANGE = 1, 2
MAX_LINKS_SEARCHED = 100_000
LOCK_TIMEOUT_S = 3.0
STALE_HINT = "read it again, then edit"

_libc = ctypes.CDLL(None, use_errno=True)


class Change(Struct, frozen=True):
    """One file as it is to be. `path` is relative, with no symlink in it. `old` is the SHA-256 of the bytes that must
    be there (of a link: of its target), empty = nothing may be there. `new` None = it goes. `mode` None = as it was;
    else the permission bits. With `link` the new content is a symlink's target."""

    path: str
    old: str
    new: bytes | None
    mode: int | None = None
    link: bool = False


def commit(root_fd: int, changes: Sequence[Change]) -> None:
    """Make all changes or none. Raises `WorkspaceError`; then every file is as it was."""
    with _one_at_a_time(root_fd), contextlib.ExitStack() as stack:
        staged = [_stage(root_fd, change, stack) for change in changes]
        done: list[_Staged] = []
        try:
            for item in staged:
                item.swap()
                done.append(item)
        except OSError as error:
            for item in reversed(done):
                item.swap_back()
            raise WorkspaceError(why(staged[len(done)].change.path, error)) from error
        except WorkspaceError:
            for item in reversed(done):
                item.swap_back()
            raise
        for item in staged:
            item.settle()


@contextlib.contextmanager
def _one_at_a_time(root_fd: int) -> Generator[None]:
    """Two tcoders in one tree write one after the other; the kernel lets go of the lock whatever happens."""
    fd = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=root_fd)
    try:
        deadline = time.monotonic() + LOCK_TIMEOUT_S
        while True:
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError as error:
                if time.monotonic() > deadline:
                    raise WorkspaceError("another tcoder is writing in this folder", "try again") from error
                time.sleep(0.005)
            except OSError:  # a file system without locks: the look at the old content has to do
                break
        yield
    finally:
        os.close(fd)


def _stage(root_fd: int, change: Change, stack: contextlib.ExitStack) -> "_Staged":
    try:
        folder = _open_folder(root_fd, change.path.rpartition("/")[0], stack)
        staged = _Staged(root_fd, change, folder)
        stack.callback(staged.clean_up)
        staged.prepare()
    except OSError as error:
        raise WorkspaceError(why(change.path, error)) from error
    return staged


def _open_folder(root_fd: int, path: str, stack: contextlib.ExitStack) -> int:
    """A descriptor of a folder below the root, made when it is missing."""
    current = root_fd
    parts = path.split("/") if path else []
    for depth, part in enumerate(parts, 1):
        below = "/".join(parts[:depth])
        try:
            following = open_below(root_fd, below, os.O_PATH | os.O_DIRECTORY, links=False)
        except FileNotFoundError:
            os.mkdir(part, dir_fd=current)
            following = open_below(root_fd, below, os.O_PATH | os.O_DIRECTORY, links=False)
        stack.callback(os.close, following)
        current = following
    return current


class _Staged:
    """One file on its way: the new content beside its place, then swapped in by one rename."""

    def __init__(self, root_fd: int, change: Change, folder: int) -> None:
        self.change = change
        self._root_fd = root_fd
        self._folder = folder
        self._name = change.path.rpartition("/")[2]
        self._temporary = f"{TEMPORARY_PREFIX}{os.getpid()}-{secrets.token_hex(6)}{TEMPORARY_SUFFIX}"
        self._swapped = False
        self._twins: list[str] = []

    def prepare(self) -> None:
        """Check what is there and put the new content on the disk."""
        self._remove_leftovers()
        self._check(self._name)
        if self.change.old and self.change.new is not None and not self.change.link:
            self._find_twins()
        if self.change.new is None:
            return
        if self.change.link:
            os.symlink(self.change.new, os.fsencode(self._temporary), dir_fd=self._folder)
            return
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        fd = os.open(self._temporary, flags, 0o666, dir_fd=self._folder)
        with os.fdopen(fd, "wb") as file:
            file.write(self.change.new)
            file.flush()
            if self.change.old:
                self._keep_attributes(file.fileno())
            elif self.change.mode is not None:
                os.fchmod(file.fileno(), self.change.mode)
            os.fsync(file.fileno())

    def _check(self, name: str) -> None:
        """Raise `WorkspaceError` when what is called `name` is not what was read."""
        found = digest_at(self._folder, name)
        if found != self.change.old:
            path = quote(self.change.path)
            raise WorkspaceError(
                f"{path} was changed by somebody else meanwhile" if found else f"{path} is not there any more",
                STALE_HINT,
            )

    def _remove_leftovers(self) -> None:
        """Temporary files of a tcoder that was killed."""
        fd = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=self._folder)
        try:
            names = [name for name in os.listdir(fd) if is_temporary(name)]
        finally:
            os.close(fd)
        for name in names:
            owner = name.removeprefix(TEMPORARY_PREFIX).partition("-")[0]
            if owner.isdigit() and not _alive(int(owner)):
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(name, dir_fd=self._folder)

    def _find_twins(self) -> None:
        """Other names of the same file: they get the new content too. One outside the workspace cannot be found, and
        the file is refused: its owner did not ask for a change."""
        status = os.stat(self._name, dir_fd=self._folder, follow_symlinks=False)
        if status.st_nlink < 2 or not stat.S_ISREG(status.st_mode):
            return
        searched = 0
        for folder, folders, names, fd in os.fwalk(".", dir_fd=self._root_fd):
            folders[:] = [one for one in folders if one != ".git"]
            for name in names:
                searched += 1
                found = os.stat(name, dir_fd=fd, follow_symlinks=False)
                path = f"{folder[2:]}/{name}" if folder != "." else name
                if (found.st_ino, found.st_dev) == (status.st_ino, status.st_dev) and path != self.change.path:
                    self._twins.append(path)
            if searched > MAX_LINKS_SEARCHED:
                break
        if len(self._twins) + 1 < status.st_nlink:
            raise WorkspaceError(
                f"{quote(self.change.path)} has another name (a hard link) outside the workspace",
                "copy it to a new file first, or edit it in the shell",
            )

    def _keep_attributes(self, fd: int) -> None:
        try:
            old = os.open(self._name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=self._folder)
        except OSError as error:
            if error.errno != errno.ELOOP:
                raise
            os.fchmod(fd, 0o644 if self.change.mode is None else self.change.mode)  # it was a link
            return
        try:
            status = os.fstat(old)
            mode = stat.S_IMODE(status.st_mode) if self.change.mode is None else self.change.mode
            with contextlib.suppress(PermissionError):  # another owner's file can be replaced, but not given back
                os.fchown(fd, status.st_uid, status.st_gid)
            os.fchmod(fd, mode)
            for name in os.listxattr(old):
                with contextlib.suppress(OSError):  # labels that only the system may set
                    os.setxattr(fd, name, os.getxattr(old, name))
        finally:
            os.close(old)

    def swap(self) -> None:
        """The moment of change; afterwards what was there is looked at again, and put back if it is not what was
        read."""
        if self.change.new is None:
            self._rename(self._name, self._temporary, RENAME_NOREPLACE)
        else:
            self._rename(self._temporary, self._name, RENAME_EXCHANGE if self.change.old else RENAME_NOREPLACE)
        self._swapped = True
        if self.change.old:
            try:
                self._check(self._temporary)
            except WorkspaceError:
                self.swap_back()
                raise

    def _rename(self, source: str, target: str, flags: int) -> None:
        result = _libc.renameat2(
            self._folder, os.fsencode(source), self._folder, os.fsencode(target), ctypes.c_uint(flags)
        )
        if result == 0:
            return
        error = ctypes.get_errno()
        if error not in (errno.EINVAL, errno.ENOSYS):
            raise OSError(error, os.strerror(error), self.change.path)
        # A file system without exchange: keep a second name for the old content, then rename over it.
        self._check(self._name)
        if flags == RENAME_EXCHANGE:
            old = f"{self._temporary[: -len(TEMPORARY_SUFFIX)]}-old{TEMPORARY_SUFFIX}"
            os.link(self._name, old, src_dir_fd=self._folder, dst_dir_fd=self._folder, follow_symlinks=False)
            os.rename(source, target, src_dir_fd=self._folder, dst_dir_fd=self._folder)
            self._temporary = old
            return
        os.rename(source, target, src_dir_fd=self._folder, dst_dir_fd=self._folder)

    def swap_back(self) -> None:
        if not self._swapped:
            return
        self._swapped = False
        if self.change.old:
            os.rename(self._temporary, self._name, src_dir_fd=self._folder, dst_dir_fd=self._folder)
        else:
            os.unlink(self._name, dir_fd=self._folder)

    def settle(self) -> None:
        """After all files are in place: the other names of this one follow. The folder is not flushed: after a power
        cut the old file is as whole as the new one."""
        for twin in self._twins:
            self._relink(twin)

    def _relink(self, twin: str) -> None:
        folder, _, name = twin.rpartition("/")
        if self.change.new is None:
            return
        fd = open_below(self._root_fd, folder or ".", os.O_PATH | os.O_DIRECTORY, links=False)
        try:
            beside = f"{TEMPORARY_PREFIX}{os.getpid()}-{secrets.token_hex(6)}{TEMPORARY_SUFFIX}"
            os.link(self._name, beside, src_dir_fd=self._folder, dst_dir_fd=fd, follow_symlinks=False)
            os.rename(beside, name, src_dir_fd=fd, dst_dir_fd=fd)
        finally:
            os.close(fd)

    def clean_up(self) -> None:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self._temporary, dir_fd=self._folder)


def digest_at(folder: int, name: str) -> str:
    """The SHA-256 of a file's bytes or a link's target; empty when there is nothing. Raises `OSError` (EISDIR, EINVAL)
    for what is neither."""
    try:
        status = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return ""
    if stat.S_ISLNK(status.st_mode):
        return hashlib.sha256(os.fsencode(os.readlink(name, dir_fd=folder))).hexdigest()
    if not stat.S_ISREG(status.st_mode):
        code = errno.EISDIR if stat.S_ISDIR(status.st_mode) else errno.EINVAL
        raise OSError(code, os.strerror(code), name)
    fd = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
    with os.fdopen(fd, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def why(path: str, error: OSError) -> str:
    """An `OSError` about a file in words."""
    name = quote(path)
    match error.errno:
        case errno.EXDEV | errno.ELOOP:
            return f"{name} leads outside the workspace"
        case errno.ENOTDIR | errno.EISDIR:
            return f"{name} is not a file"
        case errno.ENOSPC | errno.EDQUOT | errno.EFBIG:
            return f"{name} was not written: the disk is full; nothing was changed"
        case errno.EROFS | errno.EACCES | errno.EPERM:
            return f"{name} may not be written: {error.strerror}"
        case _:
            return f"{name}: {error.strerror}"
