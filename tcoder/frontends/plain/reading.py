"""Lines from a person: with prompt_toolkit on a terminal, as they come from a dumb terminal, a pipe or a file."""

import asyncio
import os
import sys
import termios
from collections.abc import Iterable
from typing import Protocol

from prompt_toolkit import PromptSession
from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document
from prompt_toolkit.formatted_text import FormattedText
from prompt_toolkit.history import InMemoryHistory

from tcoder.frontends import commands
from tcoder.protocol.queries import UserCommand

PROMPT_END = ("[ZeroWidthEscape]", "\x1b]133;B\x07")
"""Tells the terminal where the prompt ends and the input begins."""


class Reader(Protocol):
    async def line(self, prompt: str, *, answer: bool = False, secret: bool = False) -> str | None:
        """The next line, None at the end. For an `answer`, what was typed before the prompt does not count. A `secret`
        is not shown where that can be helped. Raises `KeyboardInterrupt` for Ctrl+C."""
        ...

    async def unasked(self) -> str | None:
        """A line that a person types while nothing asks for one; None when there will be none. Lines of a pipe wait
        for their prompt. May be cancelled; nothing is lost then."""
        ...


class SlashCompleter(Completer):
    """Slash commands and their arguments. `user` is filled when the session knows the user's commands."""

    def __init__(self) -> None:
        self.user: tuple[UserCommand, ...] = ()

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
        before = document.text_before_cursor
        for candidate in commands.complete(before, self.user):
            yield Completion(candidate.text, candidate.start - len(before), candidate.label, candidate.note)


async def _typed() -> str | None:
    """The next line of the terminal, which hands over whole lines only while nothing edits one."""
    fd = sys.stdin.fileno()
    if not os.isatty(fd):
        await asyncio.Event().wait()
    loop, ready = asyncio.get_running_loop(), asyncio.Event()
    loop.add_reader(fd, ready.set)
    try:
        await ready.wait()
    finally:
        loop.remove_reader(fd)
    data = os.read(fd, 1 << 16)
    return data.decode("utf-8", "replace").rstrip("\r\n") if data else None


class EditingReader:
    """prompt_toolkit's line editor with history and completion."""

    def __init__(self, history: Iterable[str], completer: SlashCompleter) -> None:
        self._session: PromptSession[str] = PromptSession(
            history=InMemoryHistory(list(history)), completer=completer, complete_while_typing=False
        )
        self._answers: PromptSession[str] = PromptSession()
        self._marks = os.environ.get("TERM") != "linux"

    async def line(self, prompt: str, *, answer: bool = False, secret: bool = False) -> str | None:
        if answer:
            termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)
        text = FormattedText([("", prompt), *(() if answer or not self._marks else (PROMPT_END,))])
        try:
            if secret:
                return await PromptSession[str]().prompt_async(text, is_password=True)
            return await (self._answers if answer else self._session).prompt_async(text)
        except EOFError:
            return None

    async def unasked(self) -> str | None:
        return await _typed()


class StreamReader:
    """Lines of standard input, whatever it is, without a thread and without touching the terminal's modes."""

    def __init__(self) -> None:
        self._fd = sys.stdin.fileno()
        self._buffer = b""
        self._end = False

    async def line(self, prompt: str, *, answer: bool = False, secret: bool = False) -> str | None:
        sys.stdout.write(prompt)
        sys.stdout.flush()
        if answer and os.isatty(self._fd):
            termios.tcflush(self._fd, termios.TCIFLUSH)
            self._buffer = b""
        while b"\n" not in self._buffer and not self._end:
            await self._more()
        if not self._buffer:
            return None
        line, _, self._buffer = self._buffer.partition(b"\n")
        if not os.isatty(self._fd):
            sys.stdout.write("\n")
        return line.decode("utf-8", "replace").rstrip("\r")

    async def unasked(self) -> str | None:
        return await _typed()

    async def _more(self) -> None:
        loop = asyncio.get_running_loop()
        ready = asyncio.Event()
        try:
            loop.add_reader(self._fd, ready.set)
        except PermissionError:
            pass  # a regular file never waits
        else:
            try:
                await ready.wait()
            finally:
                loop.remove_reader(self._fd)
        data = os.read(self._fd, 1 << 16)
        self._end = not data
        self._buffer += data


def open_reader(history: Iterable[str], completer: SlashCompleter) -> Reader:
    """The line editor where the terminal can have one."""
    capable = sys.stdin.isatty() and sys.stdout.isatty() and os.environ.get("TERM", "dumb") not in ("", "dumb")
    return EditingReader(history, completer) if capable else StreamReader()
