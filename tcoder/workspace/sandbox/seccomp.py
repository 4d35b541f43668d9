"""The system-call filter of the sandbox: what a build or a test never needs and an escape does.

The filters lie beside this module as classic BPF, one file for each machine, ready for bubblewrap to load.
`python -m tcoder.workspace.sandbox.seccomp` writes them again from the tables below; a test compares.
"""

import os
import platform
import struct
from pathlib import Path

from msgspec import Struct

_EPERM = 1
_ALLOW = 0x7FFF0000
_ERRNO = 0x00050000
_LOAD = 0x20  # BPF_LD | BPF_W | BPF_ABS
_IF_EQUAL = 0x15  # BPF_JMP | BPF_JEQ | BPF_K
_IF_AT_LEAST = 0x35  # BPF_JMP | BPF_JGE | BPF_K
_RETURN = 0x06
_NUMBER, _ARCHITECTURE, _FIRST, _SECOND = 0, 4, 16, 24  # offsets in struct seccomp_data, low halves of arguments
_X32 = 0x40000000
_TIOCSTI, _TIOCLINUX = 0x5412, 0x541C
_AF_ALG, _AF_VSOCK = 38, 40


class Table(Struct, frozen=True):
    """Numbers of one machine's system calls, from the kernel's tables."""

    architecture: int
    ioctl: int
    socket: int
    denied: tuple[int, ...]


_SHARED = (
    425,
    426,
    427,
    428,
    429,
    430,
    431,
    432,
    433,
    438,
    442,
    443,
)  # io_uring, new mount calls, pidfd_getfd, quotactl_fd

# In this order: ptrace, process_vm_readv/writev, kcmp, bpf, userfaultfd, add_key, request_key, keyctl, mount, umount2,
# pivot_root, chroot, unshare, setns, init_module, delete_module, finit_module, reboot, kexec_load, kexec_file_load,
# swapon, swapoff, perf_event_open, open_by_handle_at, acct, quotactl, settimeofday, clock_settime, and on x86 iopl,
# ioperm.
TABLES = {
    "x86_64": Table(
        0xC000003E, 16, 41,
        (101, 310, 311, 312, 321, 323, 248, 249, 250, 165, 166, 155, 161, 272, 308, 175, 176, 313, 169, 246, 320, 167,
         168, 298, 304, 163, 179, 164, 227, 172, 173, *_SHARED),
    ),
    "aarch64": Table(
        0xC00000B7, 29, 198,
        (117, 270, 271, 272, 280, 282, 217, 218, 219, 40, 39, 41, 51, 97, 268, 105, 106, 273, 142, 104, 294, 224, 225,
         241, 265, 89, 60, 170, 112, *_SHARED),
    ),
}  # fmt: skip


def build(table: Table) -> bytes:
    """The filter: another architecture and x32 are refused whole, then each denied call, two ioctls that type into a
    terminal, and two socket families. Refused calls fail with EPERM."""
    refuse = (_RETURN, 0, 0, _ERRNO | _EPERM)
    code: list[tuple[int, int, int, int]] = [
        (_LOAD, 0, 0, _ARCHITECTURE),
        (_IF_EQUAL, 1, 0, table.architecture),
        refuse,
        (_LOAD, 0, 0, _NUMBER),
        (_IF_AT_LEAST, 0, 1, _X32),
        refuse,
    ]
    for number in table.denied:
        code += [(_IF_EQUAL, 0, 1, number), refuse]
    for number, argument, values in (
        (table.ioctl, _SECOND, (_TIOCSTI, _TIOCLINUX)),
        (table.socket, _FIRST, (_AF_ALG, _AF_VSOCK)),
    ):
        code += [
            (_IF_EQUAL, 0, 5, number),
            (_LOAD, 0, 0, argument),
            (_IF_EQUAL, 1, 0, values[0]),
            (_IF_EQUAL, 0, 1, values[1]),
            refuse,
            (_LOAD, 0, 0, _NUMBER),
        ]
    code.append((_RETURN, 0, 0, _ALLOW))
    return b"".join(struct.pack("<HBBI", *instruction) for instruction in code)


def filter_file(machine: str) -> Path:
    return Path(__file__).with_name(f"seccomp_{machine}.bpf")


def open_filter() -> int | None:
    """An inheritable descriptor of a memory file with the filter, None where none is known for this machine."""
    path = filter_file(platform.machine())
    if not path.is_file():
        return None
    descriptor = os.memfd_create("filter", 0)
    os.write(descriptor, path.read_bytes())
    os.lseek(descriptor, 0, os.SEEK_SET)
    os.set_inheritable(descriptor, True)
    return descriptor


if __name__ == "__main__":
    for machine, table in TABLES.items():
        filter_file(machine).write_bytes(build(table))
