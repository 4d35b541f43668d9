"""Putting trees back into the work tree: three-way where something came in between, each file by one rename."""

import os
import secrets
import tempfile
from pathlib import Path

from msgspec import Struct

from tcoder.protocol.errors import GitError, WorkspaceError
from tcoder.workspace.git import Git, check_ref

LINK, GITLINK, MISSING = "120000", "160000", "000000"


class Entry(Struct, frozen=True):
    """A path that differs between two trees, as it is in the second."""

    path: str
    mode: str
    blob: str


async def merge(git: Git, current: str, old: str, new: str) -> str:
    """The tree `current` with the change from `old` to `new` applied. Raises `WorkspaceError` when that cannot be done
    without a conflict."""
    if current == old:
        return new
    options = ("-p", "--binary", "--full-index", "--no-ext-diff", "--no-textconv", "-r")
    patch = await git.run("diff-tree", *options, check_ref(old), check_ref(new))
    if not patch:
        return current
    with tempfile.TemporaryDirectory(prefix="tcoder-") as folder:
        environment = {"GIT_INDEX_FILE": f"{folder}/index"}
        await git.run("read-tree", check_ref(current), environment=environment)
        try:
            await git.run(
                "apply", "--cached", "--3way", "--whitespace=nowarn", "-", data=patch, environment=environment
            )
        except GitError as error:
            clashing = await git.run("ls-files", "-z", "-u", environment=environment)
            names = {entry.split(b"\t", 1)[1].decode("utf-8", "replace") for entry in clashing.split(b"\0") if entry}
            where = ", ".join(sorted(names)) or str(error)
            raise WorkspaceError(
                f"a later change is in the way: {where}", "undo that change first, or edit by hand; nothing was changed"
            ) from error
        return (await git.run("write-tree", environment=environment)).decode().strip()


async def write_tree(git: Git, current: str, target: str, *, keep: frozenset[str] = frozenset()) -> None:
    """Make the work tree, which stands at `current`, look like `target`; paths in `keep` are not removed.
    Raises `WorkspaceError`, `GitError`."""
    raw = await git.run("diff-tree", "-r", "-z", "--raw", "--no-renames", check_ref(current), check_ref(target))
    entries = [entry for entry in _entries(raw) if not (entry.mode == MISSING and entry.path in keep)]
    contents = {entry.path: await _blob(git, entry) for entry in entries if entry.mode not in (MISSING, GITLINK)}
    for entry in sorted(entries, key=lambda one: one.mode != MISSING):
        place = git.root / entry.path
        if entry.mode == MISSING:
            _remove(git.root, place)
        elif entry.mode != GITLINK:
            _put(place, entry, contents[entry.path])


def _entries(raw: bytes) -> list[Entry]:
    fields = raw.decode("utf-8", "surrogateescape").split("\0")
    entries: list[Entry] = []
    for head, path in zip(fields[::2], fields[1::2], strict=False):
        _, mode, _, blob, _ = head[1:].split(" ")
        entries.append(Entry(path, mode, blob))
    return entries


async def _blob(git: Git, entry: Entry) -> bytes:
    return await git.run("cat-file", "blob", entry.blob)


def _remove(root: Path, place: Path) -> None:
    place.unlink(missing_ok=True)
    folder = place.parent
    while folder != root and not any(folder.iterdir()):
        folder.rmdir()
        folder = folder.parent


def _put(place: Path, entry: Entry, content: bytes) -> None:
    """Write beside the place, flush, rename: the old file or the new one, never a mixture."""
    if place.is_dir() and not place.is_symlink():
        raise WorkspaceError(f"{entry.path} is a folder now", "move it away first")
    place.parent.mkdir(parents=True, exist_ok=True)
    temporary = place.with_name(f".{place.name[:100]}.{secrets.token_hex(6)}.tmp")
    try:
        if entry.mode == LINK:
            temporary.symlink_to(os.fsdecode(content))
        else:
            fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
            with os.fdopen(fd, "wb") as file:
                file.write(content)
                executable = 0o111 if entry.mode == "100755" else 0
                umask = 0o777 & ~(os.fstat(file.fileno()).st_mode)
                os.fchmod(file.fileno(), (0o666 | executable) & ~umask | (executable and 0o100))
                file.flush()
                os.fsync(file.fileno())
        temporary.replace(place)
    finally:
        temporary.unlink(missing_ok=True)
