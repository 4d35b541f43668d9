"""The first frame, before Textual is imported: raw ANSI, and no key that is typed meanwhile is lost.

Imports the standard library's smallest parts only. `begin` takes the terminal (no echo, alternate screen) and draws;
what is typed from then on waits in the terminal for the prompt. `Prepaint.end` gives the terminal back.
"""

import contextlib
import os
import sys
import termios

_MODES = (1000, 1002, 1003, 1006, 1015, 2004, 1004)
RESET = "".join(f"\x1b[?{mode}l" for mode in _MODES) + "\x1b[<u\x1b[?7h\x1b[0m\x1b[?25h"
"""Undoes every mode but the alternate screen, which restores the cursor and so must be left only once."""
LEAVE = RESET + "\x1b[?1049l"
"""Gives a terminal back: mouse, paste and focus reports, keyboard protocol, wrapping, screen, colours, cursor."""


class Prepaint:
    """The terminal between the first frame and the interface. `tty` is a file descriptor for reading and writing."""

    def __init__(self, tty: int, saved: list[object]) -> None:
        self.tty = tty
        self.saved = saved

    def end(self) -> None:
        """Leave the first frame: the interface does not come after all."""
        with contextlib.suppress(OSError, termios.error):
            os.write(self.tty, LEAVE.encode())
        self.restore()

    def restore(self) -> None:
        """Give the terminal's line discipline back as it was."""
        with contextlib.suppress(OSError, termios.error):
            termios.tcsetattr(self.tty, termios.TCSADRAIN, self.saved)  # pyright: ignore[reportArgumentType]  as it was read


def frame(columns: int, rows: int, title: str, *, colour: bool, ascii_glyphs: bool) -> str:
    """The first frame as ANSI text: header, empty transcript, prompt, status."""
    dim, off = ("\x1b[2m", "\x1b[0m") if colour else ("", "")
    corner = "++++-|" if ascii_glyphs else "╭╮╰╯─│"
    name = title[: max(0, columns - 12)]
    parts = ["\x1b[?1049h\x1b[2J\x1b[H\x1b[?25l", f" tcoder  {dim}{name}{off}"]
    if rows >= 8:
        top = rows - 3
        bar = corner[4] * (columns - 8)
        parts += [
            f"\x1b[{top};1H{dim}{corner[0]}{corner[4]} ask {bar}{corner[1]}{off}",
            f"\x1b[{top + 1};1H{dim}{corner[5]}{off}\x1b[{top + 1};{columns}H{dim}{corner[5]}{off}",
            f"\x1b[{top + 2};1H{dim}{corner[2]}{corner[4] * (columns - 2)}{corner[3]}{off}",
            f"\x1b[{rows};1H{dim} starting{off}",
            f"\x1b[{top + 1};3H\x1b[?25h",
        ]
    return "".join(parts)


def begin(title: str, *, colour: bool = True, ascii_glyphs: bool = False) -> Prepaint | None:
    """Take the terminal and draw the first frame. None when standard input or output is no terminal."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        return None
    tty = sys.stdin.fileno()
    saved: list[object] = list(termios.tcgetattr(tty))
    attributes = termios.tcgetattr(tty)
    attributes[0] &= ~(termios.ICRNL | termios.IXON | termios.INLCR)
    attributes[3] &= ~(termios.ECHO | termios.ICANON | termios.IEXTEN)
    termios.tcsetattr(tty, termios.TCSANOW, attributes)
    columns, rows = os.get_terminal_size(tty)
    os.write(tty, frame(columns, rows, title, colour=colour, ascii_glyphs=ascii_glyphs).encode())
    return Prepaint(tty, saved)
