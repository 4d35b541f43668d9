"""Textual's terminal driver, with what a coding agent needs besides: the real terminal, quick pastes, calm mouse."""

import asyncio
import contextlib
import os
import re
import selectors
import sys
import threading
from codecs import getincrementaldecoder
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from textual import events
from textual._xterm_parser import XTermParser
from textual.drivers.linux_driver import LinuxDriver

if TYPE_CHECKING:
    from textual.app import App

ESCAPE_S = 0.025
PENDING_S = 1.0
"""How long an unfinished sequence may wait; also the only wake-up while nothing is typed."""
PASTE_BEGINS, PASTE_ENDS = "\x1b[200~", "\x1b[201~"
_OLD_KEYS = re.compile(r"\x1b\[27;(\d+);(\d+)~")
_ALT_SIGN = re.compile(r"\x1b([!-@`{-~\r])")
_BROKEN_MOUSE = re.compile(r"\x1b\[<[^Mm\x1b]*NaN[^Mm\x1b]*[Mm]")


class TerminalDriver(LinuxDriver):
    """Reads from standard input and writes to `terminal`, whatever file descriptor 2 is now.

    Pastes are taken out of the stream before Textual's parser, which goes through its input letter by letter; broken
    mouse reports of some terminals are dropped; the mouse is reported while a button is down and not for every move.
    Nothing is read before `ready` is set: what is typed meanwhile waits in the terminal until there is a prompt.
    `caught_up` says that all of this has been handed on.
    """

    terminal: TextIO | None = None
    mouse_motion: str = "1002"
    ready: threading.Event = threading.Event()

    def __init__(
        self, app: "App[Any]", *, debug: bool = False, mouse: bool = True, size: tuple[int, int] | None = None
    ) -> None:
        super().__init__(app, debug=debug, mouse=mouse, size=size)  # pyright: ignore[reportUnknownMemberType]  Textual leaves App's type open
        self._wake = os.pipe()
        self.caught_up = asyncio.Event()
        if self.terminal is not None:
            self._file = self.terminal

    def _enable_mouse_support(self) -> None:
        if self._mouse:
            self.write(f"\x1b[?1000h\x1b[?{self.mouse_motion}h\x1b[?1006h")
            self.flush()

    def _disable_mouse_support(self) -> None:
        self.write("\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1006l")
        self.flush()

    def _enable_mouse_pixels(self) -> None:
        """Cells are enough."""

    def set_mouse(self, mode: str) -> None:
        """`on`, `scroll-only` or `off`, from now on."""
        self._disable_mouse_support()
        self._mouse = mode != "off"
        self._enable_mouse_support()

    def disable_input(self) -> None:
        os.write(self._wake[1], b"x")
        super().disable_input()

    def run_input_thread(self) -> None:
        """Read, take pastes out, and hand the rest to the parser until the driver stops; no wake-ups while nothing
        comes. An Esc that nothing follows within `ESCAPE_S` is the key."""
        selector = selectors.DefaultSelector()
        selector.register(self.fileno, selectors.EVENT_READ)
        selector.register(self._wake[0], selectors.EVENT_READ)
        parser = XTermParser(self._debug)
        decode = getincrementaldecoder("utf-8")("replace").decode
        reader = PasteReader()
        held = ""
        while not self.ready.wait(0.1):
            if self.exit_event.is_set():
                return
        behind = True
        try:
            while not self.exit_event.is_set():
                came = {key.fd for key, _ in selector.select(0 if behind else ESCAPE_S if held else PENDING_S)}
                if behind and not came:
                    behind = False
                    self._loop.call_soon_threadsafe(self.caught_up.set)
                    continue
                if self._wake[0] in came:
                    os.read(self._wake[0], 16)
                    continue
                if self.fileno not in came:
                    if held:
                        held = ""
                        self.process_message(events.Key("escape", "\x1b"))
                    for event in parser.tick():
                        self.process_message(event)
                    continue
                data = os.read(self.fileno, 65536)
                if not data:
                    break
                text, held = held + decode(data), ""
                if text.endswith("\x1b"):
                    text, held = text[:-1], "\x1b"
                self._deliver(reader.feed(text), parser)
        finally:
            selector.close()

    def _deliver(self, parts: list[tuple[str, bool]], parser: XTermParser) -> None:
        for text, pasted in parts:
            if pasted:
                self.process_message(events.Paste(text))
                continue
            for event in parser.feed(normal_keys(text)):
                self.process_message(event)


def normal_keys(text: str) -> str:
    """Keys that Textual's parser would lose in the way it knows: Alt with a sign, digit or Enter as terminals without a
    keyboard protocol send it, and keys in xterm's older format."""
    if "\x1b" not in text:
        return text
    text = _OLD_KEYS.sub(lambda match: f"\x1b[{match[2]};{match[1]}u", text)
    return _ALT_SIGN.sub(lambda match: f"\x1b[{ord(match[1])};3u", text)


class PasteReader:
    """Splits terminal input into typed text and pastes. Pure but for what it remembers of an open paste."""

    def __init__(self) -> None:
        self._open: list[str] | None = None
        self._tail = ""

    def feed(self, text: str) -> list[tuple[str, bool]]:
        """The parts of `text` in order, each with whether it was pasted; an unfinished paste is kept back."""
        out: list[tuple[str, bool]] = []
        text, self._tail = self._tail + text, ""
        while text:
            if self._open is None:
                before, mark, text = text.partition(PASTE_BEGINS)
                if not mark and len(before) > 2 and (held := _unfinished(before, PASTE_BEGINS)):
                    before, self._tail = before[:-held], before[-held:]
                if before := _BROKEN_MOUSE.sub("", before):
                    out.append((before, False))
                if mark:
                    self._open = []
            else:
                inside, mark, rest = text.partition(PASTE_ENDS)
                if not mark:
                    held = _unfinished(inside, PASTE_ENDS)
                    self._open.append(inside[: len(inside) - held])
                    self._tail = inside[len(inside) - held :] if held else ""
                    return out
                out.append(("".join((*self._open, inside)), True))
                self._open, text = None, rest
        return out


def _unfinished(text: str, mark: str) -> int:
    """How many characters at the end of `text` may be the beginning of `mark` (three at least, so that a lone Esc is
    not held back)."""
    return next((size for size in range(len(mark) - 1, 2, -1) if text.endswith(mark[:size])), 0)


def real_terminal() -> TextIO:
    """The terminal on a file descriptor of its own, so that nothing that happens to fd 1 and 2 matters."""
    fd = os.dup(sys.stdout.fileno())
    return os.fdopen(fd, "w", encoding="utf-8", errors="replace", newline="", buffering=1 << 16)


def divert_stderr(path: str) -> int:
    """Point file descriptor 2 at a log (or nowhere), so that no library writes over the screen. Returns the old one."""
    saved = os.dup(2)
    log = _open_log(path)
    sys.stderr.flush()
    os.dup2(log, 2)
    os.close(log)
    return saved


def _open_log(path: str) -> int:
    """The log for appending, in a private folder; nowhere when it cannot be written."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
    if path:
        with contextlib.suppress(OSError):
            Path(path).parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            return os.open(path, flags, 0o600)
    return os.open(os.devnull, flags)


def restore_stderr(saved: int) -> None:
    sys.stderr.flush()
    os.dup2(saved, 2)
    os.close(saved)
