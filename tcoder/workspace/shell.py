"""The session's shell: one bash on a pty of its own, driven through pexpect, inside the sandbox.

A command's end and exit code come over a socket that the command has no part in; its output comes over the pty. When a
command must be ended, its whole shell is: with a process namespace, or by a mark in the environment, nothing it
started survives, whatever it did to get away. The next command gets a new shell in the same folder.
"""

import asyncio
import contextlib
import errno
import os
import re
import secrets
import signal
import socket
import termios
import time
from collections.abc import Callable
from importlib import resources
from pathlib import Path
from typing import Any

from tcoder.protocol.commands import CommandResult
from tcoder.protocol.errors import ToolError
from tcoder.workspace.output import Output, plain
from tcoder.workspace.sandbox import Sandbox, clean_environment, open_filter

SILENCE_S = 2.0
DRAIN_S = 0.25
READ_SIZE = 65536
ROWS, COLUMNS = 50, 200
MARK = "TCODER_SHELL"
BASH = "/bin/bash"
READ_CALLS = ("0", "63")  # read on x86_64 and on aarch64
PROMPT = re.compile(
    r"(>>> |\(Pdb\) |In \[\d+\]: |mysql> |sqlite> |[=#]> |--More--|\(END\)|\[[yY]/[nN]\]:? ?"
    r"|\(y/n\):? ?|\(yes/no[^)]*\)\?? ?|([Pp]assword|[Pp]assphrase)[^\n]*: ?|^: ?)$"
)


class Shell:
    """Runs commands one after the other; implements `CommandRunner`. Starts at the first command."""

    def __init__(self, root: Path, *, sandbox: Sandbox | None, spill_dir: Path, output_budget: int = 16_000) -> None:
        self._root = root
        self._sandbox = sandbox
        self._spill_dir = spill_dir
        self._budget = output_budget
        self._cwd = root
        self._process: _Process | None = None
        self._lock = asyncio.Lock()
        self._count = 0

    async def run(
        self, command: str, *, timeout_s: float, cwd: str = "", on_output: Callable[[str], None] | None = None
    ) -> CommandResult:
        """Run a command line. Cancelling ends everything it started before it returns. Raises `ToolError` when no
        shell can be started."""
        if "\0" in command:
            raise ToolError("a command cannot hold a NUL byte")
        async with self._lock:
            self._count += 1
            process = self._process or self._start()
            output = Output(self._budget, self._spill_dir / f"output-{self._count}.txt")
            began = time.monotonic()
            folder = str(self._root / cwd) if cwd else ""
            ending = "interrupted"
            try:
                ending = await process.execute(command, folder, output, timeout_s, on_output)
            finally:
                if ending != "done":
                    self._end()
            if process.folder:
                self._cwd = Path(process.folder)
            return self._result(command, ending, process.exit_code, output, time.monotonic() - began)

    def _result(
        self, command: str, ending: str, exit_code: int | None, output: Output, duration_s: float
    ) -> CommandResult:
        text, omitted, spill = output.finish()
        notices: list[str] = []
        if ending == "waits":
            notices.append("it waited for input that nobody can give and was ended; give the answer as an argument")
        elif ending == "died":
            notices.append("the command ended the shell itself; a new one was started in the same folder")
        elif ending == "timeout":
            notices.append("everything the command had started was ended too")
        return CommandResult(
            command=command,
            exit_code=exit_code if ending == "done" else None,
            output=text,
            duration_s=duration_s,
            omitted_bytes=omitted,
            spill=spill,
            timed_out=ending == "timeout",
            awaiting_input=ending == "waits",
            cwd=str(self._cwd),
            notices=tuple(notices),
        )

    def _start(self) -> "_Process":
        folder = self._cwd if self._cwd.is_dir() else self._root
        self._process = _Process(folder, self._sandbox)
        return self._process

    def _end(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process = None

    async def close(self) -> None:
        """End the shell and everything it started."""
        self._end()
        if self._sandbox is not None:
            self._sandbox.clean_up()


class _Process:
    """One running bash with its pty and its control socket."""

    def __init__(self, folder: Path, sandbox: Sandbox | None) -> None:
        self.exit_code: int | None = None
        self.folder = ""
        self._mark = secrets.token_hex(12)
        self._control, inside = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        self._control.setblocking(False)
        filter_fd = open_filter() if sandbox is not None else None
        script = resources.files("tcoder.workspace").joinpath("supervisor.bash").read_text(encoding="utf-8")
        control = inside.fileno()
        inside.set_inheritable(True)
        begin = f"exec 3<&{control} {control}<&-; cd -- {_quote(str(folder))}"
        argv = [BASH, "--noprofile", "--norc", "-c", f"{begin}\n{script}"]
        if sandbox is not None:
            argv = sandbox.command(argv, filter_fd=filter_fd)
        environment = clean_environment(os.environ) | {MARK: self._mark}
        try:
            self._child = _spawn(argv, environment, control, filter_fd)
        finally:
            inside.close()
            if filter_fd is not None:
                os.close(filter_fd)
        os.set_blocking(self._child.child_fd, False)
        self._terminal = _quiet_terminal(self._child.child_fd)
        self._answer = b""

    async def execute(
        self, command: str, folder: str, output: Output, timeout_s: float, on_output: Callable[[str], None] | None
    ) -> str:
        """Run to its end: `done`, `timeout`, `waits` (for input) or `died` (the shell did)."""
        nonce = secrets.token_hex(16)
        loop = asyncio.get_running_loop()
        pty = self._child.child_fd
        heard = asyncio.Event()
        stream = _Stream(output, f"\x1e{nonce}\x1e".encode(), on_output)
        state = {"last": time.monotonic(), "gone": False}

        def readable() -> None:
            try:
                data = os.read(pty, READ_SIZE)
            except BlockingIOError:
                return
            except OSError as error:
                if error.errno != errno.EIO:
                    raise
                data = b""
            if not data:
                state["gone"] = True
                loop.remove_reader(pty)
            else:
                state["last"] = time.monotonic()
                stream.feed(data)
            heard.set()

        def answered() -> None:
            with contextlib.suppress(BlockingIOError):
                data = self._control.recv(READ_SIZE)
                self._answer += data
                if not data:
                    state["gone"] = True
                    loop.remove_reader(self._control)
            heard.set()

        self._answer = b""
        termios.tcsetattr(pty, termios.TCSANOW, self._terminal)  # whatever the last command did to it
        loop.add_reader(pty, readable)
        loop.add_reader(self._control, answered)
        try:
            request = f"{nonce}\0{folder}\0{command}\0".encode("utf-8", "surrogateescape")
            sending = asyncio.ensure_future(loop.sock_sendall(self._control, request))
            try:
                return await self._wait(nonce, heard, stream, state, timeout_s)
            finally:
                sending.cancel()
                with contextlib.suppress(asyncio.CancelledError, OSError):
                    await sending
        finally:
            loop.remove_reader(pty)
            loop.remove_reader(self._control)
            stream.flush()

    async def _wait(
        self, nonce: str, heard: asyncio.Event, stream: "_Stream", state: dict[str, Any], timeout_s: float
    ) -> str:
        deadline = time.monotonic() + timeout_s
        answered_at = 0.0
        while True:
            now = time.monotonic()
            if self._take_answer(nonce):
                answered_at = answered_at or now
                if stream.ended or now - answered_at > DRAIN_S or state["gone"]:
                    return "done"
                limit = DRAIN_S
            elif state["gone"]:
                return "died"
            elif now >= deadline:
                return "timeout"
            elif now - state["last"] >= SILENCE_S and self._waits_for_input(stream.last_line):
                return "waits"
            else:
                limit = min(deadline - now, SILENCE_S)
            heard.clear()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(heard.wait(), limit)

    def _take_answer(self, nonce: str) -> bool:
        """Whether the exit code of this command is there; an answer with another nonce is none."""
        for answer in self._answer.split(b"\0")[:-1]:
            said, _, rest = answer.decode("utf-8", "surrogateescape").partition(" ")
            if secrets.compare_digest(said, nonce):
                code, _, self.folder = rest.partition(" ")
                self.exit_code = int(code)
                return True
        return False

    def _waits_for_input(self, last_line: str) -> bool:
        """Whether a process of this shell sleeps in a read of its terminal, or in a wait for it behind a prompt."""
        functions = ("n_tty_read", "wait_woken", *(("select", "poll") if PROMPT.search(last_line) else ()))
        pids = (pid for pid in _processes_of(self._mark) if pid != self._child.pid)
        return any(_sleeps_on_terminal(pid, functions) for pid in pids)

    def kill(self) -> None:
        """End the shell and everything that came from it."""
        for _ in range(3):
            pids = _processes_of(self._mark)
            for pid in pids or [self._child.pid]:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            if not pids:
                break
        self._control.close()
        self._child.close(force=True)


class _Stream:
    """The pty's bytes up to the mark that the supervisor prints after a command."""

    def __init__(self, output: Output, mark: bytes, on_output: Callable[[str], None] | None) -> None:
        self.ended = False
        self._output = output
        self._mark = mark
        self._on_output = on_output
        self._held: bytes = b""
        self.last_line = ""

    def feed(self, data: bytes) -> None:
        if self.ended:
            return
        data = self._held + data
        at = data.find(self._mark)
        if at >= 0:
            self.ended = True
            self._held = b""
            self._pass_on(data[:at])
            return
        longest = min(len(self._mark) - 1, len(data))
        keep = next((size for size in range(longest, 0, -1) if self._mark.startswith(data[-size:])), 0)
        self._held = data[len(data) - keep :]
        self._pass_on(data[: len(data) - keep])

    def flush(self) -> None:
        self._pass_on(self._held)
        self._held = b""

    def _pass_on(self, data: bytes) -> None:
        if not data:
            return
        text = self._output.feed(data)
        self.last_line = plain((self.last_line + text)[-500:].rpartition("\n")[2])
        if self._on_output and text:
            self._on_output(plain(text))


def _spawn(argv: list[str], environment: dict[str, str], control: int, filter_fd: int | None) -> Any:
    """bash under pexpect on a pty of its own, that inherits the control socket."""
    import pexpect  # late: a run without commands must not pay for it

    inherited = [control] if filter_fd is None else [control, filter_fd]

    class Spawn(pexpect.spawn):  # pyright: ignore[reportMissingTypeArgument] generic in its stubs only
        def _spawnpty(self, args: list[str], **options: Any) -> Any:
            return super()._spawnpty(args, pass_fds=inherited, **options)  # pyright: ignore

    child: Any = Spawn(argv[0], argv[1:], env=environment, timeout=None, echo=False, dimensions=(ROWS, COLUMNS))
    child.delaybeforesend = None
    for closing in (child, child.ptyproc):
        closing.delayafterclose = closing.delayafterterminate = 0.0
    return child


def _quote(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


def _processes_of(mark: str) -> list[int]:
    """Every process that carries the mark in its environment."""
    wanted = f"{MARK}={mark}".encode()
    found: list[int] = []
    for entry in os.listdir("/proc"):
        if entry.isdecimal():
            with contextlib.suppress(OSError), open(f"/proc/{entry}/environ", "rb") as file:
                if wanted in file.read(262_144):
                    found.append(int(entry))
    return found


def _sleeps_on_terminal(pid: int, functions: tuple[str, ...]) -> bool:
    """Whether a process waits in one of these kernel functions and has a terminal as its standard input; a read names
    its descriptor, so there it must be that one."""
    try:
        with open(f"/proc/{pid}/wchan") as file:
            where = file.read()
        with open(f"/proc/{pid}/syscall") as file:
            number, first, *_ = file.read().split()
        reads = number in READ_CALLS
        target = os.readlink(f"/proc/{pid}/fd/{int(first, 16) if reads else 0}")
    except (OSError, ValueError):
        return False  # it has ended, or does not sleep
    if "wait_woken" in where and not reads:
        return False
    return any(function in where for function in functions) and target.startswith(("/dev/pts/", "/dev/tty"))


def _quiet_terminal(fd: int) -> list[Any]:
    """The terminal as every command finds it: line by line, no echo, newlines as they are."""
    settings = termios.tcgetattr(fd)
    settings[1] &= ~termios.ONLCR
    settings[3] &= ~termios.ECHO
    return settings
