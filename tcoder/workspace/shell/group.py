"""A control group that bounds how many tasks a shell may have and how much memory they use: for root the only limits of
that kind that hold."""

import contextlib
import os
import time
from collections.abc import Iterator
from pathlib import Path

from tcoder.workspace.sandbox.private import is_left_over

_MOUNT = Path("/sys/fs/cgroup")
_REMOVAL_S = 0.5


class TaskGroup:
    """Made by `open_group`; a process joins by writing 0 to each of `procs`, and what it starts stays in. `bounds`
    names what the kernel bounds: "pids", "memory" or both."""

    def __init__(self, folders: dict[str, Path]) -> None:
        self.bounds = frozenset(folders)
        self._memory = folders.get("memory")
        self._folders = tuple(dict.fromkeys(folders.values()))
        self.procs = tuple(os.fspath(folder / "cgroup.procs") for folder in self._folders)

    def killed_for_memory(self) -> int:
        """How many of its processes the kernel has ended because they used too much memory."""
        if self._memory is None:
            return 0
        for name in ("memory.events", "memory.oom_control"):
            with contextlib.suppress(OSError):
                for line in (self._memory / name).read_text().splitlines():
                    if line.startswith("oom_kill "):
                        return int(line.split()[1])
        return 0

    def remove(self) -> None:
        """Remove the group once its last process is gone, which the kernel may notice a moment late."""
        limit = time.monotonic() + _REMOVAL_S
        for folder in self._folders:
            while folder.exists():
                try:
                    folder.rmdir()
                except OSError:
                    if time.monotonic() > limit:
                        break
                    time.sleep(0.002)


def open_group(name: str, tasks: int, memory_bytes: int) -> TaskGroup | None:
    """A new group for at most `tasks` tasks and `memory_bytes`, as far as this user may make one; None where neither
    can be bounded. Groups of killed sessions are removed on the way."""
    made: dict[str, Path] = {}
    for controller, version, parent in _parents():
        if not os.access(parent, os.W_OK):
            continue
        _sweep(parent)
        path = parent / name
        file, value = {
            ("pids", 1): ("pids.max", tasks),
            ("pids", 2): ("pids.max", tasks),
            ("memory", 1): ("memory.limit_in_bytes", memory_bytes),
            ("memory", 2): ("memory.max", memory_bytes),
        }[controller, version]
        try:
            path.mkdir(exist_ok=True)
            (path / file).write_text(str(value))
            made[controller] = path
        except OSError:
            if path not in made.values():
                with contextlib.suppress(OSError):
                    path.rmdir()
    return TaskGroup(made) if made else None


def _sweep(parent: Path) -> None:
    for left in parent.glob("tcoder-shell-*"):
        if is_left_over(left.name):
            with contextlib.suppress(OSError):
                left.rmdir()


def _parents() -> Iterator[tuple[str, int, Path]]:
    """Where a group can be made for a controller, with its version: below our own in version 1; in version 2 beside it,
    since there a group that holds processes cannot divide its limits."""
    try:
        lines = Path("/proc/self/cgroup").read_text().splitlines()
    except OSError:
        return
    unified: Path | None = None
    first: set[str] = set()
    for line in lines:
        _, controllers, path = line.split(":", 2)
        for controller in ("pids", "memory"):
            if controller in controllers.split(","):
                first.add(controller)
                yield controller, 1, _MOUNT / controllers / path.lstrip("/")
        if not controllers and path != "/":
            unified = (_MOUNT / path.lstrip("/")).parent
    if unified is not None:
        yield from ((controller, 2, unified) for controller in ("pids", "memory") if controller not in first)


def join(procs: tuple[str, ...]) -> None:
    """Put this process into a group; for a child before it executes."""
    for name in procs:
        descriptor = os.open(name, os.O_WRONLY)
        os.write(descriptor, b"0")
        os.close(descriptor)
