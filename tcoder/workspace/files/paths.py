"""Opening paths below the workspace root, and nothing else: by openat2 where the kernel has it, else component by
component. Neither `..`, an absolute path, nor a symlink leads outside."""

import ctypes
import errno
import os
import re
import stat
import unicodedata
from pathlib import Path

from tcoder.protocol.errors import WorkspaceError

RESOLVE_NO_MAGICLINKS = 0x02
RESOLVE_NO_SYMLINKS = 0x04
RESOLVE_BENEATH = 0x08
_SYS_OPENAT2 = 437
PROTECTED = frozenset({".git", ".tcoder"})
TEMPORARY_PREFIX = ".tcoder-"
TEMPORARY_SUFFIX = ".tmp"
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
_ENCODED = re.compile(r"%(?:2[eEfF]|5[cC]|00)")
_ESCAPE = re.compile(r"\\([0-7]{3}|.)", re.DOTALL)
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}


class _OpenHow(ctypes.Structure):
    _fields_ = [("flags", ctypes.c_uint64), ("mode", ctypes.c_uint64), ("resolve", ctypes.c_uint64)]


_libc = ctypes.CDLL(None, use_errno=True)


def relative(root: Path, path: str) -> str:
    """`path` as the model wrote it, relative to `root` in normal form. An absolute path below the root is accepted.
    Raises `WorkspaceError` for what leads outside or cannot be a path."""
    if not path or "\0" in path or _URL.match(path):
        raise WorkspaceError(f"{path!r} is not a path", "use a path relative to the repository")
    text = unquote(path)
    if text.startswith(("/", "~/")) or text == "~":
        base = str(root)
        if text != base and not text.startswith(f"{base.rstrip('/')}/"):
            raise WorkspaceError(f"{path} is outside the workspace", "use a path relative to the repository")
        text = text[len(base) :].lstrip("/")
    parts: list[str] = []
    for part in text.split("/"):
        if part in ("", "."):
            continue
        if _ENCODED.search(part):
            raise WorkspaceError(f"{path} is not a path", "write it without % escapes")
        if part == "..":
            if not parts:
                raise WorkspaceError(f"{path} is outside the workspace", "use a path relative to the repository")
            parts.pop()
        else:
            parts.append(part)
    return "/".join(parts) or "."


def quote(name: str) -> str:
    """A file name as text: one that is not UTF-8 in git's notation, `"caf\\351"`. Names read with `os.fsdecode`."""
    if name.isascii() or not any("\udc80" <= character <= "\udcff" for character in name):
        return name
    parts = [chr(byte) if 0x20 <= byte < 0x7F and byte not in b'"\\' else f"\\{byte:03o}" for byte in os.fsencode(name)]
    return f'"{"".join(parts)}"'


def unquote(text: str) -> str:
    """The inverse of `quote`; also takes what git prints for names with special characters."""
    if len(text) < 2 or not (text.startswith('"') and text.endswith('"')) or "\\" not in text:
        return text
    out = bytearray()
    position, body = 0, text[1:-1]
    while position < len(body):
        match = _ESCAPE.match(body, position)
        if match is None:
            out += os.fsencode(body[position])
            position += 1
            continue
        escape = match[1]
        out += bytes([int(escape, 8) & 0xFF]) if escape.isdigit() else _ESCAPES.get(escape, escape).encode()
        position = match.end()
    return os.fsdecode(bytes(out))


def refuse_protected(path: str) -> None:
    """Raise `WorkspaceError` when a write to `path` would touch what tcoder and git keep, in any spelling that a file
    system without case or normal form would take for it."""
    for part in path.split("/"):
        folded = fold(part)
        if folded in PROTECTED or folded.startswith("git~"):
            raise WorkspaceError(f"{path} is protected", f"{part} may not be edited")


def fold(part: str) -> str:
    """A name as the most forgiving file system would compare it."""
    folded = unicodedata.normalize("NFKC", part).casefold().partition(":")[0].rstrip(". ")
    return "".join(character for character in folded if unicodedata.category(character) != "Cf")


def is_temporary(name: str) -> bool:
    """Whether a name is one of a file that is just being written by tcoder, or was when it was killed."""
    return name.startswith(TEMPORARY_PREFIX) and name.endswith(TEMPORARY_SUFFIX)


def open_below(root_fd: int, path: str, flags: int, mode: int = 0o666, *, links: bool = True) -> int:
    """A file descriptor for `path` below the folder `root_fd`; `links` = symlinks that stay below are followed.
    Raises `OSError` (EXDEV for what leads outside, ELOOP for a link that may not be followed)."""
    resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS | (0 if links else RESOLVE_NO_SYMLINKS)
    how = _OpenHow(flags | os.O_CLOEXEC, mode if flags & os.O_CREAT else 0, resolve)
    fd = _libc.syscall(_SYS_OPENAT2, root_fd, ctypes.c_char_p(os.fsencode(path)), ctypes.byref(how), ctypes.sizeof(how))
    if fd >= 0:
        return fd
    error = ctypes.get_errno()
    if error in (errno.ENOSYS, errno.EPERM, errno.EINVAL):
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
