"""What a command may use of the machine."""

import os
from collections.abc import Sequence

from msgspec import Struct

from tcoder.workspace.shell.processes import Process, resident_bytes


def _most_memory() -> int:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") * 3 // 4
    except (OSError, ValueError):
        return 8 << 30


class Limits(Struct, frozen=True):
    """`file_bytes` bounds each file that is written, `processes` and `memory_bytes` everything that runs in a shell at
    one time. The kernel holds the first, and the second where a control group can be made or the user is not root; the
    shell watches both and the third while a command runs, once a second, and ends the command that goes beyond."""

    file_bytes: int = 4 << 30
    processes: int = 1500
    memory_bytes: int = _most_memory()

    def commands(self) -> str:
        """As bash's `ulimit`: no core files, bounded files and processes."""
        return f"ulimit -c 0; ulimit -f {self.file_bytes // 1024}; ulimit -u {2 * self.processes};"

    def broken_by(self, processes: Sequence[Process]) -> str:
        """Which limit these go beyond, as a sentence; empty when none."""
        if len(processes) > self.processes:
            return f"it had started {len(processes)} processes; {self.processes} are allowed"
        used = sum(resident_bytes(process.pid) for process in processes)
        if used > self.memory_bytes:
            return f"it used {used >> 20} MiB of memory; {self.memory_bytes >> 20} MiB are allowed"
        return ""
