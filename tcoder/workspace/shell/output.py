"""What a command prints, made fit to show: bounded in memory and on disk, and without bytes that drive a terminal."""

import codecs
import contextlib
import os
import re
import tempfile
from pathlib import Path

from msgspec import Struct

SPILL_LIMIT = 8_000_000
SPILL_FILES = 32
_RAW_FACTOR = 8

_ESCAPES = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"  # CSI
    r"|(?:\x1b[\]PX^_]|[\x90\x98\x9d\x9e\x9f])[^\x07\x1b\x9c]{0,8192}(?:\x07|\x1b\\|\x9c|(?=\x1b)|$)"  # OSC, DCS, APC …
    r"|\x1b[ -/]*[0-~]?"  # two-byte and intermediate escapes
    r"|[\x80-\x9f]"  # C1
)
_CONTROLS = re.compile(r"[\x00-\x07\x0b\x0e-\x1f\x7f]")
_UNFINISHED = re.compile(
    r"(?:(?:\x1b\[|\x9b)[0-?]*[ -/]*|(?:\x1b[\]PX^_]|[\x90\x98\x9d\x9e\x9f])[^\x07\x1b\x9c]{0,8192}\x1b?|\x1b[ -/]*)$"
)


def clean(text: str) -> str:
    """Text without escape sequences and control characters; carriage returns and backspaces are applied, so that of a
    progress bar only its last state is left."""
    if not _is_plain(text):
        text = _CONTROLS.sub("", _ESCAPES.sub("", text)).replace("\r\n", "\n").replace("\f", "\n")
        if "\r" in text or "\b" in text:
            text = "\n".join(map(_as_shown, text.split("\n")))
    return text


def _is_plain(text: str) -> bool:
    return (
        text.isascii()
        and not any(character < " " and character not in "\n\t" for character in set(text))
        and ("\x7f" not in text)
    )


def _as_shown(line: str) -> str:
    if "\r" in line:
        line = next((part for part in reversed(line.split("\r")) if part), "")
    if "\b" in line:
        shown: list[str] = []
        for character in line:
            if character != "\b":
                shown.append(character)
            elif shown:
                shown.pop()
        line = "".join(shown)
    return line


class Stream:
    """Cleans output piece by piece for people who watch: a character or an escape sequence that a piece cuts in two is
    held back until the next one."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._held = ""

    def feed(self, data: bytes) -> str:
        text = self._held + self._decoder.decode(data)
        match = _UNFINISHED.search(text[-8200:])
        cut = len(text) - (len(match.group()) if match else 0)
        if text.endswith("\r"):
            cut = len(text) - 1
        self._held = text[cut:]
        piece = text[:cut]
        return clean("\n" + piece[1:] if piece.startswith("\r") and not piece.startswith("\r\n") else piece)


class Excerpt(Struct, frozen=True):
    """`text` holds head and tail around a line that counts the `omitted_bytes` between them."""

    text: str
    omitted_bytes: int
    spill: str


class Output:
    """Collects what one command prints. Memory stays below about 17 times `budget` (characters of the excerpt), and the
    spill file, which appears only when the excerpt has to leave something out, below `spill_limit` bytes."""

    def __init__(self, budget: int, spill_dir: Path, *, spill_limit: int = SPILL_LIMIT) -> None:
        self.total = 0
        self._budget = budget
        self._window = budget * _RAW_FACTOR
        self._head = bytearray()
        self._tail = bytearray()
        self._spill_dir = spill_dir
        self._spill_limit = spill_limit
        self._spilled = 0
        self._spill: int | None = None
        self._spill_path = ""
        self._dropped = False
        self._spill_stream = Stream()

    @property
    def open_line(self) -> bool:
        """Whether the last line has no end yet."""
        last = self._tail or self._head
        return bool(last) and not last.endswith((b"\n", b"\r"))

    def feed(self, data: bytes) -> None:
        self.total += len(data)
        room = self._window - len(self._head)
        if room > 0:
            self._head += data[:room]
            data = data[room:]
        if not data:
            return
        self._tail += data
        if len(self._tail) > 2 * self._window:
            if not self._dropped:
                self._dropped = True
                self._open_spill()
                self._write(bytes(self._head))
            self._write(bytes(self._tail[: -self._window]))
            del self._tail[: -self._window]

    def finish(self) -> Excerpt:
        """The excerpt so far; may be asked for again later while the command goes on."""
        everything = not self._dropped
        head = _decode(bytes(self._head + self._tail if everything else self._head))
        if everything and len(head) <= self._budget:
            return Excerpt(head, 0, "")
        tail = head if everything else _decode(bytes(self._tail))
        half = self._budget // 2
        start, end = _whole_lines(head[:half], tail[-half:])
        size = len(head.encode()) if everything else self.total
        omitted = max(size - len(start.encode()) - len(end.encode()), 1)
        spill = self._spill_now(head if everything else "")
        return Excerpt(f"{start}\n[… {omitted} bytes left out …]\n{end}", omitted, spill)

    def recent(self, size: int = 4000) -> str:
        """The last characters as shown."""
        return _decode(bytes((self._head + self._tail)[-4 * size :]))[-size:]

    def close(self) -> None:
        if self._spill is not None:
            self._write(bytes(self._tail))
            self._tail.clear()
        self._close_spill()

    def _spill_now(self, whole: str) -> str:
        if whole and not self._spill_path:
            self._open_spill()
            self._write_text(whole)
            self._close_spill()
        return self._spill_path

    def _open_spill(self) -> None:
        """Without room or right to make a file, output is cut all the same and the file's name stays empty: a full disk
        must not end the command."""
        with contextlib.suppress(OSError):
            self._make_spill()

    def _make_spill(self) -> None:
        self._spill_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        old = sorted(self._spill_dir.glob("output-*.txt"), key=lambda path: path.stat().st_mtime)
        for path in old[: max(len(old) - SPILL_FILES + 1, 0)]:
            path.unlink(missing_ok=True)
        self._spill, self._spill_path = tempfile.mkstemp(prefix="output-", suffix=".txt", dir=self._spill_dir)

    def _write(self, data: bytes) -> None:
        if self._spill is not None and self._spilled < self._spill_limit:
            self._write_text(self._spill_stream.feed(data))

    def _write_text(self, text: str) -> None:
        if self._spill is None:
            return
        data = text.encode("utf-8", "replace")[: self._spill_limit - self._spilled]
        with contextlib.suppress(OSError):  # the disk is full: what is there stays readable
            self._spilled += os.write(self._spill, data)

    def _close_spill(self) -> None:
        if self._spill is not None:
            os.close(self._spill)
            self._spill = None


def _decode(data: bytes) -> str:
    return clean(data.decode("utf-8", "replace"))


def _whole_lines(head: str, tail: str) -> tuple[str, str]:
    """Cuts at line ends where that costs less than a fifth of the text."""
    end = head.rfind("\n")
    start = tail.find("\n")
    return (
        head[:end] if end > len(head) * 4 // 5 else head,
        tail[start + 1 :] if 0 <= start < len(tail) // 5 else tail,
    )
