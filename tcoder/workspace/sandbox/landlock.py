"""A reduced sandbox for Linux machines where bubblewrap does not hold: Landlock alone.

It bounds where files are written and, from ABI 4 on, refuses TCP connections. It does not hide secrets or other
processes, does not stop UDP, cannot protect `.git` inside of a writable folder, and keeps no process from outliving
the shell. So it is never chosen silently: a report of it says "reduced", and `holds` stays false.
"""

import ctypes
import os
import platform
import struct
import sys
from collections.abc import Iterable
from pathlib import Path

_CREATE, _ADD, _RESTRICT = 444, 445, 446  # the same numbers on x86_64 and aarch64
_NO_NEW_PRIVILEGES = 38
_PATH_BENEATH = 1
_VERSION = 1

_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
_CHANGE = sum(1 << bit for bit in range(4, 13))  # remove and make files, folders, links, devices, sockets
_REFER, _TRUNCATE, _IOCTL_DEVICE = 1 << 13, 1 << 14, 1 << 15
_CONNECT_TCP = 1 << 1
_FILE_RIGHTS = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE | _IOCTL_DEVICE


def abi() -> int:
    """The kernel's Landlock version, 0 when there is none."""
    if sys.platform != "linux" or platform.machine() not in ("x86_64", "aarch64"):
        return 0
    return max(_libc().syscall(_CREATE, None, ctypes.c_size_t(0), ctypes.c_uint32(_VERSION)), 0)


def handled_rights(version: int) -> tuple[int, int]:
    """What a ruleset of this version decides on: file system rights that are about writing, and network rights.
    Reading stays free, since it cannot be taken from a part of a folder."""
    writing = _WRITE_FILE | _CHANGE
    if version >= 2:
        writing |= _REFER
    if version >= 3:
        writing |= _TRUNCATE
    return writing, _CONNECT_TCP if version >= 4 else 0


def restrict(writable: Iterable[Path], *, network: bool) -> None:
    """Restrict this thread and what it starts, for good: writing only below `writable` and to /dev, no new privileges.
    Meant for a child process before it executes. Raises `OSError`."""
    version = abi()
    files, sockets = handled_rights(version)
    libc = _libc()
    attributes = struct.pack("<QQ", files, 0 if network else sockets)[: 16 if version >= 4 else 8]
    ruleset = _checked(libc.syscall(_CREATE, attributes, ctypes.c_size_t(len(attributes)), ctypes.c_uint32(0)))
    try:
        for path in (*writable, Path("/dev")):
            _allow(libc, ruleset, path, files)
        _checked(libc.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0))
        _checked(libc.syscall(_RESTRICT, ruleset, ctypes.c_uint32(0)))
    finally:
        os.close(ruleset)


def _allow(libc: ctypes.CDLL, ruleset: int, path: Path, rights: int) -> None:
    descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
    try:
        allowed = rights if path.is_dir() else rights & _FILE_RIGHTS
        rule = struct.pack("<Qi", allowed, descriptor)
        _checked(libc.syscall(_ADD, ruleset, _PATH_BENEATH, rule, ctypes.c_uint32(0)))
    finally:
        os.close(descriptor)


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _checked(result: int) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result
