"""Git objects written without a process: a blob, tree or commit is a header, its bytes and a digest.

Only loose objects are written, each beside its place and then linked into it, as git does. Reading prefers loose
objects too and leaves packs to git.
"""

import ctypes
import hashlib
import os
import secrets
import threading
import zlib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Literal

from tcoder.protocol.errors import GitError, WorkspaceError
from tcoder.workspace.git.door import Git, common_dir

Algorithm = Literal["sha1", "sha256"]
TREE, LINK, GITLINK, FILE, PROGRAM = "40000", "120000", "160000", "100644", "100755"
SYNC_ONE_BY_ONE = 32

_libc = ctypes.CDLL(None, use_errno=True)


class ObjectStore:
    """The loose objects of one repository. Its methods may be called from threads."""

    def __init__(self, git: Git, git_dir: Path, algorithm: Algorithm) -> None:
        self._git = git
        self._folder = common_dir(git_dir) / "objects"
        self._hash = hashlib.sha1 if algorithm == "sha1" else hashlib.sha256
        self.digits = 40 if algorithm == "sha1" else 64
        self._known: set[str] = set()
        self._unsynced: list[str] = []
        self._lock = threading.Lock()

    def trust(self, ids: Iterable[str]) -> None:
        """Objects that are there already and need not be written again."""
        self._known.update(ids)

    def id_of(self, kind: str, data: bytes) -> str:
        digest = self._hash(b"%s %d\0" % (kind.encode(), len(data)), usedforsecurity=False)
        digest.update(data)
        return digest.hexdigest()

    def write(self, kind: str, data: bytes) -> str:
        """Store an object and give its id. It may still be lost with the power until `sync`. Raises `WorkspaceError`,
        e.g. when the disk is full; then nothing is left behind."""
        name = self.id_of(kind, data)
        if name in self._known:
            return name
        folder = f"{self._folder}/{name[:2]}"
        place = f"{folder}/{name[2:]}"
        try:
            if not os.path.exists(place):
                self._write_loose(folder, place, b"%s %d\0" % (kind.encode(), len(data)) + data)
        except OSError as error:
            raise WorkspaceError(f"the checkpoint could not be written: {error.strerror}", str(self._folder)) from error
        self._known.add(name)
        return name

    def _write_loose(self, folder: str, place: str, data: bytes) -> None:
        if not os.path.isdir(folder):
            os.makedirs(folder, mode=os.stat(self._folder).st_mode & 0o7777, exist_ok=True)
        temporary = f"{folder}/tmp_obj_{secrets.token_hex(6)}"
        fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o444)
        try:
            with os.fdopen(fd, "wb") as file:
                file.write(zlib.compress(data, 1))
            os.rename(temporary, place)
        except OSError:
            os.unlink(temporary)
            raise
        with self._lock:
            self._unsynced.append(place)

    def take_unsynced(self) -> tuple[str, ...]:
        """Files written since the last call, for `sync`."""
        with self._lock:
            places, self._unsynced = tuple(self._unsynced), []
        return places

    def sync(self, places: Sequence[str]) -> None:
        """Flush objects to the disk: before a ref names them, or a power cut could leave a ref to nothing, over which
        the user's own git would stumble. Blocks; raises `OSError`."""
        if len(places) > SYNC_ONE_BY_ONE:
            fd = os.open(self._folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            try:
                if _libc.syncfs(fd) != 0:
                    raise OSError(ctypes.get_errno(), "syncfs", str(self._folder))
            finally:
                os.close(fd)
            return
        folders = {place.rpartition("/")[0] for place in places}
        for place in (*places, *folders):
            fd = os.open(place, os.O_RDONLY | os.O_CLOEXEC)
            try:
                os.fsync(fd)
            finally:
                os.close(fd)

    async def read(self, names: Iterable[str]) -> dict[str, bytes]:
        """Blobs by their id. Raises `GitError` for one that is missing."""
        wanted = set(names)
        found = {name: data for name in wanted if (data := self._read_loose(name)) is not None}
        packed = sorted(wanted - found.keys())
        if packed:
            out = await self._git.run("cat-file", "--batch", data="".join(f"{name}\n" for name in packed).encode())
            found |= _parse_batch(out)
        for name in wanted - found.keys():
            raise GitError(f"the object {name} is missing", "the checkpoint cannot be used")
        return found

    def _read_loose(self, name: str) -> bytes | None:
        try:
            with open(f"{self._folder}/{name[:2]}/{name[2:]}", "rb") as file:
                data = zlib.decompress(file.read())
        except FileNotFoundError:
            return None
        except (OSError, zlib.error) as error:
            raise GitError(f"the object {name} cannot be read: {error}", "the checkpoint cannot be used") from error
        return data[data.index(b"\0") + 1 :]

    def tree(self, children: Iterable[tuple[str, str, str]]) -> str:
        """Store one folder: (name, mode, id) of each child."""
        ordered = sorted(
            (os.fsencode(name) + (b"/" if mode == TREE else b""), os.fsencode(name), mode, oid)
            for name, mode, oid in children
        )
        body = b"".join(b"%s %s\0%s" % (mode.encode(), name, bytes.fromhex(oid)) for _, name, mode, oid in ordered)
        return self.write("tree", body)

    def commit(self, tree: str, parents: Sequence[str], message: str, seconds: int) -> str:
        """Store a commit of tcoder's own."""
        who = f"tcoder <tcoder@localhost> {seconds} +0000"
        lines = [f"tree {tree}", *(f"parent {parent}" for parent in parents), f"author {who}", f"committer {who}"]
        return self.write("commit", ("\n".join(lines) + f"\n\n{message}\n").encode("utf-8", "replace"))


def _parse_batch(out: bytes) -> dict[str, bytes]:
    found: dict[str, bytes] = {}
    position = 0
    while position < len(out):
        end = out.index(b"\n", position)
        name, *rest = out[position:end].decode().split(" ")
        position = end + 1
        if len(rest) == 2:
            size = int(rest[1])
            found[name] = out[position : position + size]
            position += size + 1
    return found
