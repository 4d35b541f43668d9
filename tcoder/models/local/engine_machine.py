"""What this machine offers: cores and memory, a container's limits included."""

import math
import os
from pathlib import Path

_GROUP = Path("/sys/fs/cgroup")


def usable_cores() -> int:
    """Cores that this process may keep busy: its affinity, cut by the container's quota."""
    try:
        cores = len(os.sched_getaffinity(0))
    except AttributeError:  # not on every system
        cores = os.cpu_count() or 1
    quota, _, period = _read(_GROUP / "cpu.max").strip().partition(" ")
    if quota.isdigit() and period.isdigit() and int(period):
        cores = min(cores, math.ceil(int(quota) / int(period)))
    return max(cores, 1)


def available_memory() -> int | None:
    """Bytes that can be had without swapping; None when the system does not say."""
    free: int | None = None
    for line in _read(Path("/proc/meminfo")).splitlines():
        if line.startswith("MemAvailable:"):
            free = int(line.split()[1]) * 1024
    limit, used = _read(_GROUP / "memory.max").strip(), _read(_GROUP / "memory.current").strip()
    if limit.isdigit() and used.isdigit():
        left = int(limit) - int(used) + _reclaimable()
        free = left if free is None else min(free, left)
    return free


def _reclaimable() -> int:
    """Page cache that a container counts as used and gives back on demand."""
    for line in _read(_GROUP / "memory.stat").splitlines():
        if line.startswith("inactive_file "):
            return int(line.split()[1])
    return 0


def _read(path: Path) -> str:
    """Empty where the system has no such file."""
    try:
        return path.read_text(encoding="ascii", errors="replace")
    except OSError:
        return ""
