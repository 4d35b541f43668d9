"""The system-call filter of the sandbox, as classic BPF: what a build or test never needs and an escape does."""

import platform
import struct

EPERM = 1
ALLOW = 0x7FFF0000
ERRNO = 0x00050000
_LOAD_WORD = 0x20  # BPF_LD | BPF_W | BPF_ABS
_JUMP_EQUAL = 0x15  # BPF_JMP | BPF_JEQ | BPF_K
_JUMP_AT_LEAST = 0x35  # BPF_JMP | BPF_JGE | BPF_K
_RETURN = 0x06
_NUMBER, _ARCHITECTURE, _SECOND_ARGUMENT = 0, 4, 24
_X32_BIT = 0x40000000
TIOCSTI, TIOCLINUX = 0x5412, 0x541C

# Numbers from the kernel's system-call tables: tracing and reading other processes, io_uring, bpf, userfaultfd, the
# key ring, mounting and namespaces, kernel modules, rebooting.
DENIED: dict[str, tuple[int, tuple[int, ...], int]] = {
    "x86_64": (
        0xC000003E,
        (
            101, 310, 311, 312, 425, 426, 427, 321, 323, 248, 249, 250, 165, 166, 155, 428, 429, 430, 431, 432, 433,
            442, 272, 308, 175, 176, 313, 169, 246, 320, 167, 168, 298, 304, 438,
        ),
        16,
    ),
    "aarch64": (
        0xC00000B7,
        (
            117, 270, 271, 272, 425, 426, 427, 280, 282, 217, 218, 219, 40, 39, 41, 428, 429, 430, 431, 432, 433, 442,
            97, 268, 105, 106, 273, 142, 104, 294, 224, 225, 241, 265, 438,
        ),
        29,
    ),
}  # fmt: skip


def program(machine: str = "") -> bytes:
    """The filter for a machine (`platform.machine()`), empty where none is known."""
    table = DENIED.get(machine or platform.machine())
    if table is None:
        return b""
    architecture, denied, ioctl = table
    code: list[tuple[int, int, int, int]] = [
        (_LOAD_WORD, 0, 0, _ARCHITECTURE),
        (_JUMP_EQUAL, 1, 0, architecture),
        (_RETURN, 0, 0, ERRNO | EPERM),
        (_LOAD_WORD, 0, 0, _NUMBER),
        (_JUMP_AT_LEAST, 0, 1, _X32_BIT),
        (_RETURN, 0, 0, ERRNO | EPERM),
    ]
    for number in denied:
        code += [(_JUMP_EQUAL, 0, 1, number), (_RETURN, 0, 0, ERRNO | EPERM)]
    code += [
        (_JUMP_EQUAL, 0, 4, ioctl),
        (_LOAD_WORD, 0, 0, _SECOND_ARGUMENT),
        (_JUMP_EQUAL, 1, 0, TIOCSTI),
        (_JUMP_EQUAL, 0, 1, TIOCLINUX),
        (_RETURN, 0, 0, ERRNO | EPERM),
        (_RETURN, 0, 0, ALLOW),
    ]
    return b"".join(struct.pack("<HBBI", *instruction) for instruction in code)
