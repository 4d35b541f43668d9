"""A command that runs: what it has printed, how it stands, and the pieces that people see meanwhile."""

import asyncio
import secrets
import time
from collections.abc import Callable
from typing import Literal

from tcoder.workspace.shell.output import Output, Stream

Ending = Literal["", "done", "gone", "timed_out", "waits", "over_limit"]
_PIECE_EVERY_S = 0.03
_LARGEST_PIECE = 32_768


class Running:
    """`heard` is set at every news. The exit status comes with `end`; the output is whole when `fenced`, since the
    terminal's bytes may arrive later than the status."""

    def __init__(self, command: str, output: Output, on_output: Callable[[str], None] | None) -> None:
        self.command = command
        self.output = output
        self.heard = asyncio.Event()
        self.began = time.monotonic()
        self.last_output = self.began
        self.status: int | None = None
        self.gone = False
        self.fenced = False
        self.fence: bytes = b""
        self.after_fence: bytes = b""
        self._held: bytes = b""
        self._on_output = on_output
        self._stream = Stream()
        self._piece = bytearray()
        self._timer: asyncio.TimerHandle | None = None

    def watch(self, on_output: Callable[[str], None] | None) -> None:
        self._on_output = on_output

    def expect_fence(self) -> str:
        """A text that the keeper is to print: sent only now, so that no command can have printed it before."""
        text = f"\x1e{secrets.token_hex(16)}\x1e"
        self.fence = text.encode()
        return text

    def take(self, data: bytes) -> None:
        """Bytes from the terminal."""
        self.last_output = time.monotonic()
        if self.fenced:
            self.after_fence = (self.after_fence + data)[-_LARGEST_PIECE:]
            return
        if self.fence:
            data = self._held + data
            before, found, after = data.partition(self.fence)
            if found:
                self.fenced = True
                self.after_fence = after
                self._held = b""
                data = before
                self.heard.set()
            else:
                keep = min(len(data), len(self.fence) - 1)
                self._held = data[len(data) - keep :]
                data = data[: len(data) - keep]
        if data:
            self._show(data)

    def end(self, status: int) -> None:
        self.status = status
        self.heard.set()

    def finish(self) -> None:
        """Show what is held back; nothing comes any more."""
        if self._held:
            held, self._held = self._held, b""
            self._show(held)
        self._flush()

    def _show(self, data: bytes) -> None:
        self.output.feed(data)
        if self._on_output is None:
            return
        self._piece += data
        if len(self._piece) > _LARGEST_PIECE:  # nobody reads a flood: the last of it is enough
            del self._piece[: -_LARGEST_PIECE // 2]
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(_PIECE_EVERY_S, self._flush)

    def _flush(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        piece, self._piece = bytes(self._piece), bytearray()
        text = self._stream.feed(piece) if piece else ""
        if text and self._on_output is not None:
            self._on_output(text)
