"""Runs the interface. Importing this imports Textual: draw the first frame with `prepaint` before."""

from tcoder.frontends.startup import Startup
from tcoder.frontends.tui.app import TcoderApp
from tcoder.frontends.tui.driver import TerminalDriver, divert_stderr, real_terminal, restore_stderr
from tcoder.frontends.tui.prepaint import LEAVE, Prepaint
from tcoder.protocol.handles import Connect


async def run(connect: Connect, startup: Startup, prepaint: Prepaint | None = None) -> int:
    """Show the interface until the person leaves; returns the exit code.

    Standard error goes to `startup.log_file` meanwhile. However this ends, the terminal is as it was before.
    """
    terminal = real_terminal()
    TerminalDriver.terminal = terminal
    saved = divert_stderr(startup.log_file)
    try:
        app = TcoderApp(startup, connect, TerminalDriver)
        code = await app.run_async(mouse=startup.mouse != "off")
        return app.return_code or code or 0
    finally:
        restore_stderr(saved)
        terminal.write(LEAVE)
        terminal.flush()
        terminal.close()
        if prepaint is not None:
            prepaint.end()
