"""Reading and writing files of the workspace: whole, checked, without a spawned process."""

import errno
import os
import stat
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

from msgspec import Struct

from tcoder.protocol.errors import WorkspaceError
from tcoder.workspace.files import atomic
from tcoder.workspace.files.paths import is_temporary, kind_of, open_below, quote, refuse_protected, relative
from tcoder.workspace.files.text import FileText, digest_of

__all__ = ["MAX_BYTES", "FileText", "ListedFile", "WorkspaceFiles", "digest_of"]

MAX_BYTES = 20_000_000
STRANGE = ("/proc/", "/sys/", "/dev/")


class FileWrite(Protocol):
    """One file of a patch as it is to be: `new` None = removed, `old` None = it was not there, `mode` None = as it
    was."""

    @property
    def path(self) -> str: ...
    @property
    def old(self) -> bytes | None: ...
    @property
    def new(self) -> bytes | None: ...
    @property
    def mode(self) -> int | None: ...


class Writes(Protocol):
    @property
    def writes(self) -> Sequence[FileWrite]: ...


class ListedFile(Struct, frozen=True):
    """A name in a folder: `kind` is empty for a file, else words such as `a folder` or `a pipe`."""

    name: str
    kind: str
    size: int


class WorkspaceFiles:
    """The files below one folder. Nothing outside it is ever opened: not by `..`, a symlink, nor a path that changes
    between the check and the use."""

    def __init__(self, root: Path) -> None:
        self.root = root
        try:
            self._root_fd = os.open(root, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError as error:
            raise WorkspaceError(f"cannot open {root}: {error.strerror}") from error

    def resolve(self, path: str) -> str:
        """`path` relative to the root, in normal form. Raises `WorkspaceError`."""
        return relative(self.root, path)

    def read(self, path: str, *, limit: int = MAX_BYTES) -> FileText:
        """Read a regular file. Raises `WorkspaceError` for what is missing, bigger than `limit` bytes, outside or no
        file."""
        file = self.read_if_there(path, limit=limit)
        if file is None:
            raise WorkspaceError(f"there is no file {path}", "search for it, or list its folder with outline")
        return file

    def read_if_there(self, path: str, *, limit: int = MAX_BYTES) -> FileText | None:
        """Like `read`, None when there is no such file."""
        name = self.resolve(path)
        try:
            fd = open_below(self._root_fd, name, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY)
        except FileNotFoundError:
            if self._is_link(name):
                raise WorkspaceError(f"{path} is a symbolic link to nothing", "remove it in the shell first") from None
            return None
        except OSError as error:
            raise WorkspaceError(self._why(name, error)) from error
        status = os.fstat(fd)
        if what := kind_of(status.st_mode):
            os.close(fd)
            raise WorkspaceError(f"{path} is {what}, not a file")
        with os.fdopen(fd, "rb") as file:
            if status.st_size > limit:
                raise WorkspaceError(f"{path} is {status.st_size} bytes, more than {limit}", "read it in the shell")
            data = file.read(limit + 1)
            real = self._real_name(file.fileno(), name)
        if f"{self.root}/{real}".replace("//", "/").startswith(STRANGE):
            raise WorkspaceError(f"{path} is not a file of a project")
        if len(data) > limit:
            raise WorkspaceError(f"{path} is more than {limit} bytes", "read it in the shell")
        link = name if real != name and self._is_link(name) else ""
        return FileText.of(real, data, stat.S_IMODE(status.st_mode), link)

    def _why(self, name: str, error: OSError) -> str:
        if error.errno in (errno.ENXIO, errno.EOPNOTSUPP):
            return f"{quote(name)} is a socket or a device, not a file"
        return atomic.why(name, error)

    def _is_link(self, name: str) -> bool:
        try:
            fd = open_below(self._root_fd, name, os.O_PATH | os.O_NOFOLLOW)
        except OSError:
            return False
        try:
            return stat.S_ISLNK(os.fstat(fd).st_mode)
        finally:
            os.close(fd)

    def _real_name(self, fd: int, name: str) -> str:
        """Where the file really is below the root: a write must go through a symlink, not replace it."""
        try:
            real, base = os.readlink(f"/proc/self/fd/{fd}"), os.readlink(f"/proc/self/fd/{self._root_fd}")
        except OSError:
            return name
        return real[len(base) :].lstrip("/") if real.startswith(f"{base.rstrip('/')}/") else name

    def listing(self, path: str = ".") -> tuple[ListedFile, ...]:
        """What is in a folder, by name. Raises `WorkspaceError`."""
        name = self.resolve(path)
        try:
            fd = open_below(self._root_fd, name, os.O_RDONLY | os.O_DIRECTORY)
        except OSError as error:
            if error.errno == errno.ENOTDIR:
                raise WorkspaceError(f"{path} is not a folder") from error
            raise WorkspaceError(self._why(name, error)) from error
        found: list[ListedFile] = []
        try:
            with os.scandir(fd) as entries:
                for entry in entries:
                    if is_temporary(entry.name):
                        continue
                    status = entry.stat(follow_symlinks=False)
                    kind = "a link" if stat.S_ISLNK(status.st_mode) else kind_of(status.st_mode)
                    found.append(ListedFile(quote(entry.name), kind, status.st_size))
        except OSError as error:
            raise WorkspaceError(self._why(name, error)) from error
        finally:
            os.close(fd)
        return tuple(sorted(found, key=lambda one: one.name))

    def commit_writes(self, patch: Writes, expected: Mapping[str, str]) -> None:
        """Write every file of a patch or none. `expected` holds the digest of each file as it was read; a file that
        has changed since is left alone and nothing is written. Raises `WorkspaceError`."""
        changes = [
            atomic.Change(name, expected.get(write.path, expected.get(name, "")), write.new, write.mode)
            for write, name in self._named(patch.writes)
        ]
        self.commit(changes)

    def _named(self, writes: Sequence[FileWrite]) -> list[tuple[FileWrite, str]]:
        named = [(write, self._writable(write)) for write in writes]
        names = [name for _, name in named]
        if len(set(names)) < len(names):
            raise WorkspaceError("the patch names one file in two ways", "use one path for each file")
        return named

    def _writable(self, write: FileWrite) -> str:
        name = self.resolve(write.path)
        refuse_protected(name)
        last = name.rpartition("/")[2]
        if write.old is None and last != last.rstrip(" ."):
            raise WorkspaceError(f"{write.path!r} ends with a space or dot", "choose another name")
        if name == ".":
            raise WorkspaceError(f"{write.path} is a folder, not a file")
        return self._through_links(name, new=write.old is None)

    def _through_links(self, name: str, *, new: bool) -> str:
        """The name without symlinks in its folders, for a new file below a linked folder. What exists has its real
        name already."""
        folder, _, last = name.rpartition("/")
        if not new or not folder:
            return name
        try:
            fd = open_below(self._root_fd, folder, os.O_PATH | os.O_DIRECTORY)
        except FileNotFoundError:
            return name
        except OSError as error:
            raise WorkspaceError(self._why(name, error)) from error
        try:
            real = self._real_name(fd, folder)
        finally:
            os.close(fd)
        refuse_protected(real)
        return f"{real}/{last}"

    def commit(self, changes: Sequence[atomic.Change]) -> None:
        """Make all changes or none. Raises `WorkspaceError`; then every file is as it was."""
        for change in changes:
            refuse_protected(change.path)
        atomic.commit(self._root_fd, changes)
