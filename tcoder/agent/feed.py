"""What one listener of a session has not heard yet."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator

from tcoder.protocol.events import Delta, Recorded


class Feed:
    """One subscriber's queue; iterating ends when the session does."""

    def __init__(self, past: list[Recorded]) -> None:
        self._items: deque[Recorded | Delta | None] = deque(past)
        self._ready = asyncio.Event()

    def put(self, item: "Recorded | Delta | None") -> None:
        self._items.append(item)
        self._ready.set()

    async def __aiter__(self) -> AsyncIterator[Recorded | Delta]:
        while True:
            while self._items:
                item = self._items.popleft()
                if item is None:
                    return
                yield item
            self._ready.clear()
            if not self._items:
                await self._ready.wait()
