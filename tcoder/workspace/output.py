"""What a command prints, within bounds: head and tail are kept, the middle is counted, the whole goes to a file."""

import codecs
import contextlib
import os
import re
from pathlib import Path

SPILL_LIMIT = 64_000_000
_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)?|[ -/]*[0-~])|[\x80-\x9f]")
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_OVERWRITTEN = re.compile(r"[^\r\n]*\r(?=[^\r\n])")


def plain(text: str) -> str:
    """Text without escape sequences and control bytes; of a progress bar that rewrites its line, the last state."""
    text = _ESCAPES.sub("", text).replace("\r\n", "\n")
    text = _OVERWRITTEN.sub("", text)
    return _CONTROL.sub("", text.replace("\r", ""))


class Output:
    """Collects bytes as they come. `budget` characters are kept, a third of them from the head."""

    def __init__(self, budget: int, spill: Path) -> None:
        self._head_limit = budget // 3
        self._tail_limit = budget - self._head_limit
        self._head = ""
        self._tail = ""
        self._bytes = 0
        self._dropped = 0
        self._spill = spill
        self._spilled = 0
        self._file: int | None = None
        self._early: list[bytes] = []
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def feed(self, data: bytes) -> str:
        """Take bytes; gives the text that was new, as it is."""
        self._bytes += len(data)
        self._keep_whole(data)
        text = self._decoder.decode(data)
        rest = text
        if len(self._head) < self._head_limit:
            room = self._head_limit - len(self._head)
            self._head += rest[:room]
            rest = rest[room:]
        self._tail += rest
        if len(self._tail) > 2 * self._tail_limit:
            cut = len(self._tail) - self._tail_limit
            self._dropped += cut
            self._tail = self._tail[cut:]
        return text

    def _keep_whole(self, data: bytes) -> None:
        if self._file is None:
            self._early.append(data)
            if self._bytes <= self._head_limit + self._tail_limit:
                return
            self._file = self._open()
            data = b"".join(self._early)
            self._early.clear()
        room = SPILL_LIMIT - self._spilled
        if self._file >= 0 and room > 0:
            with contextlib.suppress(OSError):  # a full disk must not end the command; what is kept is still right
                self._spilled += os.write(self._file, data[:room])

    def _open(self) -> int:
        try:
            self._spill.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            return os.open(self._spill, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        except OSError:
            return -1

    def finish(self) -> tuple[str, int, str]:
        """The kept text, the bytes left out, and the file with the whole (empty when nothing was left out)."""
        self.feed(b"")
        if len(self._tail) > self._tail_limit:
            self._dropped += len(self._tail) - self._tail_limit
            self._tail = self._tail[-self._tail_limit :]
        if self._file is not None and self._file >= 0:
            os.close(self._file)
            self._file = -1
        if not self._dropped:
            return plain(self._head + self._tail), 0, ""
        middle = f"\n… {self._dropped} characters left out …\n"
        where = str(self._spill) if self._spilled else ""
        return plain(self._head) + middle + plain(self._tail), self._dropped, where
