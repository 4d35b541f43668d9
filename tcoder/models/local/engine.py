"""The embedded engine from its users' side: find the running one or start it, and hold on to it.

The engine is a process of its own that several tcoder processes share. It ends by itself: after some idle time, or
with its last user. A user is known by a lock that it holds, which the system drops however the user ends.
"""

import asyncio
import os
import secrets
import signal
import time
from pathlib import Path

from msgspec import Struct

from tcoder.models.local.engine_files import EngineFiles, Order, Registration, engine_name, try_lock
from tcoder.models.local.engine_start import COMMAND, START_S, OnNote, cannot, collect, start_engine
from tcoder.models.local.folders import LocalFolders, make_private
from tcoder.models.local.weights_store import locked

_POLL_S = 0.05
_LISTEN_S = 5.0
_END_S = 20.0


class EngineSettings(Struct, frozen=True):
    """`threads` 0 = measured; `idle_s` seconds without a request until the engine ends, 0 = it ends with its last user;
    `context` in tokens."""

    threads: int = 0
    idle_s: float = 600.0
    context: int = 8192


class Endpoint(Struct, frozen=True):
    """Where an engine listens, on this machine only. `threads` is what it generates with, `context` in tokens."""

    base_url: str
    api_key: str
    model: str
    threads: int
    context: int


class EngineLease:
    """Keeps an engine from ending with its last user, until closed or until this process dies."""

    def __init__(self, endpoint: Endpoint, files: EngineFiles, descriptor: int, pid: int) -> None:
        self.endpoint = endpoint
        self._files = files
        self._descriptor: int | None = descriptor
        self._pid = pid

    def is_alive(self) -> bool:
        """Whether the engine still runs where it did; a few system calls."""
        registration = self._files.read() if self._files.is_alive() else None
        if registration is None:
            collect(self._pid)
            return False
        return _endpoint(registration) == self.endpoint

    def close(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None
        collect(self._pid)


async def hold_engine(
    model: str,
    path: Path,
    settings: EngineSettings,
    folders: LocalFolders,
    on_note: OnNote | None = None,
    command: tuple[str, ...] = COMMAND,
) -> EngineLease:
    """A lease on the engine that serves `path`; starts it if none runs. `on_note` says what is being waited for.
    Raises `ModelError` when it cannot start, with the reason in one sentence."""
    note = on_note or _silent
    try:
        make_private(folders.runtime)
        make_private(folders.state)
        files = EngineFiles(folders.runtime, engine_name(model, path, settings.context, settings.threads))
        users = await _join(files)
    except OSError as error:
        raise cannot(f"{error.filename or path}: {error.strerror}", "are its folders writable?") from error
    try:
        async with locked(files.start, lambda: note("waiting for another tcoder that starts the engine")):
            registration = await _find(files)
            if registration is None:
                await _start(model, path, settings, folders, files, note, command)
                registration = files.read()
        if registration is None:
            raise cannot("it ended right after its start", f"see {_log_file(folders, files)}")
    except BaseException:
        os.close(users)
        raise
    return EngineLease(_endpoint(registration), files, users, registration.pid)


def _silent(text: str) -> None:
    """Nobody watches."""


def _endpoint(registration: Registration) -> Endpoint:
    return Endpoint(
        f"http://127.0.0.1:{registration.port}/v1",
        registration.key,
        registration.model,
        registration.threads,
        registration.context,
    )


async def _join(files: EngineFiles) -> int:
    """Take the users' lock; an engine that looks whether anybody is there holds it for an instant."""
    while True:
        descriptor = try_lock(files.users, shared=True)
        if descriptor is not None:
            return descriptor
        await asyncio.sleep(_POLL_S)


async def _find(files: EngineFiles) -> Registration | None:
    """The running engine. Waits for one that is ending, or loading (again), and ends one that registered and does not
    listen."""
    waited = 0.0
    while files.is_alive():
        registration = files.read()
        if registration is not None:
            if await _listens(registration.port):
                return registration
            os.kill(registration.pid, signal.SIGKILL)
            await _gone(files)
            return None
        if waited > START_S:
            raise cannot("one that is neither ready nor gone is in the way", "end its process")
        waited += _POLL_S
        await asyncio.sleep(_POLL_S)
    return None


async def _gone(files: EngineFiles) -> None:
    deadline = time.monotonic() + _END_S
    while files.is_alive():
        if time.monotonic() > deadline:
            raise cannot("one that does not listen cannot be ended", "end its process")
        await asyncio.sleep(_POLL_S)


async def _listens(port: int) -> bool:
    """Whether a server takes connections; one that is busy may take a while to answer, so nothing is asked."""
    deadline = time.monotonic() + _LISTEN_S
    while time.monotonic() < deadline:
        try:
            async with asyncio.timeout(_LISTEN_S / 2):
                _, writer = await asyncio.open_connection("127.0.0.1", port)
        except (OSError, TimeoutError):
            await asyncio.sleep(_POLL_S)
            continue
        writer.close()
        return True
    return False


async def _start(
    model: str,
    path: Path,
    settings: EngineSettings,
    folders: LocalFolders,
    files: EngineFiles,
    note: OnNote,
    command: tuple[str, ...],
) -> int:
    order = Order(
        name=files.registration.stem,
        model=model,
        path=str(path),
        context=settings.context,
        threads=settings.threads,
        idle_s=settings.idle_s,
        key=secrets.token_urlsafe(32),
        runtime=str(folders.runtime),
        state=str(folders.state),
    )
    files.registration.unlink(missing_ok=True)  # of an engine that crashed
    return await start_engine(order, _log_file(folders, files), note, command)


def _log_file(folders: LocalFolders, files: EngineFiles) -> Path:
    return folders.state / f"engine-{files.registration.stem}.log"
