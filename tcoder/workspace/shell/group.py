"""A control group that bounds how many tasks a shell may have: the only limit of that kind that holds for root."""

import contextlib
import os
import time
from pathlib import Path

from tcoder.workspace.sandbox.private import is_left_over

_MOUNT = Path("/sys/fs/cgroup")
_REMOVAL_S = 0.5


class TaskGroup:
    """Made by `open_group`; a process joins by writing 0 to `procs`, and what it starts stays in."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.procs = os.fspath(path / "cgroup.procs")

    def remove(self) -> None:
        """Remove the group once its last process is gone, which the kernel may notice a moment late."""
        limit = time.monotonic() + _REMOVAL_S
        while self._path.exists() and time.monotonic() < limit:
            with contextlib.suppress(OSError):
                self._path.rmdir()
                return
            time.sleep(0.005)


def open_group(name: str, tasks: int) -> TaskGroup | None:
    """A new group for at most `tasks` tasks, None where this user may not make one: then `ulimit` bounds an ordinary
    user's processes, and a watch ends what goes beyond. Groups of killed sessions are removed on the way."""
    parent = _parent()
    if parent is None or not os.access(parent, os.W_OK):
        return None
    for left in parent.glob("tcoder-shell-*"):
        if is_left_over(left.name):
            with contextlib.suppress(OSError):
                left.rmdir()
    path = parent / name
    try:
        path.mkdir()
        (path / "pids.max").write_text(str(tasks))
    except OSError:
        with contextlib.suppress(OSError):
            path.rmdir()
        return None
    return TaskGroup(path)


def _parent() -> Path | None:
    """Where a group with a task limit can be made: below our own in version 1; in version 2 beside it, since there a
    group that holds processes cannot divide its limits."""
    try:
        lines = Path("/proc/self/cgroup").read_text().splitlines()
    except OSError:
        return None
    unified: Path | None = None
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if "pids" in controllers.split(","):
            return _MOUNT / controllers / path.lstrip("/")
        if not controllers and path != "/":
            unified = (_MOUNT / path.lstrip("/")).parent
    return unified


def join(procs: str) -> None:
    """Put this process into a group; for a child before it executes."""
    descriptor = os.open(procs, os.O_WRONLY)
    os.write(descriptor, b"0")
    os.close(descriptor)
