"""Starts line mode."""

import asyncio
import signal

from tcoder.frontends.history import History
from tcoder.frontends.plain.deeds import DEEDS
from tcoder.frontends.plain.reading import Reader, SlashCompleter, open_reader
from tcoder.frontends.plain.runner import LineMode
from tcoder.frontends.startup import Startup
from tcoder.protocol.handles import Connect


async def run(connect: Connect, startup: Startup, reader: Reader | None = None) -> int:
    """Work with a person line by line until they leave; returns the exit code. `reader` replaces standard input."""
    completer = SlashCompleter()
    history = History(startup.history_file)
    mode = LineMode(connect, startup, reader or open_reader(history.entries, completer), history, completer, DEEDS)
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGINT, mode.on_interrupt)
    try:
        return await mode.run()
    finally:
        loop.remove_signal_handler(signal.SIGINT)
