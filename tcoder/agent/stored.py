"""Stored sessions of one repository, as a list shows them: only the lines that tell something are decoded, and what
was found is kept until the journal changes."""

import fcntl
import mmap
import os
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from tcoder.agent.journal import refuse_newer
from tcoder.agent.state import SessionState
from tcoder.protocol.budget import Usage
from tcoder.protocol.codec import decode, decode_line, encode
from tcoder.protocol.errors import JournalError
from tcoder.protocol.events import (
    Event,
    ModelAsked,
    SessionNamed,
    SessionResumed,
    SessionStarted,
    TurnFinished,
    TurnStarted,
)
from tcoder.protocol.messages import TextPart, UserMessage
from tcoder.protocol.queries import SessionSummary
from tcoder.protocol.variant import Dialect

CACHE = "list.json"
TITLE = 80


class _Kept(Struct, frozen=True):
    """A summary and the journal that it is of."""

    size: int
    changed_ns: int
    summary: SessionSummary


def journals(folder: Path) -> list[Path]:
    """Journals in a project's folder, newest first."""
    return sorted(folder.glob("*.jsonl"), key=lambda path: path.stat().st_mtime_ns, reverse=True)


def summarise(path: Path) -> SessionSummary:
    """What a list shows of a journal. Raises `JournalError` for one that cannot be read."""
    title = name = model = parent = ""
    turns, usage = 0, Usage()
    try:
        with path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            for event in _telling(path, file.fileno()) if size else ():
                match event:
                    case SessionStarted():
                        model, parent = event.variant.id, event.parent
                    case SessionNamed():
                        name = event.name
                        usage += event.usage or Usage()
                    case TurnStarted():
                        turns = event.turn
                        title = title or first_line(event.message)
                    case TurnFinished():
                        usage += event.outcome.usage
                    case _:
                        pass
            changed = os.fstat(file.fileno()).st_mtime
    except OSError as error:
        raise JournalError(f"cannot read the session {path}: {error.strerror}") from error
    updated = datetime.fromtimestamp(changed, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    return SessionSummary(path.stem, name or title, updated, turns, usage, model, parent, is_open(path))


class LastModel(Struct, frozen=True):
    """The model that a session used last; `base_url` and `dialect` as it was opened with, empty and None when the
    person chose the model while it ran."""

    id: str
    base_url: str = ""
    dialect: Dialect | None = None


def last_model(path: Path) -> LastModel | None:
    """The model at the slider's standard end when the session was last used; None when there was none."""
    try:
        with path.open("rb") as file:
            if not os.fstat(file.fileno()).st_size:
                return None
            with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
                opened = max(data.rfind(b'"type":"session_%s"' % kind) for kind in (b"started", b"resumed"))
                began = _event_at(data, opened)
                asked = _last_asked(data, opened)
    except OSError as error:
        raise JournalError(f"cannot read the session {path}: {error.strerror}") from error
    variant = began.variant if isinstance(began, SessionStarted | SessionResumed) else None
    if asked and (variant is None or asked != variant.id):
        return LastModel(asked)
    return LastModel(variant.id, variant.base_url, variant.dialect) if variant is not None and variant.model else None


def _last_asked(data: mmap.mmap, after: int) -> str:
    at = len(data)
    while (at := data.rfind(b'"type":"model_asked"', max(after, 0), at)) >= 0:
        event = _event_at(data, at)
        if isinstance(event, ModelAsked) and event.variant == "standard":
            return event.model
    return ""


def _event_at(data: mmap.mmap, at: int) -> Event | None:
    """The event whose line holds this byte; see `_telling` for why a mark is enough to find one."""
    end = data.find(b"\n", at) if at >= 0 else -1
    if end < 0:
        return None
    with suppress(msgspec.MsgspecError):  # a line that cannot be read is named when the session is opened
        return decode_line(data[data.rfind(b"\n", 0, at) + 1 : end]).event
    return None


def _telling(path: Path, file: int) -> Iterator[Event]:
    """The events that a summary is made of, those of each kind in order. The text `"type":"…"` stands in no other
    line: within a JSON string its quotes would be escaped."""
    with mmap.mmap(file, 0, access=mmap.ACCESS_READ) as data:
        refuse_newer(path, data[: max(data.find(b"\n"), 0)])
        for kind in (b"session_started", b"session_named", b"turn_started", b"turn_finished"):
            mark = b'"type":"%s"' % kind
            at = data.find(mark)
            while at >= 0:
                begin, end = data.rfind(b"\n", 0, at) + 1, data.find(b"\n", at)
                if end < 0:
                    break  # the line is not complete
                with suppress(msgspec.MsgspecError):  # a line that cannot be read is named when it is opened
                    yield decode_line(data[begin:end]).event
                at = data.find(mark, end)


def summarise_all(folder: Path) -> tuple[tuple[SessionSummary, ...], tuple[str, ...]]:
    """Every stored session, newest first, and one sentence for each that cannot be read."""
    summaries: list[SessionSummary] = []
    problems: list[str] = []
    known = _kept(folder / CACHE)
    kept: dict[str, _Kept] = {}
    for path in journals(folder):
        stat = path.stat()
        entry = known.get(path.stem)
        try:
            if entry is None or (entry.size, entry.changed_ns) != (stat.st_size, stat.st_mtime_ns):
                entry = _Kept(stat.st_size, stat.st_mtime_ns, summarise(path))
        except JournalError as error:
            problems.append(str(error))
            continue
        kept[path.stem] = entry
        summaries.append(replace(entry.summary, busy=is_open(path)))
    if kept != known:
        _keep(folder / CACHE, kept)
    return tuple(summaries), tuple(problems)


def _kept(file: Path) -> dict[str, _Kept]:
    try:
        return decode(file.read_bytes(), dict[str, _Kept])
    except (OSError, msgspec.MsgspecError):
        return {}  # it is made again


def _keep(file: Path, kept: dict[str, _Kept]) -> None:
    """In one step, so that two processes do not write into each other's."""
    new = file.with_name(f"{CACHE}.{os.getpid()}")
    with suppress(OSError):  # nothing is lost without it but time
        descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "wb") as out:
            out.write(encode(kept))
        new.replace(file)


def title_of(state: SessionState) -> str:
    """Its name, else the first line a person wrote."""
    return state.name or (first_line(state.said[0]) if state.said else "")


def first_line(message: UserMessage) -> str:
    text = "".join(part.text for part in message.parts if isinstance(part, TextPart))
    return text.strip().split("\n")[0].strip()[:TITLE]


def is_open(path: Path) -> bool:
    """Whether some process holds the journal."""
    with path.open("rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except OSError:
            return True
        return False
