"""The interface in a real pty: what reaches the terminal, and that it is given back however it ends."""

import os
import re
import signal
import sys
import termios
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.support.terminal import Terminal, show_story

LEAVES = [f"\x1b[?{mode}l" for mode in (1049, 1000, 1002, 1003, 1006, 2004, 1004)] + [
    "\x1b[?25h",
    "\x1b[<u",
    "\x1b[?7h",
]
ALLOWED = re.compile(
    rb"\x1b\[[0-9;]*m"  # colours
    rb"|\x1b\[\d+;\d+H|\x1b\[H|\x1b\[2J"  # moves, and the first frame's clear
    rb"|\x1b\[\?(?:25|7|1000|1002|1003|1004|1006|1015|1049|2004|2026|2048)[hl]"
    rb"|\x1b\[\?(?:2026|2048)\$p|\x1b\[>\d+u|\x1b\[<u|\x1b\]22;[a-z]+\x07"
    rb"|\x1b\]8;[^\x00-\x1f\x7f]*\x1b\\"  # an address
    rb"|\x1b\]2;[^\x00-\x1f\x7f]*\x07"  # the title
)


@contextmanager
def running(*story: str) -> Iterator[Terminal]:
    terminal = Terminal(show_story(*story), columns=120, rows=36)
    before = termios.tcgetattr(terminal.fd)
    try:
        terminal.wait_for("ready")
        yield terminal
    finally:
        terminal.read_for(0.0)
        terminal.close()
    assert before is not None


def lines_of(terminal: Terminal) -> list[int]:
    """Input, output and local modes of the line discipline."""
    attributes = termios.tcgetattr(terminal.fd)
    return [attributes[0], attributes[1], attributes[3]]


def test_foreign_text_reaches_the_terminal_as_text_only() -> None:
    """A50, A52, A53: the recording of a session full of escape sequences holds none of them."""
    with running("evil", "--pause", "0") as terminal:
        terminal.write(b"go\r")
        terminal.wait_for("always, this project")
        terminal.read_for(1.5)
        terminal.write(b"1")
        terminal.wait_for("error")
        terminal.read_for(0.3)
        output = bytes(terminal.output)
    text = output.decode()
    assert "␛]52;c;QQ==␇" in text and "[@click=app.quit]" in text
    rest = ALLOWED.sub(b"", output)
    assert b"\x1b" not in rest
    assert not {"\x07", "\x9b", "\u202e", "\x08", "\x0e"} & set(rest.decode())
    assert output.count(b"\x1b[2J") == 1


@pytest.mark.parametrize(
    ("how", "code"), [("quit", 0), ("eof", 0), (signal.SIGTERM, 143), (signal.SIGHUP, 129), (signal.SIGINT, 130)]
)
def test_the_terminal_is_given_back(how: str | signal.Signals, code: int) -> None:
    terminal = Terminal(show_story("fixed"), columns=80, rows=24)
    modes = lines_of(terminal)
    terminal.wait_for("ready")
    assert lines_of(terminal) != modes
    terminal.read_for(0.3)
    if isinstance(how, signal.Signals):
        os.kill(terminal.pid, how)
    else:
        terminal.write(b"/quit\r" if how == "quit" else b"\x04")
    terminal.wait(lambda: "\x1b[?1049l" in terminal.output.decode("utf-8", "replace"))
    terminal.read_for(3.0)
    text = terminal.output.decode("utf-8", "replace")
    assert terminal.exit_code() == code
    assert [sequence for sequence in LEAVES if sequence not in text] == []
    assert text.count("\x1b[?1049l") == 1
    assert text.rindex("\x1b[?25h") > text.rindex("\x1b[?25l")


def test_keys_typed_before_there_is_a_prompt_are_kept() -> None:
    terminal = Terminal(show_story("fixed"), columns=80, rows=24)
    terminal.wait(lambda: terminal.visible() >= 20)
    for letter in "абвгдеж":
        terminal.write(letter.encode())
    terminal.wait_for("ж")
    text = terminal.output.decode("utf-8", "replace")
    terminal.close()
    assert all(letter in text for letter in "абвгдеж")


def test_a_large_paste_becomes_a_chip_and_sends_nothing() -> None:
    with running("fixed") as terminal:
        terminal.write(b"\x1b[200~" + b"line of text\r" * 5_000 + b"\x1b[201~")
        terminal.wait_for("[paste 1: 5001 lines")
        assert b"make" not in terminal.output


def test_a_broken_mouse_report_types_nothing() -> None:
    with running("fixed") as terminal:
        terminal.write(b"\x1b[<32;NaN;NaNM" + "ю".encode())
        terminal.wait_for("ю")
        assert b"NaN" not in terminal.output


def test_reset_gives_back_what_a_killed_interface_left() -> None:
    terminal = Terminal([sys.executable, "-m", "tcoder", "reset"], columns=80, rows=24)
    modes = termios.tcgetattr(terminal.fd)
    modes[0] &= ~termios.ICRNL
    modes[3] &= ~(termios.ECHO | termios.ICANON | termios.ISIG)
    termios.tcsetattr(terminal.fd, termios.TCSANOW, modes)
    terminal.wait_for("as it was")
    after = termios.tcgetattr(terminal.fd)
    assert after[0] & termios.ICRNL and all(after[3] & bit for bit in (termios.ECHO, termios.ICANON, termios.ISIG))
    text = terminal.output.decode()
    assert [sequence for sequence in LEAVES if sequence not in text] == []
