"""Reading git's history: messages and files of the last commits that HEAD descends from, each read once."""

import secrets
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import msgspec
from msgspec import Struct

from tcoder.index.git import git
from tcoder.index.terms import meaningful, terms_of

MAX_COMMITS = 4_000
MAX_FILES = 40
MAX_BODY = 800


class Commit(Struct, frozen=True, array_like=True):
    """`terms` counts the message's terms; `files` are paths as they were, empty for a commit that changed very many."""

    time: int
    subject: str
    terms: dict[str, int]
    files: tuple[str, ...]


class Missing(NamedTuple):
    """`hashes` are the commits up to `head`, newest first: some are stored, `wanted` are still to be read."""

    root: Path
    head: str
    hashes: list[bytes]
    stored: dict[bytes, bytes]
    wanted: list[bytes]

    def read(self) -> dict[bytes, Commit]:
        return read(self.root, self.wanted) if self.wanted else {}


def head(root: Path) -> str:
    """The commit that is checked out, empty outside of git and before the first commit."""
    found = git(root, "rev-parse", "--verify", "--quiet", "HEAD^{commit}")
    return found.decode("ascii", "replace").strip() if found else ""


def ancestors(root: Path, commit: str) -> list[bytes]:
    """Hashes of the last commits up to this one that are no merges, newest first."""
    listed = git(root, "rev-list", "--no-merges", f"--max-count={MAX_COMMITS}", commit, "--")
    return [bytes.fromhex(line) for line in listed.decode("ascii", "replace").split()] if listed else []


def read(root: Path, hashes: list[bytes]) -> dict[bytes, Commit]:
    """Message and files of these commits, as far as git can tell without fetching anything."""
    mark = secrets.token_hex(8)  # a message cannot forge a boundary that it does not know
    wanted = "\n".join(sha.hex() for sha in hashes).encode() + b"\n"
    printed = git(
        root,
        "log",
        "--no-walk=unsorted",
        "--stdin",
        "--name-only",
        "-z",
        "--no-renames",
        "--no-ext-diff",
        "--no-textconv",
        "--no-show-signature",
        "--no-notes",
        f"--format={mark}%H{mark}%ct{mark}%s{mark}%b{mark}",
        data=wanted,
    )
    return parse((printed or b"").decode("utf-8", "replace"), mark)


def parse(text: str, mark: str) -> dict[bytes, Commit]:
    """What git printed: after each mark hash, time, subject, body and then the files."""
    commits: dict[bytes, Commit] = {}
    pieces = text.split(mark)
    # five pieces a commit: hash, time, subject, body, files
    for at in range(1, len(pieces) - 4, 5):
        sha, time, subject, body, names = pieces[at : at + 5]
        files = tuple(stripped for name in names.split("\0") if (stripped := name.strip("\n")))
        message = f"{subject}\n{body[:MAX_BODY]}"
        terms = dict(Counter(meaningful(terms_of(message))))
        commits[bytes.fromhex(sha.strip())] = Commit(
            int(time), subject[:120], terms, files if len(files) <= MAX_FILES else ()
        )
    return commits


def encode(commit: Commit) -> bytes:
    return msgspec.msgpack.encode(commit)


def decode(data: bytes) -> Commit:
    return msgspec.msgpack.decode(data, type=Commit)
