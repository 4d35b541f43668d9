"""Starts line mode."""

import asyncio
import signal

from tcoder.frontends.history import History
from tcoder.frontends.plain.deeds import DEEDS
from tcoder.frontends.plain.reading import Reader, SlashCompleter, open_reader
from tcoder.frontends.plain.runner import LineMode
from tcoder.frontends.startup import Startup
from tcoder.protocol.handles import Connect
from tcoder.protocol.host import Host
from tcoder.protocol.ops import Close

TERMINATING = (signal.SIGTERM, signal.SIGHUP)


async def run(connect: Connect, startup: Startup, reader: Reader | None = None, *, host: Host | None = None) -> int:
    """Work with a person line by line until they leave; returns the exit code. `reader` replaces standard input.

    SIGTERM and SIGHUP close the session and end with 128 and their number; SIGINT stops the running turn.
    """
    completer = SlashCompleter()
    history = History(startup.history_file)
    mode = LineMode(
        connect, startup, reader or open_reader(history.entries, completer), history, completer, DEEDS, host
    )
    loop = asyncio.get_running_loop()
    working = asyncio.create_task(mode.run(), name="line mode")
    ended_by: list[int] = []

    def terminate(number: signal.Signals) -> None:
        ended_by.append(128 + number)
        working.cancel()

    loop.add_signal_handler(signal.SIGINT, mode.on_interrupt)
    for number in TERMINATING:
        loop.add_signal_handler(number, terminate, number)
    try:
        return await working
    except asyncio.CancelledError:
        if not ended_by:
            raise
        await mode.submit(Close("sigterm" if ended_by[0] == 128 + signal.SIGTERM else "sighup"))
        await mode.ended()
        return ended_by[0]
    finally:
        for number in (signal.SIGINT, *TERMINATING):
            loop.remove_signal_handler(number)
