"""The session's shell: one bash on a pty of its own, driven through pexpect, inside the sandbox.

Working directory and exported variables are carried from one command to the next; aliases, functions, shell options,
traps, limits and umask end with the command that made them. The end of a command and its exit status come over a socket
that the command has no part in.
"""

import asyncio
import contextlib
import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from tcoder.protocol.commands import CommandResult
from tcoder.protocol.errors import ToolError
from tcoder.workspace.egress.proxy import EgressProxy
from tcoder.workspace.egress.shell import NO_NETWORK, PROXY_VARIABLES, missed_network, open_egress
from tcoder.workspace.sandbox.environment import command_environment
from tcoder.workspace.sandbox.planted import Watch
from tcoder.workspace.sandbox.reduced import Reduced
from tcoder.workspace.sandbox.sandbox import Sandbox
from tcoder.workspace.shell import kept
from tcoder.workspace.shell.jobs import Jobs
from tcoder.workspace.shell.limits import Limits, free_bytes
from tcoder.workspace.shell.output import Output
from tcoder.workspace.shell.process import ShellProcess, prepare
from tcoder.workspace.shell.processes import Process, end_all, waits_for_input
from tcoder.workspace.shell.running import Ending, Running

SILENCE_S = 1.2
_CHECK_EVERY_S = 0.4
_WATCH_EVERY_S = 1.0
_FENCE_S = 2.0
_ENDED_S = 1.5


class Shell:
    """Runs commands one after the other; implements `CommandRunner`. Starts at the first command.

    `environment` is what commands see; by default the scrubbed environment of this process. `spill_dir` takes the files
    with whole outputs, bounded in size and number. Not for use from several event loops.
    """

    def __init__(
        self,
        root: Path,
        *,
        sandbox: Sandbox | Reduced | None,
        spill_dir: Path,
        output_budget: int = 16_000,
        environment: Mapping[str, str] | None = None,
        limits: Limits | None = None,
    ) -> None:
        self._root = Path(os.path.realpath(root))
        self._sandbox = sandbox
        self._spill_dir = spill_dir
        self._budget = output_budget
        self._environment = dict(command_environment(os.environ) if environment is None else environment)
        self._egress: EgressProxy | None = None
        self._hosts = sandbox.allowed_hosts if isinstance(sandbox, Sandbox) else ()
        if self._hosts:
            self._environment |= PROXY_VARIABLES
        self._limits = limits or Limits()
        self._lock = asyncio.Lock()
        self._starting = asyncio.Lock()
        self._process: ShellProcess | None = None
        self._running: Running | None = None
        self._before: frozenset[tuple[int, int]] = frozenset()
        self._cwd = str(self._root)
        self._variables: dict[str, str] | None = None
        self._applied: tuple[str, dict[str, str]] = ("", {})
        self._own_cwd, self._clean = True, False
        self._background = b""
        self._told: tuple[str, ...] = ()
        self._watch = Watch(self._root)
        self._free = 0
        self.jobs = Jobs(self._ready, spill_dir, self._keep, output_budget)

    @property
    def cwd(self) -> Path:
        """Where the next command starts."""
        return Path(self._cwd)

    async def run(
        self,
        command: str,
        *,
        timeout_s: float,
        cwd: str = "",
        clean: bool = False,
        on_output: Callable[[str], None] | None = None,
    ) -> CommandResult:
        """Run a command line until its foreground ends, it waits for input, or time is over. A command that still waits
        for input from before is ended first. Cancelling ends everything it started before it returns.

        A `clean` command sees the variables with which the shell began, whatever earlier commands have exported, and
        passes on none: for one whose words alone were judged.

        Raises `ToolError` when no shell can be started, for a NUL byte, and for a `cwd` that is no folder of the root.
        """
        if "\0" in command:
            raise ToolError("a command cannot hold a NUL byte")
        folder = self._folder(cwd) if cwd else ""
        async with self._lock:
            if self._running is not None:
                await self._end_running()
            process, earlier_processes, notices = await self._with_room(await self._ready())
            await self._apply_state(process, folder, self._environment if clean else self._variables)
            self._own_cwd, self._clean = not folder, clean
            self._free = free_bytes(self._root)
            self._before = frozenset((one.pid, one.started) for one in earlier_processes)
            process.reset_terminal()
            running = Running(command, Output(self._budget, self._spill_dir), on_output)
            self._running = running
            earlier, self._background = self._background, b""
            if earlier:
                running.output.feed(earlier)
            await process.send("run", command)
            return await self._result_of(process, running, timeout_s, *notices)

    async def run_fresh(
        self, command: str, *, timeout_s: float, cwd: str = "", on_output: Callable[[str], None] | None = None
    ) -> CommandResult:
        """Run a command line in a process of its own that carries nothing from earlier commands and leaves nothing."""
        fresh = Shell(
            self._root,
            sandbox=self._sandbox,
            spill_dir=self._spill_dir,
            output_budget=self._budget,
            environment=self._environment,
            limits=self._limits,
        )
        try:
            return await fresh.run(command, timeout_s=timeout_s, cwd=cwd, on_output=on_output)
        finally:
            await fresh.close()

    @property
    def lends_network(self) -> bool:
        """Whether commands have no network and one could be given it."""
        return isinstance(self._sandbox, Sandbox) and not self._sandbox.network and not self._hosts

    async def run_with_network(
        self, command: str, *, timeout_s: float, on_output: Callable[[str], None] | None = None
    ) -> CommandResult:
        """Run one command line with the network, which a person has to have allowed: in a process of its own, where
        the next command would run, but with the variables of the session's beginning: what a command exported since
        (PATH, LD_PRELOAD, an index's address) must not decide what the person's yes runs. What it changes in the
        workspace stays."""
        sandbox = self._sandbox.with_network() if isinstance(self._sandbox, Sandbox) else self._sandbox
        fresh = Shell(
            self._root, sandbox=sandbox, spill_dir=self._spill_dir, output_budget=self._budget,
            environment=self._environment, limits=self._limits,
        )  # fmt: skip
        fresh._cwd = self._cwd
        try:
            return await fresh.run(command, timeout_s=timeout_s, on_output=on_output)
        finally:
            self._told = (*self._told, *await fresh.close())

    async def send_input(
        self, text: str, *, timeout_s: float = 30.0, on_output: Callable[[str], None] | None = None
    ) -> CommandResult:
        """Type `text` at the command that waits for input (with its newline, if one is meant; `\\x03` is Ctrl-C) and go
        on as `run` does. Raises `ToolError` when none waits."""
        async with self._lock:
            process, running = self._process, self._running
            if process is None or running is None:
                raise ToolError("no command waits for input")
            running.watch(on_output)
            running.last_output = time.monotonic()
            process.type(text.encode("utf-8", "surrogateescape"))
            return await self._result_of(process, running, timeout_s)

    async def screen(self) -> str:
        """The last of what the waiting command shows; empty when none waits."""
        return self._running.output.recent() if self._running else ""

    async def close(self) -> tuple[str, ...]:
        """End the shell and everything that it started, jobs too. Returns what a person should know about what it
        left in the workspace."""
        process, self._process = self._process, None
        self._running = None
        await self._close_egress()
        if process is None:
            return ()
        self.jobs.shell_gone()
        await process.close()
        return await self._watch.finish(process.protected) if process.contained else ()

    async def _keep(self, command: str, number: int) -> kept.Kept:
        """Start a job that outlives the shell, where the next command would run and with what it would see."""
        environment = self._environment if self._variables is None else self._variables
        name = f"kept-{os.getpid()}-{number}.log"
        return await kept.start(
            self.cwd, command, sandbox=self._sandbox, environment=environment, log=self._spill_dir / name,
            limits=self._limits,
        )  # fmt: skip

    async def _close_egress(self) -> None:
        if self._egress is not None:
            await self._egress.close()
            self._egress = None

    def _folder(self, cwd: str) -> str:
        path = os.path.realpath(self._root / cwd)
        if not Path(path).is_relative_to(self._root):
            raise ToolError(f"{cwd} is not in the workspace")
        if not os.path.isdir(path):
            raise ToolError(f"there is no folder {cwd}")
        return path

    async def _ready(self) -> ShellProcess:
        async with self._starting:
            if self._process is not None and not self._process.gone:
                return self._process
            if self._process is not None:
                await self._process.close()
            prepared = await asyncio.to_thread(
                prepare, self._root, self._sandbox, self._environment, self._spill_dir, self._limits
            )
            self._process = ShellProcess(
                prepared, self._root, on_output=self._on_output, on_answer=self._on_answer, on_gone=self._on_gone
            )
            self._applied = (str(self._root), dict(self._environment))
            self._told = (*self._told, *self._process.notes)
            if self._hosts:
                await self._close_egress()
                self._egress = await open_egress(self._process, self._hosts)
            return self._process

    async def _apply_state(self, process: ShellProcess, folder: str, variables: Mapping[str, str] | None) -> None:
        """Tell the keeper what the commands before have changed."""
        directory, applied = self._applied
        wanted = applied if variables is None else variables
        for name in applied.keys() - wanted.keys():
            await process.send("unset", name)
        for name, value in wanted.items():
            if applied.get(name) != value:
                await process.send("set", f"{name}={value}")
        target = folder or self._cwd
        if target != directory:
            await process.send("cd", target)
        self._applied = (target, dict(wanted))

    async def _with_room(self, process: ShellProcess) -> tuple[ShellProcess, list[Process], list[str]]:
        """The process and what runs in it, after ending what earlier commands left when that is beyond the limits."""
        left = process.processes()
        broken = self._limits.broken_by(left)
        if not broken:
            return process, left, []
        if not await end_all(process.processes):
            self.jobs.shell_gone()
            await process.close()
            process = await self._ready()
        return process, [], [f"what ran in the background was ended: {broken}"]

    async def _result_of(
        self, process: ShellProcess, running: Running, timeout_s: float, *earlier: str
    ) -> CommandResult:
        notices = [*self._take_told(process), *earlier]
        try:
            ending = await self._wait(process, running, time.monotonic() + timeout_s, notices)
        except asyncio.CancelledError:
            await asyncio.shield(asyncio.ensure_future(self._end_running()))
            raise
        if ending in ("timed_out", "over_limit"):
            survived = await self._end_running()
            notices.append("everything it had started was ended" + ("" if survived else ", and the shell with it"))
        elif ending == "gone":
            notices.append(
                "the command ended the shell itself; the next one starts in the same folder, with the variables "
                "from before"
            )
            running.status = await process.status()
            self._running = None
            self.jobs.shell_gone()
            await process.close()
        elif ending == "done":
            self._carry(process)
            if self._egress is not None and (refused := self._egress.take_refused()):
                notices.append(f"the network was refused: {', '.join(refused)} is not in the list of allowed hosts")
            self._running = None
            notices += self._left_behind(process, running)
        if process.killed_for_memory() and ending != "over_limit":
            notices.append(
                f"it was ended by the limit on memory: {self._limits.memory_bytes >> 20} MiB of memory are allowed"
            )
        elif broken := self._limits.of_ending(running.status, running.output.recent(400)):
            notices.append(broken)
        elif running.status and self.lends_network and missed_network(running.output.recent()):
            notices.append(NO_NETWORK)
        return self._result(running, ending, notices)

    def _take_told(self, process: ShellProcess) -> tuple[str, ...]:
        """What is to be said with the next result, once."""
        told, self._told = self._told, ()
        return (*told, *self._watch.take(process.protected)) if process.contained else told

    async def _wait(self, process: ShellProcess, running: Running, deadline: float, notices: list[str]) -> Ending:
        watched = running.began
        quiet_since = 0.0
        while True:
            running.heard.clear()
            now = time.monotonic()
            if running.status is not None:
                return await self._wait_for_rest(process, running)
            if running.gone:
                return "gone"
            if now >= deadline:
                return "timed_out"
            if now - watched >= _WATCH_EVERY_S:
                watched = now
                if broken := self._limits.broken_by(process.processes(), self._free - free_bytes(self._root)):
                    notices.append(broken)
                    return "over_limit"
            if now - running.last_output >= SILENCE_S:
                if waits_for_input(process.foreground(), process.terminal, open_line=running.output.open_line):
                    if quiet_since == running.last_output:
                        return "waits"
                    quiet_since = running.last_output
                else:
                    quiet_since = 0.0
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(running.heard.wait(), min(deadline - now, _CHECK_EVERY_S))

    async def _wait_for_rest(self, process: ShellProcess, running: Running) -> Ending:
        """The command has ended; read what the terminal still holds of it."""
        process.reset_terminal()
        await process.send("fence", running.expect_fence())
        limit = time.monotonic() + _FENCE_S
        while not (running.fenced or running.gone) and (left := limit - time.monotonic()) > 0:
            running.heard.clear()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(running.heard.wait(), left)
        self._background = running.after_fence
        return "done"

    async def _end_running(self) -> bool:
        """End the running command's processes; False when the shell had to go too."""
        process, running = self._process, self._running
        if process is None or running is None:
            return True
        ended = await end_all(lambda: self._own_processes(process))
        if ended and await self._status_within(running, _ENDED_S):
            await self._wait_for_rest(process, running)
            self._carry(process)
            self._running = None
            return True
        self._running = None
        self.jobs.shell_gone()
        await process.close()
        return False

    async def _status_within(self, running: Running, limit_s: float) -> bool:
        limit = time.monotonic() + limit_s
        while running.status is None and not running.gone and (left := limit - time.monotonic()) > 0:
            running.heard.clear()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(running.heard.wait(), left)
        return running.status is not None and not running.gone

    def _own_processes(self, process: ShellProcess) -> list[Process]:
        """What the running command started: all but what ran before, with its children."""
        everything = process.processes()
        parents = {one.pid: one.parent for one in everything}
        earlier = {one.pid for one in everything if (one.pid, one.started) in self._before}

        def belongs_to_earlier(pid: int) -> bool:
            while pid in parents:
                if pid in earlier:
                    return True
                pid = parents[pid]
            return False

        return [one for one in everything if not belongs_to_earlier(one.pid)]

    def _carry(self, process: ShellProcess) -> None:
        state = process.take_state()
        if state is None:
            return
        directory, variables = state
        if not self._clean:
            self._variables = variables
        if self._own_cwd and directory.startswith("/"):
            self._cwd = directory

    def _left_behind(self, process: ShellProcess, running: Running) -> list[str]:
        left = self._own_processes(process)
        if not left:
            return []
        job = self.jobs.left_behind(running.command, process, tuple(left))
        return [f"still running in the background: job {job.number} ({len(left)} processes)"]

    def _result(self, running: Running, ending: Ending, notices: list[str]) -> CommandResult:
        running.finish()
        excerpt = running.output.finish()
        if ending != "waits":
            running.output.close()
        return CommandResult(
            command=running.command,
            exit_code=running.status if ending in ("done", "gone") else None,
            output=excerpt.text,
            duration_s=time.monotonic() - running.began,
            omitted_bytes=excerpt.omitted_bytes,
            spill=excerpt.spill,
            timed_out=ending == "timed_out",
            awaiting_input=ending == "waits",
            cwd=self._cwd,
            notices=tuple(notices),
        )

    def _on_output(self, data: bytes) -> None:
        if self._running is not None:
            self._running.take(data)
        else:
            self._background = (self._background + data)[-self._budget :]

    def _on_answer(self, words: list[str]) -> None:
        match words:
            case ["end", status] if self._running is not None:
                self._running.end(int(status))
            case ["job" | "ended", *_]:
                self.jobs.answered(words)
            case _:
                pass

    def _on_gone(self) -> None:
        if self._running is not None:
            self._running.gone = True
            self._running.heard.set()
        else:
            self.jobs.shell_gone()
