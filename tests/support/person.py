"""The real tcoder in a pty with a terminal emulator behind it: what a person types, and what they then see."""

import os
import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import pyte

from tests.support.desk import Desk
from tests.support.terminal import Terminal

# What the emulator does not know and would print: keyboard protocols, questions to the terminal, titles.
_UNKNOWN = re.compile(
    r"\x1b\[[<>=][0-9;]*[a-zA-Z]|\x1b\[\?[0-9;]*\$p|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1bP[^\x1b]*\x1b\\"
)
_UNFINISHED = re.compile(r"\x1b(?:[\]P](?:(?!\x07|\x1b\\)[\s\S])*|[^a-zA-Z\]\x07\\][^a-zA-Z\x07\\]*|)$")
KEYS = {
    "enter": "\r", "esc": "\x1b", "up": "\x1b[A", "down": "\x1b[B", "ctrl+up": "\x1b[1;5A", "tab": "\t", "f1": "\x1bOP",
    "f2": "\x1bOQ", "alt+enter": "\x1b\r", "alt+up": "\x1b[1;3A", "alt+,": "\x1b,", "alt+.": "\x1b.", "alt+p": "\x1bp",
    "shift+tab": "\x1b[Z", "pageup": "\x1b[5~", "end": "\x1b[F", "alt+2": "\x1b2",
    **{f"ctrl+{letter}": chr(ord(letter) - 96) for letter in "cdgjlorsyz"},
}  # fmt: skip


class Person(Terminal):
    """Types and looks. Every look waits until what is looked for is there, and fails with the whole screen."""

    def __init__(self, command: list[str], columns: int, rows: int, environment: Mapping[str, str], cwd: str) -> None:
        # The working directory is the program's own concern: `-C` is not everywhere.
        super().__init__(["env", "-C", cwd, *command], columns=columns, rows=rows, environment=environment)
        self._emulator = pyte.Screen(columns, rows)
        self._stream = pyte.Stream(self._emulator)
        self._fed = 0
        self._held = ""

    @property
    def screen(self) -> str:
        """What is on the screen now."""
        data = self._held + bytes(self.output[self._fed :]).decode("utf-8", "ignore")
        self._fed = len(self.output)
        rest = _UNFINISHED.search(data)
        self._held = data[rest.start() :] if rest else ""
        self._stream.feed(_UNKNOWN.sub("", data[: len(data) - len(self._held)]))
        return "\n".join(line.rstrip() for line in self._emulator.display)

    def sees(self, *texts: str, seconds: float = 20.0) -> str:
        """Wait until all of `texts` are on the screen."""
        try:
            self.wait(lambda: all(text in self.screen for text in texts), seconds)
        except TimeoutError:
            missing = [text for text in texts if text not in self.screen]
            raise AssertionError(f"{missing} not seen; the screen:\n{self.screen}") from None
        return self.screen

    def misses(self, text: str, seconds: float = 20.0) -> str:
        """Wait until `text` is not on the screen any more."""
        try:
            self.wait(lambda: text not in self.screen, seconds)
        except TimeoutError:
            raise AssertionError(f"{text!r} is still there; the screen:\n{self.screen}") from None
        return self.screen

    def press(self, *keys: str) -> None:
        for key in keys:
            self.write(KEYS.get(key, key).encode())
            self.read_for(0.08)  # a lone Esc and the key after it are two keys

    def say(self, text: str) -> None:
        """Type a line and send it."""
        self.write(text.encode())
        self.read_for(0.15)
        self.write(b"\r")

    def paste(self, text: str) -> None:
        self.write(f"\x1b[200~{text}\x1b[201~".encode())

    def click(self, text: str, *, button: int = 0, within: int = 0) -> None:
        """Click on the first place where `text` stands."""
        lines = self.screen.split("\n")
        row = next(at for at, line in enumerate(lines) if text in line)
        column = lines[row].index(text) + within + 1
        self.write(f"\x1b[<{button};{column};{row + 1}M\x1b[<{button};{column};{row + 1}m".encode())

    def allows(self, what: str = "1 once") -> None:
        """Answer the question that is asked, once the panel takes keys."""
        self.sees(what)
        self.read_for(1.6)
        self.write(b"1")


@contextmanager
def working(
    desk: Desk, *arguments: str, size: tuple[int, int] = (120, 36), ready: str = "ready", **extra: str
) -> Iterator[Person]:
    """A person in the desk's repository."""
    environment = {"TCODER_HOME": str(desk.home), "HOME": str(desk.home.parent), **extra}
    if "PYTHONPATH" in os.environ:
        environment["PYTHONPATH"] = os.environ["PYTHONPATH"]
    person = Person([sys.executable, "-m", "tcoder", *arguments], *size, environment, str(desk.root))
    try:
        if ready:
            person.sees(ready)
        yield person
    finally:
        person.close()
