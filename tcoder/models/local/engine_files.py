"""How tcoder processes find a running engine: files in the user's runtime folder, and locks that die with their holder.

For an engine NAME: `NAME.start` is held while somebody starts it, `NAME.alive` by the engine for as long as it lives,
`NAME.users` by each of its users (shared), `NAME.json` says where it listens.
"""

import fcntl
import hashlib
import os
from contextlib import suppress
from pathlib import Path

import msgspec
from msgspec import Struct

from tcoder import __version__


class Registration(Struct, frozen=True):
    """A running engine. `started` is in seconds since 1970; `key` must go with every request. It ends `idle_s` seconds
    after the file's time of modification, which is that of its last use; 0 = with its last user."""

    pid: int
    started: float
    port: int
    key: str
    model: str
    threads: int
    prompt_threads: int
    context: int
    idle_s: float = 0.0


class Order(Struct, frozen=True):
    """What an engine is told on its standard input when it is started. `threads` 0 = measure; `idle_s` 0 = end with the
    last user."""

    name: str
    model: str
    path: str
    context: int
    threads: int
    idle_s: float
    key: str
    runtime: str
    state: str


class Report(Struct, frozen=True):
    """One line of an engine's standard output while it starts: what it does (`message`), `ready` at the end, or
    `failed` with what to do about it (`hint`)."""

    message: str = ""
    ready: bool = False
    failed: bool = False
    hint: str = ""


class EngineFiles:
    """The files of the engine `name` below `folder`."""

    def __init__(self, folder: Path, name: str) -> None:
        self.registration = folder / f"{name}.json"
        self.start = folder / f"{name}.start"
        self.alive = folder / f"{name}.alive"
        self.users = folder / f"{name}.users"

    def write(self, registration: Registration) -> None:
        fresh = self.registration.with_suffix(".new")
        descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(msgspec.json.encode(registration))
        fresh.replace(self.registration)

    def read(self) -> Registration | None:
        """The registration, None when there is none that can be read; says nothing about whether the engine lives."""
        try:
            return msgspec.json.decode(self.registration.read_bytes(), type=Registration)
        except (OSError, msgspec.MsgspecError):
            return None  # no engine, or the file of another version

    def mark_used(self) -> None:
        """Say that the engine has just been used."""
        with suppress(FileNotFoundError):  # it hides at this moment
            os.utime(self.registration)

    def last_used(self) -> float | None:
        """Seconds since 1970; None when no engine is registered."""
        try:
            return self.registration.stat().st_mtime
        except OSError:
            return None

    def is_used(self) -> bool:
        """Whether some process holds on to the engine."""
        descriptor = try_lock(self.users, shared=False)
        if descriptor is None:
            return True
        os.close(descriptor)
        return False

    def is_alive(self) -> bool:
        """Whether a process holds the engine's lock."""
        descriptor = try_lock(self.alive, shared=True)
        if descriptor is None:
            return True
        os.close(descriptor)
        return False


def try_lock(path: Path, *, shared: bool) -> int | None:
    """A descriptor that holds the lock on `path` until it is closed, None when somebody else's lock is in the way."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        return None
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def engine_name(model: str, path: Path, context: int, threads: int) -> str:
    """Equal for those who can share an engine: same tcoder, same file, same context, same wish for threads."""
    found = path.stat()
    identity = (__version__, str(path), found.st_size, found.st_mtime_ns, context, threads)
    digest = hashlib.sha256(repr(identity).encode()).hexdigest()[:10]
    plain = "".join(c if c.isalnum() or c in ".-" else "-" for c in model.rpartition("/")[2])[:40]
    return f"{plain}-{digest}"
