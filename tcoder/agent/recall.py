"""A stored session gone on with: its state, and so much of its past as front ends are shown. However long the journal
is, it is read line by line, and what is held of it is bounded.

What a session has come to is a fold of all its events. Of a long journal, what lies before the last compaction is
folded by halves: the conversation of that time has been replaced, so that calls and results need not even be decoded.
Of what is not shown, neither need be what was there to be shown only.
"""

import asyncio
import mmap
import os
import re
from collections import deque
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from tcoder.agent.journal import Stored, collecting_nothing
from tcoder.agent.state import SessionState, fold
from tcoder.protocol.budget import Usage
from tcoder.protocol.errors import JournalError
from tcoder.protocol.events import (
    ApprovalChanged,
    CheckpointMade,
    ChecksRan,
    Event,
    ModelAnswered,
    Notice,
    PatchApplied,
    PlanChanged,
    Recorded,
    SessionNamed,
    SessionStarted,
    ToolFinished,
    ToolStarted,
    TurnStarted,
    VariantChanged,
)
from tcoder.protocol.messages import AssistantMessage, ToolResult
from tcoder.protocol.variant import Served

SHOWN_EVENTS = 2_000
SHOWN_BYTES = 16_000_000
STEP_EVENTS = 500
REST_S = 0.001
_KIND = re.compile(rb'\{"schema":\d+,"seq":\d+,"time":"[^"\\]*","type":"(\w+)"')
# What a session has come to does not depend on these: they are there to be shown.
_SHOWN_ONLY = frozenset({b"tool_started", b"permission_asked", b"permission_answered", b"notice", b"located"})
# Of a conversation that has been replaced since, these leave nothing behind.
_GONE = _SHOWN_ONLY | {b"tool_finished", b"note_added"}


class Recalled(Struct, frozen=True):
    """`past` is what front ends are shown: every event, or, of a long session, the last ones after a short form of the
    others, which `whole` False says. `problems` names what could not be read."""

    state: SessionState
    past: tuple[Recorded, ...]
    next_seq: int
    problems: tuple[str, ...] = ()
    whole: bool = True


class _AnsweredMessage(Struct):
    usage: Usage | None = None


class _Answered(Struct):
    """A `ModelAnswered` of which only the counts still matter."""

    type: Literal["model_answered"]
    seq: int
    time: str
    call: int
    message: _AnsweredMessage


_answered = msgspec.json.Decoder(_Answered)


def recall(path: Path, shown_events: int = SHOWN_EVENTS, shown_bytes: int = SHOWN_BYTES) -> Recalled:
    """Raises `JournalError` for a journal that cannot be read or is of a newer format."""
    reading = _Reading(path, shown_events, shown_bytes)
    with collecting_nothing():
        for _ in reading.events():
            pass
    return reading.recalled()


async def recall_beside(path: Path) -> Recalled:
    """The same while others work: whoever types meanwhile waits for `STEP_EVENTS` events and not for all of them."""
    reading = _Reading(path, SHOWN_EVENTS, SHOWN_BYTES)
    with collecting_nothing():
        for count in reading.events():
            if count % STEP_EVENTS == 0:
                await asyncio.sleep(REST_S)
    return reading.recalled()


def left_open(recalled: Recalled) -> tuple[Event, ...]:
    """What must be recorded before a session goes on whose process was killed in the middle of a turn: every call gets
    its result, since no vendor takes a conversation in which one is missing."""
    begun = {one.event.call.id for one in recalled.past if isinstance(one.event, ToolStarted)}
    events: list[Event] = []
    for call in recalled.state.unanswered:
        if call.id in begun:
            text = "tcoder was ended while this ran: what it did is not known, look before you repeat it"
        else:
            events.append(ToolStarted(call, call.name))
            text = "not run: tcoder was ended before"
        events.append(ToolFinished(call.id, call.name, ToolResult(call.id, text, "cancelled"), 0.0))
    return tuple(events)


class _Reading:
    """A journal being read. Holds the state so far and what is to be shown of what has been read."""

    def __init__(self, path: Path, shown_events: int, shown_bytes: int) -> None:
        self._stored = Stored(path)
        self._shown_events = shown_events
        self._shown_bytes = shown_bytes
        self._state = SessionState()
        self._seq = 0
        self._short = _Short()
        self._tail: deque[tuple[Recorded, int]] = deque()

    def events(self) -> Iterator[int]:
        """Read it; yields how many events have been, after each."""
        state, short, tail, size = self._state, self._short, self._tail, 0
        events = _events(self._stored, _marks(self._stored.path, self._shown_events, self._shown_bytes))
        for count, (recorded, length) in enumerate(events, 1):
            self._state = state = fold(state, recorded.event)
            self._seq = recorded.seq
            if length:
                tail.append((recorded, length))
                size += length
                while len(tail) > self._shown_events or (size > self._shown_bytes and len(tail) > 1):
                    left, its_length = tail.popleft()
                    size -= its_length
                    short.add(left)
            else:
                short.add(recorded)
            yield count

    def recalled(self) -> Recalled:
        short = self._short
        last = tuple(recorded for recorded, _ in self._tail)
        past = (*short.events(self._stored.path, last), *last)
        return Recalled(self._state, past, self._seq + 1, tuple(self._stored.problems), short.last is None)


class _Marks(Struct, frozen=True):
    """Bytes of a journal: before `replaced` the conversation has been replaced by a compaction and is not shown either;
    nothing before `shown` is shown."""

    replaced: int
    shown: int


def _events(stored: Stored, marks: _Marks) -> Iterator[tuple[Recorded, int]]:
    """Every event that still matters, with the length of its line; 0 = it is not to be shown."""
    at = 0
    for number, line in stored.lines():
        length = len(line)
        at += length
        recorded = None
        if at <= marks.shown and line.endswith(b"}\n") and (found := _KIND.match(line)):
            kind = found[1]
            if kind in _SHOWN_ONLY or (at <= marks.replaced and kind in _GONE):
                continue
            if at <= marks.replaced and kind == b"model_answered":
                recorded = _counts(line)
        recorded = recorded or stored.read(number, line)
        if recorded is not None:
            yield recorded, length if at > marks.replaced else 0


def _counts(line: bytes) -> Recorded | None:
    """An answer without its text: an aside leaves nothing in the conversation and counts all the same."""
    try:
        of = _answered.decode(line)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None  # it is read as any other line, and named if that fails too
    message = AssistantMessage((), usage=of.message.usage)
    return Recorded(of.seq, of.time, ModelAnswered(of.call, message, Served(), aside=True))


def _marks(path: Path, shown_events: int, shown_bytes: int) -> _Marks:
    """The mark of a compaction stands in no other line: within a JSON string its quotes would be escaped."""
    try:
        with path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            if not size:
                return _Marks(0, 0)
            with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
                replaced = 0
                if size > shown_bytes and (found := data.rfind(b'"type":"compacted"')) >= 0:
                    replaced = min(size - shown_bytes, data.rfind(b"\n", 0, found) + 1)
                return _Marks(replaced, max(replaced, _beginning_of_last(data, shown_events)))
    except OSError as error:
        raise JournalError(f"cannot read the session {path}: {error.strerror}") from error


def _beginning_of_last(data: mmap.mmap, lines: int) -> int:
    """Where the last lines begin."""
    at = len(data)
    for _ in range(lines + 1):
        at = data.rfind(b"\n", 0, at)
        if at < 0:
            break
    return at + 1


class _Short:
    """The events before the ones that are shown, so much shorter that they may be held: patches without their diffs,
    checkpoints, of what is replaced the last, of what is counted the sum."""

    def __init__(self) -> None:
        self.last: Recorded | None = None
        self._first: dict[type[Event], Recorded] = {}
        self._last: dict[type[Event], Recorded] = {}
        self._kept: dict[str, Recorded] = {}
        self._usage = Usage()

    def add(self, recorded: Recorded) -> None:
        self.last = recorded
        event = recorded.event
        match event:
            case SessionStarted() | TurnStarted():
                self._first.setdefault(type(event), recorded)
            case SessionNamed():
                if isinstance(before := self._last.get(type(event)), Recorded) and isinstance(
                    before.event, SessionNamed
                ):
                    self._usage += before.event.usage or Usage()
                self._last[type(event)] = recorded
            case ApprovalChanged() | VariantChanged() | PlanChanged() | ChecksRan():
                self._last[type(event)] = recorded
            case PatchApplied():
                self._kept[event.patch.id] = replace(recorded, event=PatchApplied(event.patch))
            case CheckpointMade():
                self._kept[event.checkpoint.id] = recorded
            case ModelAnswered():
                self._usage += event.message.usage or Usage(calls=1)
            case _:
                pass

    def events(self, path: Path, shown: Sequence[Recorded]) -> Iterator[Recorded]:
        """What comes before those that are `shown`."""
        if self.last is None:
            return
        until = shown[0].seq - 1 if shown else self.last.seq
        yield from self._first.values()
        yield from sorted((*self._last.values(), *self._kept.values()), key=lambda recorded: recorded.seq)
        counted = ModelAnswered(0, AssistantMessage((), usage=self._usage), Served(), aside=True)
        yield replace(self.last, event=counted)
        text = f"the first {until} events are not shown; `tcoder sessions export {path.stem}` writes all of them"
        yield replace(self.last, event=Notice("info", "journal", text))
