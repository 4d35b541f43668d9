"""The first look at a work tree: what the repository's index vouches for need not be read.

The index vouches for a file when its stat values still hold and git has stored the very bytes: a file that git converts
(line endings, filters such as LFS, `ident`, encodings) may be stored as something else, and is read.
"""

import os
import re
from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

from tcoder.protocol.errors import GitError
from tcoder.workspace.git.door import Git
from tcoder.workspace.git.objects import FILE, GITLINK, LINK, PROGRAM
from tcoder.workspace.ledger.sweep import Sweep, stamp_of
from tcoder.workspace.ledger.tree import Entry

_RECORD = re.compile(
    rb"(.) (\d{6}) ([0-9a-f]+) (\d)\t([^\0]*)\0  ctime: (\d+):(\d+)\n  mtime: (\d+):(\d+)\n"
    rb"  dev: \d+\tino: (\d+)\n  uid: \d+\tgid: \d+\n  size: (\d+)\tflags: ([0-9a-f]+)\n"
)
CONVERTING = ("filter", "ident", "working-tree-encoding")
ENDINGS = ("text", "eol", "crlf")


class Indexed(Struct, frozen=True):
    """A file in the index: what is stored, and how it looked then: change and modification time in nanoseconds, inode
    and size (the last two cut to 32 bits)."""

    mode: str
    oid: str
    ctime_ns: int
    mtime_ns: int
    inode: int
    size: int


async def read_index(git: Git) -> dict[str, Indexed]:
    """The index by path; of a conflict none of its sides. Raises `GitError`, e.g. for a damaged index."""
    listed = await git.run("ls-files", "-s", "-v", "-z", "--debug")
    return {
        os.fsdecode(path): Indexed(
            mode.decode(), oid.decode(), int(c) * 10**9 + int(c_ns), int(m) * 10**9 + int(m_ns), int(inode), int(size)
        )
        for _, mode, oid, stage, path, c, c_ns, m, m_ns, inode, size, _ in _RECORD.findall(listed)
        if stage == b"0"
    }


async def known_trees(git: Git) -> list[str]:
    """Folders that the repository has stored already, so that they need not be written again."""
    try:
        listed = await git.run("ls-tree", "-r", "-d", "-z", "HEAD")
    except GitError:
        return []  # no commit yet
    return [
        record.split("\t", 1)[0].split(" ")[2] for record in listed.decode("utf-8", "replace").split("\0") if record
    ]


async def unfaithful(git: Git, index: Mapping[str, Indexed], git_dir: Path) -> set[str]:
    """Paths whose stored content may differ from the file's although their stat values agree."""
    settings = await git.settings()
    converting_endings = settings.get("core.autocrlf", "false").lower() in ("true", "input", "yes", "on", "1")
    if not converting_endings and not _has_attributes(index, git_dir, settings):
        return set()
    names = "\0".join(index).encode("utf-8", "surrogateescape") + b"\0"
    listed = await git.run("check-attr", "-z", "--stdin", *CONVERTING, *ENDINGS, data=names)
    fields = listed.decode("utf-8", "surrogateescape").split("\0")
    doubtful: set[str] = set()
    sized: set[str] = set(index) if converting_endings else set()
    for path, attribute, value in zip(fields[::3], fields[1::3], fields[2::3], strict=False):
        if value in ("unspecified", "unset"):
            continue
        (doubtful if attribute in CONVERTING else sized).add(path)
    return doubtful | await _other_size(git, index, sized - doubtful)


def _has_attributes(index: Mapping[str, Indexed], git_dir: Path, settings: Mapping[str, str]) -> bool:
    own = os.environ.get("XDG_CONFIG_HOME") or f"{os.environ.get('HOME', '')}/.config"
    return (
        "core.attributesfile" in settings
        or (git_dir / "info" / "attributes").exists()
        or Path(own, "git", "attributes").exists()
        or any(path.endswith(".gitattributes") for path in index)
    )


async def _other_size(git: Git, index: Mapping[str, Indexed], paths: set[str]) -> set[str]:
    """A file whose line endings were converted is stored in fewer bytes."""
    if not paths:
        return set()
    ordered = sorted(paths)
    data = "".join(f"{index[path].oid}\n" for path in ordered).encode()
    listed = await git.run("cat-file", "--batch-check=%(objectsize)", data=data)
    sizes = listed.decode().split("\n")
    return {path for path, size in zip(ordered, sizes, strict=False) if size != str(index[path].size)}


def adopt(sweep: Sweep, index: Mapping[str, Indexed], doubtful: set[str], index_mtime_ns: int, began: int) -> None:
    """Take every tracked file into the sweep: from the index where it vouches for it, else by reading it. Blocks."""
    lstat, base = os.lstat, f"{sweep.root}/"
    folders: set[str] = {""}
    unread: list[str] = []
    for path, indexed in index.items():
        try:
            status = lstat(base + path)
        except OSError:
            continue
        if indexed.mode == GITLINK:
            sweep.adopt(path, Entry(GITLINK, indexed.oid), None, status.st_mode)
            continue
        _collect_folders(path, folders)
        mode = _git_mode(status)
        same = (
            mode == indexed.mode
            and status.st_mtime_ns == indexed.mtime_ns
            and status.st_ctime_ns == indexed.ctime_ns
            and status.st_size & 0xFFFFFFFF == indexed.size
            and status.st_ino & 0xFFFFFFFF == indexed.inode
            and status.st_mtime_ns < index_mtime_ns
        )
        if same and path not in doubtful:
            sweep.adopt(path, Entry(mode, indexed.oid), stamp_of(status, began), status.st_mode)
        else:
            unread.append(path)
    for folder in sorted(folders):
        sweep.watch(folder)
    sweep.read_tracked(unread)


def _collect_folders(path: str, folders: set[str]) -> None:
    while path := path.rpartition("/")[0]:
        if path in folders:
            return
        folders.add(path)


def _git_mode(status: os.stat_result) -> str:
    kind = status.st_mode & 0o170000
    if kind == 0o120000:
        return LINK
    if kind == 0o100000:
        return PROGRAM if status.st_mode & 0o100 else FILE
    return ""
