"""Runs the interface. Importing this imports Textual: draw the first frame with `prepaint` before."""

import asyncio
import contextlib
import signal
from typing import TextIO

from tcoder.frontends.figures import cost
from tcoder.frontends.glyphs import ascii_only
from tcoder.frontends.sanitise import clean, clean_line
from tcoder.frontends.startup import LINES, Startup
from tcoder.frontends.tui.app import Reason, TcoderApp
from tcoder.frontends.tui.desk import Desk
from tcoder.frontends.tui.driver import TerminalDriver, divert_stderr, real_terminal, restore_stderr
from tcoder.frontends.tui.prepaint import RESET, Prepaint
from tcoder.protocol.handles import Connect
from tcoder.protocol.host import Host

ENDING: dict[signal.Signals, Reason] = {signal.SIGTERM: "sigterm", signal.SIGHUP: "sighup", signal.SIGINT: "sigint"}


async def run(connect: Connect, startup: Startup, prepaint: Prepaint | None = None, host: Host | None = None) -> int:
    """Show the interface until the person leaves; returns the exit code.

    Standard error goes to `startup.log_file` meanwhile. However this ends, the terminal is as it was before.
    """
    if startup.browser:
        return await _in_browser(connect, startup, host)
    terminal = real_terminal()
    TerminalDriver.terminal = terminal
    saved = divert_stderr(startup.log_file)
    app = TcoderApp(startup, connect, TerminalDriver, host)
    loop = asyncio.get_running_loop()
    for number, reason in ENDING.items():
        loop.add_signal_handler(number, app.end, reason, 128 + number)
    try:
        code = await app.run_async(mouse=startup.mouse != "off")
    finally:
        await app.abandon()
        for number in ENDING:
            loop.remove_signal_handler(number)
        with contextlib.suppress(OSError):  # the terminal may be gone: that is what SIGHUP says
            _give_back(terminal, prepaint, started=app.started)
        restore_stderr(saved)
    with contextlib.suppress(OSError):
        if code != LINES:
            terminal.write(farewell(app.desk, startup))
        terminal.close()
    return app.return_code or code or 0


def _give_back(terminal: TextIO, prepaint: Prepaint | None, *, started: bool) -> None:
    if started:
        terminal.write(RESET)
        if prepaint is not None:
            prepaint.restore()
    elif prepaint is not None:
        prepaint.end()
    terminal.flush()


async def _in_browser(connect: Connect, startup: Startup, host: Host | None) -> int:
    """The browser's driver is Textual's own; there is no terminal to take or to give back."""
    app = TcoderApp(startup, connect, None, host)
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, app.end, "sigterm", 128 + signal.SIGTERM)
    saved = divert_stderr(startup.log_file)
    try:
        code = await app.run_async()
    finally:
        restore_stderr(saved)
    return app.return_code or code or 0


def farewell(desk: Desk, startup: Startup) -> str:
    """What stays on the normal screen: the last answer, what changed, what it cost, how to go on."""
    view = desk.view
    if not view.turn:
        return ""
    answer = clean(view.outcome.answer).strip().split("\n") if view.outcome is not None else []
    lines = answer[:20] + (["…"] if len(answer) > 20 else [])
    files = dict.fromkeys(file.path for patch in view.patches if not patch.undone for file in patch.files)
    if files:
        lines += ["", "changed: " + ", ".join(clean_line(path, 80) for path in list(files)[:10])]
    resume = f"tcoder -r {view.session_id}"
    lines += ["", resume if view.cost is None else f"{cost(view.cost)} · {resume}"]
    text = "\n".join(lines).strip("\n") + "\n"
    return (ascii_only(text) if startup.ascii_glyphs else text).replace("\n", "\r\n")
