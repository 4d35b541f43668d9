"""Parsing in the background: what a question needs first, then all the rest, in a few processes of low priority."""

import asyncio
import os
from collections.abc import Awaitable, Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Protocol

from tcoder.index.languages import language_of
from tcoder.index.listing import Stamp
from tcoder.index.pool import HangingFileError, Worker
from tcoder.index.tags import MAX_BYTES
from tcoder.index.worker import Built

WORKERS = 2
MIN_BATCH = 40
URGENT_BATCH = 20
# few segments keep questions quick and small batches let what is urgent in soon
SEGMENTS = 60
BATCH = 240
MAX_BATCH = 1_200
BATCH_BYTES = 3_000_000
MANY_FILES = 10_000


class Parsable(Protocol):
    """What is asked of an engine; its methods are called through `call`, which runs them in its thread."""

    pending: dict[str, Stamp]

    def integrate(self, built: Built) -> None: ...
    def give_up(self, paths: Iterable[str]) -> None: ...
    def save(self) -> None: ...


class Builder:
    """Empties the engine's pending files. Workers live while there is work."""

    def __init__(self, root: Path, engine: Parsable, call: Callable[[Callable[[], None]], Awaitable[None]]) -> None:
        self._root = root
        self._engine = engine
        self._call = call
        self._urgent: list[str] = []
        self._busy: set[str] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._progress = asyncio.Condition()
        self._endings: set[asyncio.Future[None]] = set()
        self._failure: BaseException | None = None
        self._closing = False

    async def parse(self, paths: Iterable[str]) -> None:
        """Parse these pending files before all others and wait for them."""
        wanted = [path for path in paths if path in self._engine.pending]
        self._urgent = wanted + [path for path in self._urgent if path not in set(wanted)]
        self.start()
        await self._until(lambda: not any(path in self._engine.pending for path in wanted))

    async def finish(self) -> None:
        """Wait until nothing is pending."""
        self.start()
        await self._until(lambda: not self._engine.pending)

    def start(self) -> None:
        """Begin to work if there is work and nobody does it."""
        count = min(WORKERS, os.cpu_count() or 1, 1 + len(self._engine.pending) // MIN_BATCH)
        while self._engine.pending and len(self._tasks) < count:
            task = asyncio.create_task(self._drive())
            self._tasks.add(task)

    async def close(self) -> None:
        self._closing = True
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await asyncio.gather(*self._endings)

    async def _until(self, done: Callable[[], bool]) -> None:
        async with self._progress:
            while not done():
                if self._failure is not None:
                    raise self._failure
                self.start()
                await self._progress.wait()

    async def _drive(self) -> None:
        worker = Worker(self._root)
        task = asyncio.current_task()
        assert task is not None
        try:
            while batch := self._next():
                self._busy.update(batch)
                try:
                    await self._one(worker, batch)
                finally:
                    self._busy.difference_update(batch)
                async with self._progress:
                    self._progress.notify_all()
            if not self._busy:
                await self._call(self._engine.save)
        except Exception as error:  # noqa: BLE001 # whoever waits for the files raises it
            self._failure = error
        finally:
            # ending a process is not to be cut short by the cancelling of whoever uses it
            ending = asyncio.ensure_future(worker.close())
            self._endings.add(ending)
            ending.add_done_callback(self._endings.discard)
            self._tasks.discard(task)
            await asyncio.shield(ending)
            async with self._progress:
                self._progress.notify_all()

    async def _one(self, worker: Worker, batch: list[str]) -> None:
        try:
            built = await worker.build(tuple((path, language_of(path)) for path in batch))
        except HangingFileError as error:
            await self._call(partial(self._engine.give_up, [error.path]))
            return
        await self._call(partial(self._engine.integrate, built))
        await self._call(partial(self._engine.give_up, batch))

    def _next(self) -> list[str]:
        # a copy, since the engine's thread may change it meanwhile
        if self._closing:
            return []
        pending = frozenset(list(self._engine.pending))
        urgent = [path for path in self._urgent if path in pending and path not in self._busy]
        if urgent:
            # in small shares, best first, since somebody waits
            self._urgent = urgent[URGENT_BATCH:]
            return urgent[:URGENT_BATCH]
        free = sorted(path for path in pending if path not in self._busy)
        # the last ones are small, so that all workers end at about the same time
        size = min(max(MIN_BATCH, min(len(free) // (2 * WORKERS), max(BATCH, len(free) // SEGMENTS))), MAX_BATCH)
        batch: list[str] = []
        # the more there is the fewer segments for as much
        room = BATCH_BYTES if len(free) < MANY_FILES else 2 * BATCH_BYTES
        for path in free[:size]:
            found = self._engine.pending.get(path)
            room -= min(found.size, MAX_BYTES) if found else 0
            if batch and room < 0:
                break
            batch.append(path)
        return batch
