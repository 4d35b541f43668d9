"""`tcoder reset`: give a terminal back that a killed interface has left in its modes."""

import os
import sys
import termios

from tcoder.app.options import Options
from tcoder.frontends.tui.prepaint import LEAVE
from tcoder.protocol.errors import UsageError


async def run(options: Options) -> int:
    """Undo every mode that the interface sets, make the terminal a line terminal again, drop reports that wait."""
    try:
        terminal = os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY)
    except OSError as error:
        raise UsageError("there is no terminal to give back", "run it in the terminal itself") from error
    try:
        os.write(terminal, LEAVE.encode())
        attributes = termios.tcgetattr(terminal)
        attributes[0] |= termios.ICRNL | termios.IXON | termios.BRKINT
        attributes[0] &= ~(termios.INLCR | termios.IGNCR)
        attributes[1] |= termios.OPOST | termios.ONLCR
        attributes[3] |= termios.ECHO | termios.ECHOE | termios.ECHOK | termios.ICANON | termios.ISIG | termios.IEXTEN
        termios.tcsetattr(terminal, termios.TCSANOW, attributes)
        termios.tcflush(terminal, termios.TCIFLUSH)
    finally:
        os.close(terminal)
    if not options.quiet:
        sys.stdout.write("the terminal is as it was; `tcoder -c` goes on with the last session\n")
    return 0
