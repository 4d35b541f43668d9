"""Long results: what the model is shown of one, and where the whole of it lies so that it can be read and searched."""

import contextlib
import os
import re
import tempfile
from pathlib import Path

from tcoder.protocol.errors import ToolError

PREFIX = "output:"
KEPT_FILES = 64
FILE_LIMIT = 16_000_000
SHOWN_HITS = 60
MAX_HIT = 300
MIDDLE_SHARE = 0.2
TELLING = re.compile(
    r"error|exception|traceback|fail|fatal|panic|assert|warning|denied|cannot|undefined|not found", re.IGNORECASE
)
SCANNED = 2_000_000
_NAME = re.compile(r"[\w-]{1,80}\.txt")


def ends_of(room: int) -> int:
    """How many characters of `room` are for the beginning and the end of a result; the others are for the lines between
    them that look like errors."""
    return int(room * (1 - MIDDLE_SHARE))


def is_handle(path: str) -> bool:
    return path.startswith(PREFIX)


def trim(text: str, room: int, whole: str) -> str:
    """`text` within about `room` characters: its beginning and its end, and of what is left out the lines that look
    like errors, with counts. `whole` is the handle of the whole, empty when it could not be kept."""
    if len(text) <= room:
        return text
    side = ends_of(room) // 2
    head, tail = text[:side], text[-side:]
    head = head[: head.rfind("\n") + 1] or head
    tail = tail[tail.find("\n") + 1 :] or tail
    middle = text[len(head) : len(text) - len(tail)]
    first = head.count("\n") + 1
    lines = middle.split("\n")
    telling = [(first + at, line.strip()[:MAX_HIT]) for at, line in enumerate(lines) if TELLING.search(line)]
    shown = _last(telling, room)
    where = f'; read or search the whole with path "{whole}"' if whole else ""
    note = f"[… {len(lines)} lines, {len(middle)} characters left out{where}"
    if shown:
        note += f"; {len(shown)} of the {len(telling)} lines among them that look like errors:\n"
        note += "\n".join(shown) + "\n"
    return f"{head}\n{note}…]\n{tail}"


def _last(telling: list[tuple[int, str]], room: int) -> list[str]:
    """As many lines as there is room for in the middle; the last errors say most."""
    shown: list[str] = []
    left = room - ends_of(room)
    for number, line in reversed(telling):
        left -= len(line) + 10
        if left < 0:
            break
        shown.append(f"{number}: {line}")
    return shown[::-1]


class Outputs:
    """Whole results in a session's private folder, the last `KEPT_FILES` of them. Without a folder nothing is kept."""

    def __init__(self, folder: Path | None = None, room: int = 24_000) -> None:
        self.room = room
        self._folder = folder

    def fit(self, text: str, name: str) -> str:
        """What the model is shown of a result of the tool `name`."""
        return text if len(text) <= self.room else trim(text, self.room, self._save(text, name))

    def handle(self, path: str) -> str:
        """The handle of a file that something else put into the folder, else its path as it is."""
        file = Path(path)
        ours = path and self._folder is not None and file.parent == self._folder and _NAME.fullmatch(file.name)
        return f"{PREFIX}{file.name}" if ours else path

    def telling(self, handle: str, shown: str) -> str:
        """Of an output whose beginning and end are `shown` and whose whole lies behind `handle`: the lines that look
        like errors and are not among them, with their numbers; empty when there are none."""
        if not is_handle(handle):
            return ""
        whole = self.text(handle)
        known = set(shown.split("\n"))
        before = max(0, len(whole) - SCANNED)
        first = whole.count("\n", 0, before) + 1
        lines = enumerate(whole[before:].split("\n"), first)
        found = [(at, line.strip()[:MAX_HIT]) for at, line in lines if TELLING.search(line) and line not in known]
        said = _last(found, self.room)
        if not said:
            return ""
        return f"{len(said)} of the {len(found)} lines among them that look like errors:\n" + "\n".join(said)

    def text(self, handle: str) -> str:
        """The whole behind a handle. Raises `ToolError`."""
        name = handle.removeprefix(PREFIX)
        if self._folder is None or not _NAME.fullmatch(name):
            raise ToolError(f"there is no {handle}")
        try:
            descriptor = os.open(self._folder / name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
            with os.fdopen(descriptor, "rb") as file:
                return file.read(FILE_LIMIT).decode("utf-8", "replace")
        except OSError as error:
            raise ToolError(f"{handle} is no longer there", "run the command again") from error

    def search(self, handle: str, pattern: str) -> str:
        """The lines that match, with their numbers, at most `SHOWN_HITS`. Raises `ToolError`."""
        try:
            wanted = re.compile(pattern)
        except re.error as error:
            raise ToolError(f"the pattern is no regular expression: {error}") from error
        lines = self.text(handle).split("\n")
        hits = [f"{number}\t{line[:MAX_HIT]}" for number, line in enumerate(lines, 1) if wanted.search(line)]
        more = f"\n({len(hits) - SHOWN_HITS} more matches)" if len(hits) > SHOWN_HITS else ""
        return "\n".join(hits[:SHOWN_HITS]) + more if hits else "no matches"

    def _save(self, text: str, name: str) -> str:
        """A handle, empty when the disk takes nothing: the result is shortened all the same."""
        if self._folder is None:
            return ""
        with contextlib.suppress(OSError):
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            old = sorted(self._folder.glob("result-*.txt"), key=lambda path: path.stat().st_mtime_ns)
            for path in old[: max(len(old) - KEPT_FILES + 1, 0)]:
                path.unlink(missing_ok=True)
            word = re.sub(r"[^\w-]", "", name)[:40]
            descriptor, path = tempfile.mkstemp(prefix=f"result-{word}-", suffix=".txt", dir=self._folder)
            with os.fdopen(descriptor, "wb") as file:
                file.write(text.encode("utf-8", "replace")[:FILE_LIMIT])
            return f"{PREFIX}{Path(path).name}"
        return ""
