"""The ledger's log: one line a patch or checkpoint, appended before anybody is told of it, so that a ledger that was
killed finds everything again. Only one process may hold a session's log."""

import contextlib
import fcntl
import os
from pathlib import Path

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from tcoder.protocol.edits import Checkpoint, Patch
from tcoder.protocol.errors import WorkspaceError


class PatchLine(Struct, frozen=True, tag="patch"):
    """A patch, with what its trees do not hold: permission bits that are not git's usual ones, before and after
    (-1 = no file), and the folders that came and went with it."""

    patch: Patch
    modes: dict[str, tuple[int, int]] = {}
    folders: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()


class CheckpointLine(Struct, frozen=True, tag="checkpoint"):
    checkpoint: Checkpoint


Line = PatchLine | CheckpointLine

_decoder = msgspec.json.Decoder(Line)
_encoder = msgspec.json.Encoder()


class Log:
    """An open log. `lines` are what it holds, oldest first."""

    def __init__(self, place: Path) -> None:
        """Open or create it. Raises `WorkspaceError` when another process holds it or it cannot be written."""
        self.place = place
        try:
            place.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._fd = os.open(place, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        except OSError as error:
            raise WorkspaceError(f"the ledger cannot be opened: {place}: {error.strerror}") from error
        try:
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            os.close(self._fd)
            raise WorkspaceError(
                f"the session {place.stem} is open in another tcoder", "close it there, or start a new session"
            ) from error
        self.lines = self._load()

    def _load(self) -> list[Line]:
        """Every whole line; a line that was cut off is removed, so that the next one does not continue it."""
        with open(self.place, "rb") as file:
            data = file.read()
        whole = data.rfind(b"\n") + 1
        if whole < len(data):
            os.ftruncate(self._fd, whole)
        return [line for text in data[:whole].split(b"\n") if text and (line := _decoded(text)) is not None]

    def append(self, line: Line) -> None:
        """Add a line. Raises `WorkspaceError`, e.g. when the disk is full; then nothing of it stays."""
        data = _encoder.encode(line) + b"\n"
        end = os.fstat(self._fd).st_size
        try:
            written = os.write(self._fd, data)
            if written < len(data):
                raise OSError(28, "the disk is full")
        except OSError as error:
            with contextlib.suppress(OSError):
                os.ftruncate(self._fd, end)
            raise WorkspaceError(f"the ledger could not be written: {error.strerror}", str(self.place)) from error
        self.lines.append(line)

    def sync(self) -> None:
        """Flush it to the disk. Blocks; raises `OSError`. Not done at each line, since nobody should wait for that: a
        power cut may take the lines of the last moments, and never a file."""
        os.fdatasync(self._fd)

    def close(self) -> None:
        os.close(self._fd)


def _decoded(text: bytes) -> Line | None:
    """A line, None when it is damaged: the ones after it are still good."""
    try:
        return _decoder.decode(text)
    except msgspec.MsgspecError:
        return None


def fold(lines: list[Line]) -> list[Patch | Checkpoint]:
    """The timeline: patches and checkpoints in order, each patch with whether it is undone."""
    timeline: dict[str, Patch | Checkpoint] = {}
    for line in lines:
        if isinstance(line, CheckpointLine):
            timeline[line.checkpoint.id] = line.checkpoint
            continue
        patch = line.patch
        timeline[patch.id] = patch
        if patch.cause.kind in ("undo", "redo"):
            _mark(timeline, patch.cause.summary, undone=patch.cause.kind == "undo")
    return list(timeline.values())


def _mark(timeline: dict[str, Patch | Checkpoint], name: str, *, undone: bool) -> None:
    """Whether a patch is in effect. To undo an undo is to redo what it undid."""
    patch = timeline.get(name)
    if not isinstance(patch, Patch):
        return
    timeline[name] = replace(patch, undone=undone)
    if patch.cause.kind in ("undo", "redo"):
        _mark(timeline, patch.cause.summary, undone=(patch.cause.kind == "undo") != undone)
