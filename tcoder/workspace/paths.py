"""Opening paths below the workspace root, and nothing else: by openat2 where the kernel has it, else component by
component. Neither `..`, an absolute path, nor a symlink leads outside."""

import ctypes
import errno
import os
import stat
import unicodedata
from pathlib import Path

from tcoder.protocol.errors import WorkspaceError

RESOLVE_NO_MAGICLINKS = 0x02
RESOLVE_BENEATH = 0x08
_SYS_OPENAT2 = 437
PROTECTED = frozenset({".git", ".tcoder"})


class _OpenHow(ctypes.Structure):
    _fields_ = [("flags", ctypes.c_uint64), ("mode", ctypes.c_uint64), ("resolve", ctypes.c_uint64)]


_libc = ctypes.CDLL(None, use_errno=True)


def relative(root: Path, path: str) -> str:
    """`path` as the model wrote it, relative to `root` in normal form. An absolute path below the root is accepted.
    Raises `WorkspaceError` for what leads outside or cannot be a path."""
    if not path or "\0" in path or "\n" in path:
        raise WorkspaceError(f"{path!r} is not a path")
    text = path
    if text.startswith(("/", "~")):
        base = str(root)
        if text != base and not text.startswith(f"{base.rstrip('/')}/"):
            raise WorkspaceError(f"{path} is outside the workspace", "use a path relative to the repository")
        text = text[len(base) :].lstrip("/")
    parts: list[str] = []
    for part in text.split("/"):
        if part in ("", "."):
            continue
        if part == "..":
            if not parts:
                raise WorkspaceError(f"{path} is outside the workspace", "use a path relative to the repository")
            parts.pop()
        else:
            parts.append(part)
    return "/".join(parts) or "."


def refuse_protected(path: str) -> None:
    """Raise `WorkspaceError` when a write to `path` would touch what tcoder and git keep, in any spelling that a file
    system without case or normal form would take for it."""
    for part in path.split("/"):
        folded = unicodedata.normalize("NFKC", part).casefold().rstrip(". ")
        folded = "".join(c for c in folded if unicodedata.category(c) != "Cf")
        if folded in PROTECTED or folded.startswith("git~"):
            raise WorkspaceError(f"{path} is protected", f"{part} may not be edited")


def open_below(root_fd: int, path: str, flags: int, mode: int = 0o666) -> int:
    """A file descriptor for `path` below the folder `root_fd`. Raises `OSError` (EXDEV for what leads outside)."""
    how = _OpenHow(flags | os.O_CLOEXEC, mode if flags & os.O_CREAT else 0, RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS)
    fd = _libc.syscall(_SYS_OPENAT2, root_fd, ctypes.c_char_p(os.fsencode(path)), ctypes.byref(how), ctypes.sizeof(how))
    if fd >= 0:
        return fd
    error = ctypes.get_errno()
    if error in (errno.ENOSYS, errno.EPERM):
        return _walk(root_fd, path, flags, mode)
    raise OSError(error, os.strerror(error), path)


def _walk(root_fd: int, path: str, flags: int, mode: int) -> int:
    """Open component by component, following no symlink at all."""
    *folders, name = path.split("/")
    current = os.dup(root_fd)
    try:
        for folder in folders:
            below = os.open(folder, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=current)
            os.close(current)
            current = below
        return os.open(name, flags | os.O_NOFOLLOW | os.O_CLOEXEC, mode, dir_fd=current)
    finally:
        os.close(current)


def kind_of(mode: int) -> str:
    """What a file is, in words, from its `st_mode`; empty for a regular file."""
    names = (
        (stat.S_ISDIR, "a folder"),
        (stat.S_ISFIFO, "a pipe"),
        (stat.S_ISSOCK, "a socket"),
        (stat.S_ISCHR, "a device"),
        (stat.S_ISBLK, "a device"),
    )
    return next((name for test, name in names if test(mode)), "")
