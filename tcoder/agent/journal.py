"""The session on disk: one append-only file of events, one JSON line each.

An event is handed to the kernel in one `write` before anybody sees it, so a killed process loses at most the event it
was writing; the end of a turn is also flushed to the disk. A file is held by one process at a time.
"""

import fcntl
import gc
import hashlib
import os
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from tcoder.protocol.codec import decode_line, encode_line
from tcoder.protocol.errors import JournalError
from tcoder.protocol.events import SCHEMA, Event, Recorded, SessionEnded, TurnFinished

BUFFER = 1 << 20


def now() -> str:
    """The time as ISO 8601 UTC with milliseconds."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def project_folder(state_dir: Path, root: Path) -> Path:
    """The folder that holds the sessions of one repository, named so that a person can tell which."""
    digest = hashlib.sha256(os.fsencode(root)).hexdigest()[:10]
    return state_dir / "projects" / f"{root.name or 'root'}-{digest}"


def private_folder(path: Path) -> Path:
    """Make `path` and its missing parents readable by the user alone. Raises `JournalError`."""
    try:
        missing = [folder for folder in (path, *path.parents) if not folder.exists()]
        for folder in reversed(missing):
            folder.mkdir(mode=0o700, exist_ok=True)
    except OSError as error:
        where = error.filename or path
        raise JournalError(f"cannot make the folder {where}: {error.strerror}", "set XDG_STATE_HOME") from error
    if not path.is_dir():
        raise JournalError(f"{path} is not a folder", "remove it, or set XDG_STATE_HOME")
    return path


class Loaded(msgspec.Struct, frozen=True):
    """A journal as read: what could not be read is named in `problems`, never dropped in silence."""

    events: tuple[Recorded, ...]
    problems: tuple[str, ...]


def load(path: Path) -> Loaded:
    """Read a journal as a whole. Raises as `Stored` does."""
    stored = Stored(path)
    with collecting_nothing():
        events = tuple(stored)
    return Loaded(events, tuple(stored.problems))


class Stored:
    """The events of a journal, read line by line each time they are iterated over. A torn last line and unreadable
    lines in the middle are skipped and named in `problems`; a file of a newer format is refused and left as it is.
    Raises `JournalError`."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.problems: list[str] = []

    def __iter__(self) -> Iterator[Recorded]:
        self.problems = []
        for number, line in self.lines():
            if (recorded := self.read(number, line)) is not None:
                yield recorded

    def lines(self) -> Iterator[tuple[int, bytes]]:
        """Complete lines with their numbers, from 1."""
        try:
            with self.path.open("rb", buffering=BUFFER) as file:
                for number, line in enumerate(file, 1):
                    if line.endswith(b"\n"):
                        yield number, line
                    else:
                        self.problems.append(f"the last line is incomplete and was dropped ({len(line)} bytes)")
        except OSError as error:
            raise JournalError(f"cannot read the session {self.path}: {error.strerror}") from error

    def read(self, number: int, line: bytes) -> Recorded | None:
        """The event of a line; None, and a problem, when it cannot be read."""
        try:
            return decode_line(line)
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            refuse_newer(self.path, line)
            self.problems.append(f"line {number} is unreadable and was skipped: {error}")
            return None


@contextmanager
def collecting_nothing() -> Generator[None]:
    """Without the garbage collector: whoever makes a hundred thousand values that all stay need not have them looked
    through again and again."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def refuse_newer(path: Path, line: bytes) -> None:
    """Raise `JournalError` when the line was written by a newer tcoder."""
    try:
        schema = msgspec.json.decode(line, type=dict[str, msgspec.Raw]).get("schema", b"0")
        newer = int(bytes(schema)) > SCHEMA
    except (msgspec.MsgspecError, ValueError):
        return
    if newer:
        raise JournalError(f"the session {path.name} was written by a newer tcoder", "upgrade tcoder to open it")


def copy(events: Iterable[Recorded], path: Path) -> None:
    """Begin the journal of a fork with what came before, one event at a time. Raises `JournalError`, also when `path`
    exists."""
    private_folder(path.parent)
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.writelines(map(encode_line, events))
    except OSError as error:
        raise JournalError(f"cannot write the session {path}: {error.strerror}") from error


class Journal:
    """The open file of one session. `redact` takes keys out of each line before it is written. Opening raises
    `JournalError` when another process holds it."""

    def __init__(self, path: Path, *, next_seq: int = 1, redact: Callable[[bytes], bytes] | None = None) -> None:
        private_folder(path.parent)
        self.path = path
        self._seq = next_seq
        self._broken = ""
        self._redact = redact
        try:
            self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise JournalError(f"cannot write the session {path}: {error.strerror}") from error
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            os.close(self._file)
            raise JournalError(
                f"the session {path.stem} is open in another tcoder", "continue there, or use --fork"
            ) from error
        self._cut_torn_line()

    def _cut_torn_line(self) -> None:
        """A line that was being written when its process died must not swallow the next one."""
        size = os.fstat(self._file).st_size
        if size and os.pread(self._file, 1, size - 1) != b"\n":
            os.write(self._file, b"\n")

    @property
    def problem(self) -> str:
        """Why nothing is written any more (a full disk), or empty."""
        return self._broken

    def append(self, event: Event) -> Recorded:
        """Number the event, write it, give it back. A failing disk is remembered in `problem`; the session goes on in
        memory."""
        recorded = Recorded(seq=self._seq, time=now(), event=event)
        self._seq += 1
        if self._broken:
            return recorded
        line = encode_line(recorded)
        if self._redact is not None:
            line = self._redact(line)
        start = os.fstat(self._file).st_size
        try:
            written = os.write(self._file, line)
            if written < len(line):
                os.write(self._file, line[written:])
            if isinstance(event, TurnFinished | SessionEnded):
                os.fdatasync(self._file)
        except OSError as error:
            self._broken = f"the session is no longer saved to {self.path}: {error.strerror}"
            os.ftruncate(self._file, start)
        return recorded

    def close(self) -> None:
        if self._file >= 0:
            os.close(self._file)
            self._file = -1
