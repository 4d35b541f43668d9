"""Model files on disk: what was verified, what is half fetched, and one writer at a time."""

import asyncio
import fcntl
import hashlib
import os
import shutil
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
from msgspec import Struct

from tcoder.protocol.errors import WeightsError

_BLOCK = 1 << 20
_LOCK_POLL_S = 0.2
MAGIC = b"GGUF"


class PullProgress(Struct, frozen=True):
    """`done` of `total` bytes (None = not known yet); `note` says what is happening, for people."""

    done: int
    total: int | None
    note: str = ""


OnProgress = Callable[[PullProgress], None]


class Verified(Struct, frozen=True):
    """What was true of a file when its hash was last computed; size and time say whether it may still be."""

    bytes: int
    mtime_ns: int
    sha256: str


def marker_of(path: Path) -> Path:
    return path.with_name(f"{path.name}.verified")


def verified_hash(path: Path) -> str:
    """The hash of the file at `path`, if it was verified and has not been touched since; else empty."""
    try:
        marker = msgspec.json.decode(marker_of(path).read_bytes(), type=Verified)
        found = path.stat()
    except (OSError, msgspec.MsgspecError):
        return ""  # no marker, or not ours: the same as not verified
    return marker.sha256 if (found.st_size, found.st_mtime_ns) == (marker.bytes, marker.mtime_ns) else ""


def mark_verified(path: Path, sha256: str) -> None:
    """Remember that the file at `path` has this hash, so that it need not be read again at each start."""
    found = path.stat()
    marker = marker_of(path)
    fresh = marker.with_name(f"{marker.name}.new")
    fresh.write_bytes(msgspec.json.encode(Verified(found.st_size, found.st_mtime_ns, sha256)))
    fresh.replace(marker)


async def hash_file(path: Path, on_progress: OnProgress | None = None) -> str:
    """The file's sha256; other tasks run in between."""
    total, done = path.stat().st_size, 0
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            digest.update(block)
            done += len(block)
            if on_progress and done % (64 * _BLOCK) == 0:
                on_progress(PullProgress(done, total, "verifying"))
            await asyncio.sleep(0)
    return digest.hexdigest()


@asynccontextmanager
async def locked(path: Path, on_wait: Callable[[], None]) -> AsyncGenerator[None, None]:
    """Hold the lock file at `path`; the system drops it when this process dies. `on_wait` is called once if somebody
    else has it."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        waited = False
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if not waited:
                    on_wait()
                waited = True
                await asyncio.sleep(_LOCK_POLL_S)
        yield
    finally:
        os.close(descriptor)


class Piece(Struct, frozen=True):
    """A finished piece of a half fetched file: where it ends, and the hash of its bytes alone."""

    end: int
    sha256: str


class PartialState(Struct, frozen=True):
    """`source` says what the pieces are pieces of: those of another source or version are of no use."""

    source: str
    pieces: tuple[Piece, ...] = ()
    etag: str = ""


class Partial:
    """A file that is being fetched, in a folder of its own: `data` grows piece by piece, `state.json` names the pieces
    that are complete. Whatever follows the last complete piece is thrown away when the fetch goes on."""

    def __init__(self, folder: Path, source: str) -> None:
        self.folder = folder
        self.data = folder / "data"
        self._state_file = folder / "state.json"
        self.state = PartialState(source)
        self.digest = hashlib.sha256()
        self.done = 0

    async def open(self) -> None:
        """Take up what an earlier fetch of the same source left and still hashes to what it said."""
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        try:
            stored = msgspec.json.decode(self._state_file.read_bytes(), type=PartialState)
        except (OSError, msgspec.MsgspecError):
            stored = self.state
        if stored.source != self.state.source or not self.data.exists():
            stored = PartialState(self.state.source)
        good: list[Piece] = []
        self.data.touch(mode=0o600)
        with self.data.open("rb") as file:
            for piece in stored.pieces:
                begun = self.digest.copy()
                own = hashlib.sha256()
                left = piece.end - self.done
                while left > 0 and (block := file.read(min(left, _BLOCK))):
                    begun.update(block)
                    own.update(block)
                    left -= len(block)
                    await asyncio.sleep(0)
                if left or own.hexdigest() != piece.sha256:
                    break
                self.digest, self.done = begun, piece.end
                good.append(piece)
        self.state = PartialState(stored.source, tuple(good), stored.etag)
        os.truncate(self.data, self.done)

    def restart(self, etag: str = "") -> None:
        """Forget everything fetched so far; `etag` names the version that follows."""
        self.state = PartialState(self.state.source, (), etag)
        self.digest, self.done = hashlib.sha256(), 0
        os.truncate(self.data, 0)
        self._save()

    def finish_piece(self, size: int, sha256: str) -> None:
        """`size` more bytes of `data`, already in `digest`, are complete."""
        self.done += size
        pieces = (*self.state.pieces, Piece(self.done, sha256))
        self.state = PartialState(self.state.source, pieces, self.state.etag)
        self._save()

    def _save(self) -> None:
        fresh = self.folder / "state.json.new"
        fresh.write_bytes(msgspec.json.encode(self.state))
        fresh.replace(self._state_file)

    def discard(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)


def require_space(folder: Path, needed: int) -> None:
    """Raises `WeightsError` when fewer than `needed` bytes are free where `folder` is."""
    free = shutil.disk_usage(folder).free
    if free < needed:
        raise WeightsError(
            f"the disk is too full: {human(needed)} are needed in {folder}, {human(free)} are free",
            "make room, or set TCODER_MODELS_DIR to another disk; the download goes on where it stopped",
        )


def human(size: float) -> str:
    """`1.1 GB`, in powers of ten."""
    for unit in ("B", "kB", "MB"):
        if size < 1000:
            return f"{size:.0f} {unit}"
        size /= 1000
    return f"{size:.1f} GB"
