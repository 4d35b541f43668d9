"""What runs in the background of a session's shell: started as a job, or left behind by a command."""

import asyncio
import contextlib
import os
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Literal

from tcoder.protocol.commands import JobView
from tcoder.protocol.errors import ToolError
from tcoder.workspace.shell.kept import Kept
from tcoder.workspace.shell.output import Output, Stream, clean
from tcoder.workspace.shell.process import ShellProcess
from tcoder.workspace.shell.processes import Process, end_all, listening_ports, read_process

_READ = 65536
_KEPT_CHARACTERS = 16_000
_POLL_S = 0.1
_STARTED_S = 10.0


class _Job:
    """A job of ours has an `output`; one that a command left behind shows what it prints in the shell's terminal."""

    def __init__(self, number: int, command: str, process: ShellProcess) -> None:
        self.number = number
        self.command = command
        self.process = process
        self.running = True
        self.exit_code: int | None = None
        self.inner_pid = 0
        self.left: tuple[Process, ...] = ()
        self.kept: Kept | None = None
        self.output: Output | None = None
        self.lines = Stream()
        self.text = ""
        self.descriptor: int | None = None
        self.changed = asyncio.Event()

    def members(self) -> list[Process]:
        """Its living processes."""
        if self.kept is not None:
            return self.kept.members()
        if self.left:
            return [one for one in self.left if (now := read_process(one.pid)) and now.started == one.started]
        everything = self.process.processes()
        first = next((one for one in everything if one.group and self._is_first(one)), None)
        return [one for one in everything if first and (one.group == first.group or _below(one, first, everything))]

    def seen_from(self) -> int:
        """A process in its network."""
        members = self.kept.members() if self.kept else []
        return members[-1].pid if members else self.process.keeper()

    def _is_first(self, process: Process) -> bool:
        return process.pid == self.inner_pid or innermost_pid(process.pid) == self.inner_pid


def innermost_pid(pid: int) -> int:
    """A process's number inside its own PID namespace, 0 when it is gone."""
    try:
        with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as file:
            for line in file:
                if line.startswith("NSpid:"):
                    return int(line.split()[-1])
    except OSError:
        return 0
    return pid


def _below(process: Process, first: Process, everything: list[Process]) -> bool:
    parents = {one.pid: one.parent for one in everything}
    pid = process.pid
    while pid in parents:
        if pid == first.pid:
            return True
        pid = parents[pid]
    return False


class Jobs:
    """The background jobs of one shell; `ready` gives its process, started when there is none. Of what a job prints
    `output_budget` characters are shown."""

    def __init__(
        self,
        ready: Callable[[], Awaitable[ShellProcess]],
        spill_dir: Path,
        keep: Callable[[str, int], Awaitable[Kept]],
        output_budget: int = 16_000,
    ) -> None:
        self._ready = ready
        self._keep = keep
        self._budget = output_budget
        self._spill_dir = spill_dir
        self._jobs: dict[int, _Job] = {}

    async def start(self, command: str, *, keep: bool = False) -> JobView:
        """Run a command line in the background, in the shell's folder and environment, without input. With `keep`,
        which a person has to have allowed, it goes on when the shell is closed."""
        if "\0" in command:
            raise ToolError("a command cannot hold a NUL byte")
        process = await self._ready()
        if keep:
            job = _Job(len(self._jobs) + 1, command, process)
            job.kept = await self._keep(command, job.number)
            job.inner_pid = job.kept.pid
            self._jobs[job.number] = job
            return self._view(job)
        job = _Job(len(self._jobs) + 1, command, process)
        fifo = process.private.channel / f"job-{job.number}"
        os.mkfifo(fifo, 0o622)
        descriptor = os.open(fifo, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOFOLLOW)
        job.descriptor = descriptor
        job.output = Output(self._budget, self._spill_dir)
        asyncio.get_running_loop().add_reader(descriptor, self._read, job)
        self._jobs[job.number] = job
        await process.send("job", str(job.number), str(fifo), command)
        async with asyncio.timeout(_STARTED_S):
            while not job.inner_pid and job.running:
                job.changed.clear()
                await job.changed.wait()
        return self._view(job)

    def list(self) -> tuple[JobView, ...]:
        """All of them, the oldest first, ended ones too."""
        for job in self._jobs.values():
            self._look(job)
            if job.left and job.running and not job.members():
                job.running = False
        return tuple(self._view(job) for job in self._jobs.values())

    def read(self, number: int) -> str:
        """What it has printed: head and tail within the budget. Raises `ToolError` for a number that is not known."""
        job = self._find(number)
        if job.kept is not None:
            return clean(job.kept.read())[-self._budget :]
        if job.output is None:
            return "(what a command left running prints is part of the output of the commands after it)"
        return job.output.finish().text

    async def stop(self, number: int) -> JobView:
        """End it with its children."""
        job = self._find(number)
        if job.running:
            await end_all(job.members)
            self._look(job)
            for _ in range(20):
                if not job.running or job.left:
                    break
                await asyncio.sleep(0.01)
            job.running = False
        return self._view(job)

    async def wait_for(
        self, number: int, *, port: int | None = None, line: str = "", timeout_s: float
    ) -> Literal["ready", "ended", "timeout"]:
        """Wait until something of the shell listens on the TCP `port`, or the job has printed a line that holds `line`
        literally, or (without both) has ended."""
        job = self._find(number)
        limit = time.monotonic() + timeout_s
        while True:
            job.changed.clear()
            self._look(job)
            if port is not None and port in listening_ports(job.seen_from()):
                return "ready"
            if line and line in (job.kept.read() if job.kept else job.text):
                return "ready"
            if not job.running:
                return "ended"
            left = limit - time.monotonic()
            if left <= 0:
                return "timeout"
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(job.changed.wait(), min(left, _POLL_S) if job.kept or port is not None else left)

    def answered(self, words: Sequence[str]) -> None:
        """Take the keeper's word about a job: `job NUMBER PID` or `ended NUMBER STATUS`."""
        job = self._jobs.get(int(words[1])) if len(words) == 3 and words[1].isdecimal() else None
        if job is None:
            return
        if words[0] == "job":
            job.inner_pid = int(words[2])
            job.changed.set()
            return
        self._read(job)
        job.exit_code = int(words[2])
        self._over(job)

    def left_behind(self, command: str, process: ShellProcess, processes: tuple[Process, ...]) -> JobView:
        """List what a command left running."""
        job = _Job(len(self._jobs) + 1, command, process)
        job.left = processes
        job.inner_pid = processes[0].pid
        self._jobs[job.number] = job
        return self._view(job)

    def shell_gone(self) -> None:
        """The shell and all that ran in it has ended."""
        for job in self._jobs.values():
            if job.kept is not None:
                continue
            if job.descriptor is not None:
                self._read(job)
            self._over(job)

    def _look(self, job: _Job) -> None:
        """Whether a kept job still runs is only known when somebody looks."""
        if job.kept is not None and job.running and (code := job.kept.exit_code) is not None:
            job.running, job.exit_code = False, code

    def _over(self, job: _Job) -> None:
        job.running = False
        job.changed.set()
        if job.descriptor is not None:
            asyncio.get_running_loop().remove_reader(job.descriptor)
            os.close(job.descriptor)
            job.descriptor = None
        if job.output is not None:
            job.output.close()

    def _read(self, job: _Job) -> None:
        if job.descriptor is None or job.output is None:
            return
        with contextlib.suppress(BlockingIOError):
            data = os.read(job.descriptor, _READ)
            job.output.feed(data)
            job.text = (job.text + job.lines.feed(data))[-_KEPT_CHARACTERS:]
            job.changed.set()

    def _find(self, number: int) -> _Job:
        job = self._jobs.get(number)
        if job is None:
            raise ToolError(f"there is no job {number}", "list the jobs")
        return job

    def _view(self, job: _Job) -> JobView:
        size = job.kept.log.stat().st_size if job.kept else job.output.total if job.output else 0
        return JobView(job.number, job.command, job.running, job.exit_code, job.inner_pid, size)
