"""Starts the engine's process: one that outlives its starter, hears its order on a pipe and reports on another."""

import asyncio
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

import msgspec

from tcoder.models.local.engine_files import Order, Report
from tcoder.protocol.errors import ModelError

OnNote = Callable[[str], None]

# -P: a repository may not stand in for modules
COMMAND = (sys.executable, "-P", "-m", "tcoder.models.local.engine_server")
START_S = 600.0
_POLL_S = 0.05
_OWN_END_S = 1.0
_INHERITED = ("PATH", "HOME", "TMPDIR", "PYTHONPATH", "LD_LIBRARY_PATH", "OMP_", "GOMP_", "GGML_", "LC_", "LANG")


async def start_engine(order: Order, log_file: Path, note: OnNote, command: tuple[str, ...] = COMMAND) -> int:
    """Start an engine, wait until it is registered, and return its process id. A start that fails or is cancelled
    leaves no process. Raises `ModelError`."""
    pid, reports = _spawn(command, order, log_file)
    ready = False
    try:
        async with asyncio.timeout(START_S):
            await _until_ready(pid, reports, order, note, log_file)
        ready = True
    except TimeoutError as error:
        raise cannot("it takes too long to start", f"see {log_file}") from error
    finally:
        if not ready:
            await _end(pid, 0)
    return pid


def collect(pid: int) -> int | None:
    """The exit code of a child that has ended, and forget the child; None while it runs or when it is no child of
    ours (any more). Negative: the signal that killed it."""
    try:
        ended, status = os.waitpid(pid, os.WNOHANG)
    except ChildProcessError:
        return None
    return os.waitstatus_to_exitcode(status) if ended else None


def cannot(reason: str, hint: str) -> ModelError:
    """The error for an engine that does not work."""
    return ModelError("unknown_model", f"the local engine cannot be used: {reason}", hint)


def _spawn(command: tuple[str, ...], order: Order, log_file: Path) -> tuple[int, BinaryIO]:
    """A process in a session of its own that has read `order`, and the pipe that its reports come through. It is no
    child of asyncio or `subprocess`: those end, or complain about, a process that outlives its starter."""
    order_out, order_in = os.pipe()
    reports_out, reports_in = os.pipe()
    log = os.open(log_file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    try:
        os.write(order_in, msgspec.json.encode(order) + b"\n")  # a pipe holds far more than an order
        ends = ((order_out, 0), (reports_in, 1), (log, 2))
        moves = [(os.POSIX_SPAWN_DUP2, ours, theirs) for ours, theirs in ends]
        pid = os.posix_spawn(command[0], command, _environment(), file_actions=moves, setsid=True)
    except BaseException:
        os.close(reports_out)
        raise
    finally:
        for descriptor in (order_out, order_in, reports_in, log):
            os.close(descriptor)
    return pid, os.fdopen(reports_out, "rb", buffering=0)


async def _until_ready(pid: int, reports: BinaryIO, order: Order, note: OnNote, log_file: Path) -> None:
    reader = asyncio.StreamReader()
    transport, _ = await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), reports
    )
    try:
        while line := await reader.readline():
            report = msgspec.json.decode(line, type=Report)
            if report.failed:
                raise ModelError("unknown_model", report.message, report.hint)
            if report.ready:
                return
            note(report.message)
    finally:
        transport.close()
    code = await _end(pid, _OWN_END_S)
    if code == -signal.SIGKILL:
        raise cannot(f"it was killed while it loaded {order.model}", "probably memory ran out: use a smaller model")
    raise cannot(_last_line(log_file) or f"it ended with status {code}", f"see {log_file}")


async def _end(pid: int, patience_s: float) -> int | None:
    """The exit code of a child, killed when it has not ended by itself within `patience_s`; None when it is no child of
    ours any more."""
    waited = 0.0
    while (code := collect(pid)) is None and _is_child(pid):
        if waited >= patience_s:
            os.kill(pid, signal.SIGKILL)
        waited += _POLL_S
        await asyncio.sleep(_POLL_S)
    return code


def _is_child(pid: int) -> bool:
    try:
        os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return False
    return True


def _environment() -> dict[str, str]:
    """What an engine needs and nothing else: no keys. Threads that wait spin for some microseconds, unless the user
    says otherwise: 1.4 to 1.6 times as fast as those that sleep at once, and where the cores get something else to do,
    the watch on answers that are slow brings the number of threads down."""
    kept = {name: value for name, value in os.environ.items() if name.startswith(_INHERITED)}
    return kept if "OMP_WAIT_POLICY" in kept else {"GOMP_SPINCOUNT": "20000", **kept}


def _last_line(log_file: Path) -> str:
    lines = log_file.read_text(encoding="utf-8", errors="replace").strip().splitlines()
    return lines[-1][:300] if lines else ""
