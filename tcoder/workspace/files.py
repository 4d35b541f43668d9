"""Reading and writing files of the workspace: whole, checked, without a spawned process.

A text keeps its bytes: what is decoded is encoded again the same way, so nothing outside a change is touched.
"""

import contextlib
import errno
import hashlib
import os
import secrets
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

from msgspec import Struct

from tcoder.protocol.errors import WorkspaceError
from tcoder.workspace.paths import kind_of, open_below, refuse_protected, relative

MAX_BYTES = 20_000_000

BOMS = (
    (b"\xef\xbb\xbf", "utf-8-sig"),
    (b"\xff\xfe\x00\x00", "utf-32"),
    (b"\xff\xfe", "utf-16"),
    (b"\xfe\xff", "utf-16"),
)


class FileText(Struct, frozen=True):
    """A file as read. `text` keeps every line ending as it is; `digest` is of the bytes; `mode` the permission bits."""

    path: str
    text: str
    encoding: str
    digest: str
    mode: int

    def encode(self, text: str) -> bytes:
        """`text` in this file's encoding, BOM included. Raises `WorkspaceError` when it cannot hold a character."""
        return encode_text(text, self.encoding, self.path)


class FileWrite(Protocol):
    """One file of a patch as it is to be: `new` None = removed, `old` None = it was not there."""

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
    def writes(self) -> tuple[FileWrite, ...]: ...


def digest_of(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def decode_text(data: bytes) -> tuple[str, str]:
    """The text and the encoding that gives the same bytes back: by BOM, UTF-8, else Latin-1, which always does."""
    for mark, encoding in BOMS:
        if data.startswith(mark):
            with contextlib.suppress(UnicodeDecodeError):
                text = data.decode(encoding)
                if encode_text(text, _marked(mark, encoding), "") == data:
                    return text, _marked(mark, encoding)
    with contextlib.suppress(UnicodeDecodeError):
        return data.decode("utf-8"), "utf-8"
    return data.decode("latin-1"), "latin-1"


def _marked(mark: bytes, encoding: str) -> str:
    return {b"\xfe\xff": "utf-16-be+bom", b"\xff\xfe": "utf-16-le+bom"}.get(mark, encoding)


def encode_text(text: str, encoding: str, path: str) -> bytes:
    """The inverse of `decode_text`."""
    try:
        if encoding == "utf-16-be+bom":
            return b"\xfe\xff" + text.encode("utf-16-be")
        if encoding == "utf-16-le+bom":
            return b"\xff\xfe" + text.encode("utf-16-le")
        return text.encode(encoding)
    except UnicodeEncodeError as error:
        raise WorkspaceError(f"{path} is {encoding} and cannot hold {text[error.start]!r}") from error


class WorkspaceFiles:
    """The files below one folder."""

    def __init__(self, root: Path) -> None:
        self.root = root
        try:
            self._root_fd = os.open(root, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError as error:
            raise WorkspaceError(f"cannot open {root}: {error.strerror}") from error

    def resolve(self, path: str) -> str:
        """`path` relative to the root. Raises `WorkspaceError`."""
        return relative(self.root, path)

    def read(self, path: str) -> FileText:
        """Read a regular file. Raises `WorkspaceError` for what is missing, too big, outside or no file."""
        file = self.read_if_there(path)
        if file is None:
            raise WorkspaceError(f"there is no file {path}", "search for it, or list its folder with outline")
        return file

    def read_if_there(self, path: str) -> FileText | None:
        """Like `read`, None when there is no such file."""
        name = self.resolve(path)
        try:
            fd = open_below(self._root_fd, name, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise WorkspaceError(_why(name, error)) from error
        with os.fdopen(fd, "rb") as file:
            status = os.fstat(file.fileno())
            if what := kind_of(status.st_mode):
                raise WorkspaceError(f"{name} is {what}, not a file")
            if status.st_size > MAX_BYTES:
                raise WorkspaceError(f"{name} is {status.st_size} bytes, more than {MAX_BYTES}", "read it in the shell")
            data = file.read(MAX_BYTES + 1)
            name = self._real_name(file.fileno(), name)
        text, encoding = decode_text(data)
        return FileText(name, text, encoding, digest_of(data), stat.S_IMODE(status.st_mode))

    def _real_name(self, fd: int, name: str) -> str:
        """Where the file really is below the root: a write must go through a symlink, not replace it."""
        real = os.readlink(f"/proc/self/fd/{fd}") if os.path.isdir("/proc/self/fd") else ""
        base = f"{self.root}/"
        return real[len(base) :] if real.startswith(base) else name

    def commit_writes(self, patch: Writes, expected: Mapping[str, str]) -> None:
        """Write every file of a patch or none. `expected` holds the digest of each file as it was read; a file that
        has changed since is left alone and nothing is written. Raises `WorkspaceError`."""
        with contextlib.ExitStack() as stack:
            staged = [self._stage(write, expected.get(write.path), stack) for write in patch.writes]
            done: list[_Staged] = []
            try:
                for item in staged:
                    item.swap()
                    done.append(item)
            except OSError as error:
                for item in reversed(done):
                    item.swap_back()
                raise WorkspaceError(_why(staged[len(done)].write.path, error)) from error

    def _stage(self, write: FileWrite, digest: str | None, stack: contextlib.ExitStack) -> "_Staged":
        refuse_protected(write.path)
        current = self.read_if_there(write.path)
        if (current.digest if current else None) != digest:
            raise WorkspaceError(f"{write.path} was changed by somebody else meanwhile", "read it again, then edit")
        try:
            folder = self._open_folder(write.path.rpartition("/")[0], stack)
            staged = _Staged(write, folder)
            stack.callback(staged.clean_up)
            staged.write_temporary()
        except OSError as error:
            raise WorkspaceError(_why(write.path, error)) from error
        return staged

    def _open_folder(self, path: str, stack: contextlib.ExitStack) -> int:
        """A descriptor of a folder below the root, made when it is missing."""
        folder_flags = os.O_PATH | os.O_DIRECTORY
        current = self._root_fd
        parts = path.split("/") if path else []
        for depth, part in enumerate(parts, 1):
            below = "/".join(parts[:depth])
            try:
                following = open_below(self._root_fd, below, folder_flags)
            except FileNotFoundError:
                os.mkdir(part, dir_fd=current)
                following = open_below(self._root_fd, below, folder_flags)
            stack.callback(os.close, following)
            current = following
        return current


class _Staged:
    """One file of a patch on its way: the new content beside its place, then swapped in by one rename."""

    def __init__(self, write: FileWrite, folder: int) -> None:
        self.write = write
        self._folder = folder
        self._name = write.path.rpartition("/")[2]
        self._temporary = f".{self._name[:100]}.{secrets.token_hex(6)}.tmp"
        self._backup = f".{self._name[:100]}.{secrets.token_hex(6)}.old"

    def write_temporary(self) -> None:
        """The new content on the disk; also a second name for the old, so that a later failure can be undone."""
        if self.write.old is not None:
            os.link(self._name, self._backup, src_dir_fd=self._folder, dst_dir_fd=self._folder)
        if self.write.new is None:
            return
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        fd = os.open(self._temporary, flags, 0o666, dir_fd=self._folder)
        with os.fdopen(fd, "wb") as file:
            file.write(self.write.new)
            file.flush()
            if self.write.old is not None:
                self._keep_attributes(file.fileno())
            elif self.write.mode is not None:
                os.fchmod(file.fileno(), self.write.mode)
            os.fsync(file.fileno())

    def _keep_attributes(self, fd: int) -> None:
        old = os.open(self._name, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=self._folder)
        try:
            status = os.fstat(old)
            mode = stat.S_IMODE(status.st_mode) if self.write.mode is None else self.write.mode
            with contextlib.suppress(PermissionError):  # another owner's file can be replaced, but not given back
                os.fchown(fd, status.st_uid, status.st_gid)
            os.fchmod(fd, mode)
            for name in os.listxattr(old):
                with contextlib.suppress(OSError):  # labels that only the system may set
                    os.setxattr(fd, name, os.getxattr(old, name))
        finally:
            os.close(old)

    def swap(self) -> None:
        if self.write.new is None:
            os.unlink(self._name, dir_fd=self._folder)
        else:
            os.rename(self._temporary, self._name, src_dir_fd=self._folder, dst_dir_fd=self._folder)

    def swap_back(self) -> None:
        if self.write.old is None:
            os.unlink(self._name, dir_fd=self._folder)
        else:
            os.rename(self._backup, self._name, src_dir_fd=self._folder, dst_dir_fd=self._folder)

    def clean_up(self) -> None:
        for name in (self._temporary, self._backup):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(name, dir_fd=self._folder)


def _why(path: str, error: OSError) -> str:
    match error.errno:
        case errno.EXDEV | errno.ELOOP:
            return f"{path} leads outside the workspace"
        case errno.ENOTDIR | errno.EISDIR:
            return f"{path} is not a file"
        case errno.ENOSPC | errno.EDQUOT:
            return f"{path} was not written: the disk is full; nothing was changed"
        case _:
            return f"{path}: {error.strerror}"
