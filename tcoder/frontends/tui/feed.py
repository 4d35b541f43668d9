"""From a session's subscription to batches: at once when it is quiet, twenty times a second when it is not."""

import asyncio
from collections.abc import Callable

from tcoder.protocol.events import Delta, Recorded
from tcoder.protocol.handles import SessionHandle

INTERVAL_S = 0.05


async def follow(
    session: SessionHandle,
    show: Callable[[list[Recorded | Delta]], None],
    *,
    interval_s: float = INTERVAL_S,
) -> None:
    """Call `show` with everything that came since the last call, until the session ends. The first item after a pause
    is shown without delay; during a stream, calls are `interval_s` apart. Nothing is dropped."""
    loop = asyncio.get_running_loop()
    waiting: list[Recorded | Delta] = []
    timer: asyncio.TimerHandle | None = None
    last = 0.0

    def flush() -> None:
        nonlocal timer, last
        timer = None
        last = loop.time()
        batch = waiting.copy()
        waiting.clear()
        show(batch)

    with session.subscribe() as subscription:
        try:
            async for item in subscription:
                waiting.append(item)
                if timer is None:
                    # `call_at` even when it is due: what is already queued joins the same batch.
                    timer = loop.call_at(max(loop.time(), last + interval_s), flush)
        finally:
            if timer is not None:
                timer.cancel()
            if waiting:
                flush()
