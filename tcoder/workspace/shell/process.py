"""One running keeper: bash on its own pty, its control socket, and the FIFO over which commands hand back state."""

import asyncio
import contextlib
import errno
import fcntl
import os
import secrets
import signal
import socket
import termios
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from tcoder.protocol.errors import ToolError
from tcoder.workspace.sandbox.private import PrivateFolder
from tcoder.workspace.sandbox.reduced import Reduced
from tcoder.workspace.sandbox.sandbox import Launch, Sandbox
from tcoder.workspace.shell.group import TaskGroup, join, open_group
from tcoder.workspace.shell.keeper import keeper_script, parse_state
from tcoder.workspace.shell.limits import Limits
from tcoder.workspace.shell.processes import Process, children_of, descendants, end_all, marked, read_process

BASH = "/bin/bash"
ROWS, COLUMNS = 50, 200
MARK = "TCODER_SHELL"
_READ = 65536
_READS = 16
_FULL = 4095
_STATUS_S = 0.5
_STATE_LIMIT = 4_000_000
# the ioctl that opens the other side of a pty, TIOCGPTPEER of Linux
_OTHER_SIDE = 0x5441


class _Child(Protocol):
    """What we use of pexpect's untyped spawn."""

    pid: int
    child_fd: int
    exitstatus: int | None
    signalstatus: int | None

    def isalive(self) -> bool: ...

    def close(self, force: bool) -> None: ...  # noqa: FBT001 pexpect's signature


@dataclass
class Prepared:
    """A start that is laid out: everything that takes files but no process."""

    private: PrivateFolder
    launch: Launch
    control: socket.socket
    inside: socket.socket
    mark: str
    group: TaskGroup | None
    contained: bool
    restrict: Callable[[], None] | None = None


def prepare(
    root: Path,
    sandbox: Sandbox | Reduced | None,
    environment: Mapping[str, str],
    spill_dir: Path,
    limits: Limits,
) -> Prepared:
    """Lay out private folder, FIFO, socket pair, task group and command line. May run on any thread."""
    private = PrivateFolder()
    os.mkfifo(private.channel / "state", 0o622)
    control, inside = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    inside.set_inheritable(True)
    mark = secrets.token_hex(12)
    group = open_group(private.path.name, 2 * limits.processes, limits.memory_bytes)
    held = limits.commands(group.bounds if group else ())
    script = keeper_script(inside.fileno(), str(private.channel / "state"), str(root), held)
    argv = [BASH, "--noprofile", "--norc", "-m", "-c", script, "bash"]
    scrubbed = {**environment, MARK: mark}
    restrict = None
    if sandbox is None:
        launch = Launch(argv, scrubbed)
    elif isinstance(sandbox, Reduced):
        launch, restrict = sandbox.launch(argv, scrubbed, private)
    else:
        spill_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        launch = sandbox.launch(argv, environment=scrubbed, private=private, own_terminal=True, readable=(spill_dir,))
    return Prepared(private, launch, control, inside, mark, group, isinstance(sandbox, Sandbox), restrict)


class ShellProcess:
    """Starts at construction, which blocks for some milliseconds and must happen on the main thread: the sandbox ends
    with the thread that started it. `on_output` gets what the terminal shows, `on_answer` each answer's words,
    `on_gone` is called once when the keeper has ended. Raises `ToolError` when nothing can be started."""

    def __init__(
        self,
        prepared: Prepared,
        root: Path,
        *,
        on_output: Callable[[bytes], None],
        on_answer: Callable[[list[str]], None],
        on_gone: Callable[[], None],
    ) -> None:
        self.private = prepared.private
        self.contained = prepared.contained
        self.protected = frozenset(prepared.launch.protected)
        self.notes = prepared.launch.notes
        self._group = prepared.group
        self._killed = 0
        self.gone = False
        self._mark = f"{MARK}={prepared.mark}"
        self._control = prepared.control
        self._on_output, self._on_answer, self._on_gone = on_output, on_answer, on_gone
        self._answers = b""
        self._states = b""
        self._keeper = 0
        self._inner: Process | None = None
        fifo = self.private.channel / "state"
        self._state_fd = os.open(fifo, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOFOLLOW)
        try:
            self._child = _spawn(prepared, root)
        except OSError as error:
            os.close(self._state_fd)
            self._control.close()
            self._tidy()
            raise ToolError(f"no shell could be started: {error}") from error
        finally:
            prepared.inside.close()
            prepared.launch.close()
        self.terminal = self._child.child_fd
        os.set_blocking(self.terminal, False)
        self._control.setblocking(False)
        self._settings = _plain_settings(self.terminal)
        loop = asyncio.get_running_loop()
        loop.add_reader(self.terminal, self._read_terminal)
        loop.add_reader(self._control, self._read_answers)

    async def send(self, *words: str) -> None:
        data = b"".join(word.encode("utf-8", "surrogateescape") + b"\0" for word in words)
        with contextlib.suppress(OSError):  # `on_gone` tells of a keeper that ended
            await asyncio.get_running_loop().sock_sendall(self._control, data)

    def type(self, text: bytes) -> None:
        """Type at the terminal; what does not fit in its input queue is dropped, as a terminal does."""
        with contextlib.suppress(BlockingIOError):
            os.write(self.terminal, text)

    def reset_terminal(self) -> None:
        """Undo what the last command did to the terminal, and drop what was typed and not read. Without waiting until
        output is sent, as TCSAFLUSH would: while a background process fills the terminal that is never."""
        with contextlib.suppress(termios.error, OSError):
            termios.tcsetattr(self.terminal, termios.TCSANOW, self._settings)
            side = fcntl.ioctl(self.terminal, _OTHER_SIDE, os.O_RDWR | os.O_NOCTTY | os.O_CLOEXEC)
            try:
                termios.tcflush(side, termios.TCIFLUSH)
            finally:
                os.close(side)

    async def status(self) -> int | None:
        """The exit status of a keeper that is gone, as a shell would tell it; None when it does not end."""
        limit = asyncio.get_running_loop().time() + _STATUS_S
        while self._child.isalive():
            if asyncio.get_running_loop().time() > limit:
                return None
            await asyncio.sleep(0.002)
        signalled = self._child.signalstatus
        return 128 + signalled if signalled else self._child.exitstatus

    def foreground(self) -> list[Process]:
        """Processes of the terminal's foreground group."""
        with contextlib.suppress(OSError):
            group = os.tcgetpgrp(self.terminal)
            return [process for process in self.processes() if process.group == group]
        return []

    def keeper(self) -> int:
        """The keeper's process number as we see it: with a PID namespace it is a grandchild of what we started."""
        if not self._keeper:
            self._keeper = self._child.pid
            if self.contained:
                inner = next(iter(children_of(self._child.pid)), 0)
                self._inner = read_process(inner) if inner else None
                self._keeper = next(iter(children_of(inner)), 0) if inner else 0
        return self._keeper

    def processes(self) -> list[Process]:
        """Everything that runs besides the keeper and the sandbox's own first process."""
        keeper = self.keeper()
        if self.contained:
            own = (keeper, self._inner.pid if self._inner else 0)
            return [process for process in descendants(self._child.pid) if process.pid not in own]
        found: dict[int, Process] = {
            process.pid: process for process in (*descendants(self._child.pid), *marked(self._mark))
        }
        found.pop(keeper, None)
        return list(found.values())

    def killed_for_memory(self) -> bool:
        """Whether the kernel has ended something here for its memory since this was last asked."""
        now = self._group.killed_for_memory() if self._group else 0
        before, self._killed = self._killed, now
        return now > before

    def take_state(self) -> tuple[str, dict[str, str]] | None:
        """Directory and variables that the last command handed back, once."""
        self._read_state()
        data, self._states = self._states, b""
        return parse_state(data)

    def _read_state(self) -> None:
        with contextlib.suppress(BlockingIOError):
            while data := os.read(self._state_fd, _READ):
                self._states = (self._states + data)[-_STATE_LIMIT:]

    def _read_terminal(self) -> None:
        data = bytearray()
        for _ in range(_READS):
            piece = self._read_piece()
            if piece is None:
                break
            if not piece:
                if not data:
                    self._leave()
                break
            data += piece
            if len(piece) < _FULL:
                break
        if data:
            self._on_output(bytes(data))

    def _read_piece(self) -> bytes | None:
        """What the terminal has, at most 4 KiB; None when that is nothing now, empty when its other side is closed."""
        try:
            return os.read(self.terminal, _READ)
        except BlockingIOError:
            return None
        except OSError as error:
            if error.errno != errno.EIO:
                raise
            return b""

    def _read_answers(self) -> None:
        try:
            data = self._control.recv(_READ)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        self._read_state()
        *whole, self._answers = (self._answers + data).split(b"\0")
        for answer in whole:
            self._on_answer(answer.decode("utf-8", "replace").split(" "))
        if not data:
            self._leave()

    def _leave(self) -> None:
        if self.gone:
            return
        self.gone = True
        loop = asyncio.get_running_loop()
        loop.remove_reader(self.terminal)
        loop.remove_reader(self._control)
        self._on_gone()

    async def close(self) -> None:
        """End everything, wait for it, and remove the private folder."""
        loop = asyncio.get_running_loop()
        if not self.gone:
            self.gone = True
            loop.remove_reader(self.terminal)
            loop.remove_reader(self._control)
        self.keeper()
        if not self.contained:
            await end_all(self.processes, grace_s=0.2)
        inner = self._inner
        for pid in (inner.pid if inner else 0, self._child.pid):
            if pid:  # the first process of a PID namespace takes all others with it
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, signal.SIGKILL)
        self._control.close()
        with contextlib.suppress(OSError):
            os.close(self._state_fd)
        pause = 0.001
        while self._child.isalive() or (inner is not None and _lives(inner)):
            await asyncio.sleep(pause)
            pause = min(2 * pause, 0.02)
        self._child.close(force=False)
        await asyncio.to_thread(self._tidy)

    def _tidy(self) -> None:
        self.private.close()
        if self._group is not None:
            self._group.remove()


def _spawn(prepared: Prepared, root: Path) -> _Child:
    """The command line under pexpect, on a pty of its own, in a new session. Raises `OSError`."""
    import pexpect  # late: a run without commands must not pay for it

    launch, group = prepared.launch, prepared.group
    inherited = (prepared.inside.fileno(), *launch.descriptors)

    class Spawn(pexpect.spawn):  # pyright: ignore[reportMissingTypeArgument, reportUntypedBaseClass] no stubs are shipped
        def _spawnpty(self, args: list[str], **options: Any) -> Any:
            return super()._spawnpty(args, pass_fds=inherited, **options)  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType, reportAttributeAccessIssue] pexpect has no other way to pass descriptors

    try:
        child: Any = Spawn(
            launch.argv[0], launch.argv[1:], env=launch.environment, timeout=None, echo=False, cwd=str(root),
            dimensions=(ROWS, COLUMNS), preexec_fn=lambda: _before_exec(group, prepared.restrict),
        )  # fmt: skip
    except pexpect.ExceptionPexpect as error:
        raise OSError(str(error)) from error
    child.delaybeforesend = None
    child.ptyproc.delayafterclose = 0.0
    return child


def _before_exec(group: TaskGroup | None, restrict: Callable[[], None] | None) -> None:
    """Python ignores SIGPIPE and SIGXFSZ, and what is ignored stays so in every command: `yes | head` would complain.
    SIGTTOU would stop bash when it takes the terminal for its own group."""
    signal.signal(signal.SIGTTOU, signal.SIG_IGN)
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
    if group is not None:
        join(group.procs)
    if restrict is not None:
        restrict()


def _plain_settings(terminal: int) -> list[Any]:
    """The terminal as every command finds it: line by line, no echo, newlines as they are."""
    settings: list[Any] = termios.tcgetattr(terminal)
    settings[1] &= ~termios.ONLCR
    settings[3] &= ~termios.ECHO
    return settings


def _lives(process: Process) -> bool:
    now = read_process(process.pid)
    return now is not None and now.started == process.started and now.state not in "ZX"
