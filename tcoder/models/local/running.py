"""Which engines run on this machine now, when they end by themselves, and how to end them before that."""

import os
import signal
import time
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from tcoder.models.local.engine_files import EngineFiles, Registration
from tcoder.models.local.weights_store import human

_END_S = 10.0
_POLL_S = 0.02


class RunningEngine(Struct, frozen=True):
    """`used` = some tcoder holds on to it. `ends_in_s` None = with its last user. `memory_bytes` None = not known."""

    model: str
    pid: int
    used: bool
    ends_in_s: float | None = None
    memory_bytes: int | None = None


def running(folder: Path) -> list[RunningEngine]:
    """The engines that are registered in the runtime folder and live, by model."""
    return sorted((engine for _, engine in _found(folder)), key=lambda engine: engine.model)


def stop(folder: Path) -> tuple[list[RunningEngine], list[RunningEngine]]:
    """End the engines that nobody uses; those that have ended, and those that are still there."""
    ended: list[RunningEngine] = []
    left: list[RunningEngine] = []
    for files, engine in _found(folder):
        if engine.used:
            left.append(engine)
            continue
        with suppress(ProcessLookupError):  # it has just ended by itself
            os.kill(engine.pid, signal.SIGTERM)
        deadline = time.monotonic() + _END_S
        while files.is_alive() and time.monotonic() < deadline:
            time.sleep(_POLL_S)
        (left if files.is_alive() else ended).append(engine)
    return ended, left


def told(engine: RunningEngine) -> str:
    """What a person wants to know of it, in one line."""
    size = f", {human(engine.memory_bytes)} of memory" if engine.memory_bytes else ""
    if engine.used:
        return f"{engine.model} runs and is in use (process {engine.pid}{size})"
    ends = "" if engine.ends_in_s is None else f", ends in {_span(engine.ends_in_s)}"
    return f"{engine.model} idles (process {engine.pid}{size}){ends}; `tcoder models stop` ends it now"


def _span(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 90 else f"{seconds / 60:.0f} min"


def _found(folder: Path) -> list[tuple[EngineFiles, RunningEngine]]:
    found: list[tuple[EngineFiles, RunningEngine]] = []
    for path in sorted(folder.glob("*.json")):
        files = EngineFiles(folder, path.stem)
        registration, last = files.read(), files.last_used()
        if registration is not None and last is not None and files.alive.exists() and files.is_alive():
            found.append((files, _engine(files, registration, last)))
    return found


def _engine(files: EngineFiles, registration: Registration, last: float) -> RunningEngine:
    ends = max(0.0, last + registration.idle_s - time.time()) if registration.idle_s else None
    pid = registration.pid
    return RunningEngine(registration.model, pid, files.is_used(), ends, _memory(pid))


def _memory(pid: int) -> int | None:
    try:
        pages = Path(f"/proc/{pid}/statm").read_text().split()[1]
    except (OSError, IndexError):
        return None  # this system does not say, or the process has gone
    return int(pages) * os.sysconf("SC_PAGE_SIZE")
