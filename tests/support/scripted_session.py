"""A session handle that plays a script: for tests, benchmarks and driving a front end by hand.

A script is a list of steps: an event or a delta is sent, a number is a pause in seconds, `Await` stops until an op of
that kind has come. Ops are kept in `ops`. `Close` ends the session wherever the script stands.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from tcoder.protocol.events import Delta, Event, OutputDelta, Progress, Recorded, SessionEnded
from tcoder.protocol.ops import Close, Op
from tcoder.protocol.queries import Query, Reply, Unavailable
from tcoder.protocol.request import CallDelta, ReasoningDelta, RetryDelta, TextDelta

DELTAS = (TextDelta, ReasoningDelta, CallDelta, RetryDelta, OutputDelta, Progress)


@dataclass(frozen=True)
class Await:
    """Stop the script until an op of this kind was submitted (and was not awaited before)."""

    kind: type


Step = Event | Delta | float | Await


@dataclass
class ScriptedSession:
    steps: list[Step]
    session_id: str = "s-1"
    answers: dict[type, Reply] = field(default_factory=dict)
    respond: Callable[[Op, "ScriptedSession"], None] | None = None
    ops: list[Op] = field(default_factory=list)
    clock: Callable[[int], str] = lambda seq: f"2026-12-01T14:{seq // 60 % 60:02}:{seq % 60:02}.000Z"

    def __post_init__(self) -> None:
        self._history: list[Recorded] = []
        self._ears: list[asyncio.Queue[Recorded | Delta | None]] = []
        self._came: dict[type, int] = {}
        self._wake = asyncio.Event()
        self._player: asyncio.Task[None] | None = None
        self.closed = False

    def send(self, item: Event | Delta) -> None:
        """Record an event, or pass a delta on, to everybody who listens."""
        out: Recorded | Delta
        if isinstance(item, DELTAS):
            out = item
        else:
            out = Recorded(len(self._history) + 1, self.clock(len(self._history) + 1), item)
            self._history.append(out)
        for ear in self._ears:
            ear.put_nowait(out)

    @contextmanager
    def subscribe(self, *, past: bool = True) -> Iterator[AsyncIterator[Recorded | Delta]]:
        ear: asyncio.Queue[Recorded | Delta | None] = asyncio.Queue()
        for recorded in self._history:
            ear.put_nowait(recorded)
        if self.closed:
            ear.put_nowait(None)
        self._ears.append(ear)
        if self._player is None:
            self._player = asyncio.create_task(self._play())
        try:
            yield _listen(ear)
        finally:
            self._ears.remove(ear)

    async def submit(self, op: Op) -> None:
        self.ops.append(op)
        self._came[type(op)] = self._came.get(type(op), 0) + 1
        self._wake.set()
        if self.respond is not None:
            self.respond(op, self)
        if isinstance(op, Close):
            self._close(op.reason)

    async def query(self, query: Query) -> Reply:
        return self.answers.get(type(query), Unavailable("not in this script"))

    def stop(self) -> None:
        """Play nothing more of the script."""
        if self._player is not None:
            self._player.cancel()

    def _close(self, reason: str) -> None:
        if self.closed:
            return
        self.closed = True
        self.stop()
        self.send(SessionEnded(reason))
        for ear in self._ears:
            ear.put_nowait(None)

    async def _play(self) -> None:
        for step in self.steps:
            if isinstance(step, Await):
                while not self._came.get(step.kind):
                    self._wake.clear()
                    await self._wake.wait()
                self._came[step.kind] -= 1
            elif isinstance(step, int | float):
                await asyncio.sleep(step)
            else:
                self.send(step)
                await asyncio.sleep(0)


async def _listen(ear: "asyncio.Queue[Recorded | Delta | None]") -> AsyncIterator[Recorded | Delta]:
    while (item := await ear.get()) is not None:
        yield item


def play(steps: Iterable[Step]) -> ScriptedSession:
    return ScriptedSession(list(steps))
