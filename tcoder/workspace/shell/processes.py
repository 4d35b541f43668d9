"""What runs below a process, whether it waits for input, and how to end all of it. Linux reads /proc, others `ps`."""

import asyncio
import contextlib
import os
import platform
import signal
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Iterable
from pathlib import Path

from msgspec import Struct

_PROC = Path("/proc")
_READS = {"x86_64": ({0, 19}, {7, 23, 232, 270, 271, 281, 441}), "aarch64": ({63, 65}, {22, 72, 73, 441})}
_MOST_THREADS = 64


class Process(Struct, frozen=True):
    """One process at one moment; `started` (clock ticks since boot) tells it from a later one with the same number."""

    pid: int
    parent: int
    group: int
    state: str
    started: int


def read_process(pid: int) -> Process | None:
    """The process, or None when it is gone."""
    try:
        stat = (_PROC / str(pid) / "stat").read_text()
    except (OSError, ValueError):
        return None
    fields = stat[stat.rindex(")") + 2 :].split()
    return Process(pid, int(fields[1]), int(fields[2]), fields[0], int(fields[19]))


def _all() -> list[Process]:
    if sys.platform != "linux":
        return _all_from_ps()
    found = (read_process(int(name)) for name in os.listdir(_PROC) if name.isdigit())
    return [process for process in found if process is not None]


def _all_from_ps() -> list[Process]:
    listing = subprocess.run(["/bin/ps", "-axo", "pid=,ppid=,pgid=,state="], capture_output=True, text=True, check=True)
    rows = (line.split() for line in listing.stdout.splitlines())
    return [Process(int(row[0]), int(row[1]), int(row[2]), row[3][0], 0) for row in rows if len(row) == 4]


def descendants(root: int) -> list[Process]:
    """Every living process below `root`, without it, parents first. Zombies are left out."""
    if not (_PROC / "self" / "task").is_dir() or not (_PROC / f"{os.getpid()}/task/{os.getpid()}/children").exists():
        return _descendants_in_list(root)
    found: list[Process] = []
    queue = [root]
    while queue:
        for pid in children_of(queue.pop()):
            process = read_process(pid)
            if process is not None:
                found.append(process)
                queue.append(pid)
    return [process for process in found if process.state not in "ZX"]


def _descendants_in_list(root: int) -> list[Process]:
    children: dict[int, list[Process]] = {}
    for process in _all():
        children.setdefault(process.parent, []).append(process)
    found: list[Process] = []
    queue = [root]
    while queue:
        below = children.get(queue.pop(), [])
        found += below
        queue += [process.pid for process in below]
    return [process for process in found if process.state not in "ZX"]


def marked(marker: str) -> list[Process]:
    """Processes of ours whose environment holds `marker`: finds what left the tree where no PID namespace holds it."""
    needle = marker.encode()
    found: list[Process] = []
    for process in _all() if sys.platform == "linux" else ():
        try:
            environ = (_PROC / str(process.pid) / "environ").read_bytes()
        except OSError:
            continue
        if needle in environ.split(b"\0") and process.state not in "ZX":
            found.append(process)
    return found


def children_of(pid: int) -> list[int]:
    """Direct children, of each of its threads; empty when it is gone or the kernel does not list them."""
    found: list[int] = []
    tasks = _PROC / str(pid) / "task"
    try:
        for thread in os.listdir(tasks):
            found += map(int, (tasks / thread / "children").read_text().split())
    except OSError:
        return found  # it ended meanwhile
    return found


def signal_all(processes: Iterable[Process], number: signal.Signals) -> None:
    """Sends a signal to each that is still the same process."""
    for process in processes:
        now = read_process(process.pid) if sys.platform == "linux" else process
        if now is not None and now.started == process.started:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(process.pid, number)


async def end_all(find: Callable[[], list[Process]], *, grace_s: float = 0.3, limit_s: float = 3.0) -> bool:
    """Ends what `find` lists: SIGTERM, after `grace_s` SIGKILL until nothing is left. False when `limit_s` is over and
    something lives, such as a fork bomb that outruns us: then its namespace or control group has to go."""
    start = time.monotonic()
    told: set[tuple[int, int]] = set()
    pause = 0.002
    while targets := find():
        # some have only just begun when the end is asked for: each is given its chance to tidy up
        newcomers = [process for process in targets if (process.pid, process.started) not in told]
        signal_all(newcomers, signal.SIGTERM)
        signal_all(newcomers, signal.SIGCONT)
        told.update((process.pid, process.started) for process in newcomers)
        spent = time.monotonic() - start
        if spent > limit_s:
            return False
        if spent > grace_s:
            signal_all(targets, signal.SIGSTOP)
            signal_all(targets, signal.SIGKILL)
        await asyncio.sleep(pause)
        pause = min(pause * 2, 0.05)
    return True


def listening_ports(pid: int) -> set[int]:
    """TCP ports on which something listens in the network namespace of a process."""
    found: set[int] = set()
    for name in ("tcp", "tcp6"):
        try:
            lines = (_PROC / str(pid) / "net" / name).read_text().splitlines()[1:]
        except OSError:
            continue
        for line in lines:
            words = line.split()
            if words[3] == "0A":
                found.add(int(words[1].rpartition(":")[2], 16))
    return found


def resident_bytes(pid: int) -> int:
    """Memory in use, without what it shares with nobody knowing whom; 0 when it is gone."""
    try:
        return int((_PROC / str(pid) / "statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, IndexError, ValueError):
        return 0


def waits_for_input(processes: Iterable[Process], terminal: int, *, open_line: bool) -> bool:
    """Whether a program sits on the terminal waiting to be typed at. `terminal` is the pty's master.

    Sure when a thread is inside read() on the terminal. A process that polls counts when the terminal was put into raw
    mode or the last line shown has no end (`open_line`), as at a prompt; a silent server polls too and does neither.
    """
    reads, polls = _READS.get(platform.machine(), _READS["x86_64"])
    raw = not termios.tcgetattr(terminal)[3] & termios.ICANON
    for process in processes:
        calls = _system_calls(process.pid)
        if calls is None:
            if process.state == "S" and (raw or open_line):
                return True
            continue
        for number, first in calls:
            if number in reads and _is_terminal(process.pid, first):
                return True
            if number in polls and (raw or open_line) and _is_terminal(process.pid, 0):
                return True
    return False


def _system_calls(pid: int) -> list[tuple[int, int]] | None:
    """Number and first argument of the calls in which threads of a process are blocked, the main thread first; None
    when that is not told."""
    tasks = _PROC / str(pid) / "task"
    found: list[tuple[int, int]] = []
    try:
        for thread in sorted(os.listdir(tasks), key=int)[:_MOST_THREADS]:
            words = (tasks / thread / "syscall").read_text().split()
            if len(words) > 2:
                found.append((int(words[0]), int(words[1], 16)))
    except OSError:
        return found or None
    return found


def _is_terminal(pid: int, descriptor: int) -> bool:
    try:
        device = os.stat(_PROC / str(pid) / "fd" / str(descriptor)).st_rdev
    except OSError:
        return False
    return os.major(device) in (5, *range(136, 144))
