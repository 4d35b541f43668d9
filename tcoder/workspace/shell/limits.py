"""What a command may use of the machine."""

import os
import re
from collections.abc import Collection, Sequence
from pathlib import Path

from msgspec import Struct

from tcoder.workspace.shell.processes import Process, resident_bytes


def _most_memory() -> int:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") * 3 // 4
    except (OSError, ValueError):
        return 8 << 30


_OUT_OF_MEMORY = re.compile(r"MemoryError|Cannot allocate memory|[Oo]ut of memory|bad_alloc|OutOfMemoryError")


class Limits(Struct, frozen=True):
    """`file_bytes` bounds each file that is written, `processes` and `memory_bytes` everything that runs in a shell at
    one time, `disk_bytes` what one command takes of the free space.

    The kernel holds the first; processes and memory where a control group can be made, else for each user and each
    process (`ulimit`). The shell watches the last three while a command runs, once a second, and ends the command that
    goes beyond.
    """

    file_bytes: int = 4 << 30
    processes: int = 1500
    memory_bytes: int = _most_memory()
    disk_bytes: int = 20 << 30

    def commands(self, held: Collection[str] = ()) -> str:
        """As bash's `ulimit`: no core files, bounded files, and what is not `held` by a control group ("pids",
        "memory"). Memory is bounded by what a process may write to, not by its addresses: runtimes reserve many times
        what they use."""
        words = ["ulimit -c 0;", f"ulimit -f {self.file_bytes // 1024};"]
        if "pids" not in held:
            words.append(f"ulimit -u {2 * self.processes};")
        if "memory" not in held:
            words.append(f"ulimit -d {self.memory_bytes // 1024};")
        return " ".join(words)

    def broken_by(self, processes: Sequence[Process], taken_bytes: int = 0) -> str:
        """Which limit these go beyond, or what they have taken of the disk, as a sentence; empty when none."""
        if len(processes) > self.processes:
            return f"it had started {len(processes)} processes; {self.processes} are allowed"
        used = sum(resident_bytes(process.pid) for process in processes)
        if used > self.memory_bytes:
            return f"it used {used >> 20} MiB of memory; {self.memory_bytes >> 20} MiB are allowed"
        if taken_bytes > self.disk_bytes:
            return f"it filled {taken_bytes >> 20} MiB of the disk; {self.disk_bytes >> 20} MiB are allowed"
        return ""

    def of_ending(self, status: int | None, printed: str) -> str:
        """What an exit status and the last that was printed say about a limit that the kernel held, as a sentence;
        empty when nothing."""
        if status == 128 + 25:  # SIGXFSZ
            return f"it was ended by the limit on files: {self.file_bytes >> 20} MiB each"
        if status and _OUT_OF_MEMORY.search(printed):
            return f"it seems to have met the limit on memory: {self.memory_bytes >> 20} MiB of memory are allowed"
        return ""


def free_bytes(folder: Path) -> int:
    """Free space of the file system of a folder; 0 when that cannot be told."""
    try:
        status = os.statvfs(folder)
    except OSError:
        return 0
    return status.f_bavail * status.f_frsize
