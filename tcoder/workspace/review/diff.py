"""git's own diff of two trees as review values. Pure."""

import hashlib
import re
from collections.abc import Iterator, Sequence

from msgspec import Struct

from tcoder.protocol.edits import ChangeKind
from tcoder.protocol.review import Hunk, HunkKind, HunkOrigin
from tcoder.workspace.git.objects import GITLINK, LINK
from tcoder.workspace.ledger.tree import path_of

CHANGES: dict[str, ChangeKind] = {"A": "added", "M": "modified", "D": "deleted", "T": "modified", "R": "renamed"}
MAX_CONTEXT = 3
_HEADER = re.compile(rb"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@ ?(.*)")


class Run(Struct, frozen=True):
    """Lines that are replaced: `old` from line `old_start`, `new` from line `new_start` (both 1-based; of an empty side
    the line before which it would stand). Bytes with their endings."""

    old_start: int
    new_start: int
    old: tuple[bytes, ...]
    new: tuple[bytes, ...]


class DiffFile(Struct, frozen=True):
    """One file of the diff. `before` and `after` are the lines around each run, `functions` what git says it is in."""

    path: str
    old_path: str
    status: str
    old_mode: str
    new_mode: str
    old_id: str
    new_id: str
    runs: tuple[Run, ...]
    contexts: tuple[tuple[tuple[bytes, ...], tuple[bytes, ...]], ...]
    functions: tuple[str, ...]
    binary: bool

    @property
    def change(self) -> ChangeKind:
        if self.status == "M" and self.old_id == self.new_id:
            return "mode"
        return CHANGES.get(self.status, "modified")


def parse_diff(out: bytes) -> list[DiffFile]:
    """Parse `git diff-tree -z --raw -p --full-index`: first a record for each file, then its patch, in one order."""
    records: list[tuple[list[str], str, str]] = []
    position = 0
    while out[position : position + 1] == b":":
        end = out.index(b"\0", position)
        head = out[position + 1 : end].decode("ascii").split(" ")
        names = 2 if head[4][0] in "RC" else 1
        paths: list[str] = []
        for _ in range(names):
            position = end + 1
            end = out.index(b"\0", position)
            paths.append(path_of(out[position:end].decode("utf-8", "surrogateescape")))
        position = end + 1
        records.append((head, paths[-1], paths[0] if names == 2 else ""))
    patches = _patches(out[position:].lstrip(b"\0"))
    files: list[DiffFile] = []
    for head, path, old_path in records:
        patch = next(patches)
        if head[4] == "T":
            patch = [*patch, *next(patches)]  # the old kind of file goes, the new one comes
        files.append(_file(head, path, old_path, patch))
    return files


def _patches(text: bytes) -> Iterator[list[bytes]]:
    """The lines of each patch."""
    lines = text.split(b"\n")
    starts = [number for number, line in enumerate(lines) if line.startswith(b"diff --git ")]
    for start, end in zip(starts, [*starts[1:], len(lines)], strict=True):
        yield lines[start:end]


def _file(head: Sequence[str], path: str, old_path: str, patch: list[bytes]) -> DiffFile:
    old_mode, new_mode, old_id, new_id, status = head
    runs: list[Run] = []
    contexts: list[tuple[tuple[bytes, ...], tuple[bytes, ...]]] = []
    functions: list[str] = []
    binary = any(line.startswith((b"Binary files ", b"GIT binary patch")) for line in patch[:12])
    position = 0
    while position < len(patch):
        match = _HEADER.match(patch[position])
        position += 1
        if match is None:
            continue
        end = position
        while end < len(patch) and not _HEADER.match(patch[end]):
            end += 1
        found = _runs(patch[position:end], match)
        for run, around in found:
            runs.append(run)
            contexts.append(around)
            functions.append(match[5].decode("utf-8", "replace").strip())
        position = end
    return DiffFile(
        path, old_path, status[0], _mode(old_mode), _mode(new_mode), old_id, new_id,
        tuple(runs), tuple(contexts), tuple(functions), binary,
    )  # fmt: skip


def _mode(mode: str) -> str:
    return "" if mode == "000000" else mode


def _runs(lines: list[bytes], match: re.Match[bytes]) -> list[tuple[Run, tuple[tuple[bytes, ...], tuple[bytes, ...]]]]:
    """The runs of one hunk of git's, each with the unchanged lines around it."""
    old_at = int(match[1]) + (match[2] == b"0")
    new_at = int(match[3]) + (match[4] == b"0")
    pieces: list[tuple[bytes, list[bytes]]] = []  # kind and lines; a "\\" line takes the ending off the one before
    last = b""
    for line in lines:
        kind = line[:1]
        if kind == last:
            pieces[-1][1].append(line[1:] + b"\n")
        elif kind in (b" ", b"+", b"-"):
            pieces.append((kind, [line[1:] + b"\n"]))
            last = kind
        elif kind == b"\\":
            pieces[-1][1][-1] = pieces[-1][1][-1][:-1]
    found: list[tuple[Run, tuple[tuple[bytes, ...], tuple[bytes, ...]]]] = []
    number = 0
    before: tuple[bytes, ...] = ()
    while number < len(pieces):
        kind, body = pieces[number]
        if kind == b" ":
            old_at, new_at, before, number = old_at + len(body), new_at + len(body), tuple(body), number + 1
            continue
        old = new = ()
        if kind == b"-":
            old, number = tuple(body), number + 1
        if number < len(pieces) and pieces[number][0] == b"+":
            new, number = tuple(pieces[number][1]), number + 1
        after = tuple(pieces[number][1]) if number < len(pieces) and pieces[number][0] == b" " else ()
        found.append((Run(old_at, new_at, old, new), (before[-MAX_CONTEXT:], after[:MAX_CONTEXT])))
        old_at, new_at = old_at + len(old), new_at + len(new)
        before = ()
    return found


def split_endings(run: Run) -> list[tuple[Run, bool]]:
    """A run cut where lines differ in nothing but their ending, and whether that is so for each part."""
    if len(run.old) != len(run.new) or not any(b"\r" in line for line in (*run.old, *run.new)):
        return [(run, False)]
    parts: list[tuple[Run, bool]] = []
    start = 0
    flags = [_bare(old) == _bare(new) for old, new in zip(run.old, run.new, strict=True)]
    for end in range(1, len(flags) + 1):
        if end == len(flags) or flags[end] != flags[start]:
            part = Run(run.old_start + start, run.new_start + start, run.old[start:end], run.new[start:end])
            parts.append((part, flags[start]))
            start = end
    return parts


def _bare(line: bytes) -> bytes:
    return line.rstrip(b"\r\n")


def text_hunk(
    path: str,
    run: Run,
    origin: HunkOrigin,
    *,
    kind: HunkKind = "text",
    around: tuple[tuple[bytes, ...], tuple[bytes, ...]] = ((), ()),
    function: str = "",
) -> Hunk:
    """A run as a hunk that can be decided on."""
    before, after = tuple([shown(line, " ") for line in around[0]]), tuple([shown(line, " ") for line in around[1]])
    header = f"@@ -{_range(run.old_start, len(run.old))} +{_range(run.new_start, len(run.new))} @@"
    return Hunk(
        hunk_id(path, kind, run.old, run.new),
        kind,
        f"{header} {function}".rstrip(),
        (*before, *_changed(run), *after),
        origin,
        old_start=run.old_start,
        old=run.old,
        new=run.new,
        context_before=before,
        context_after=after,
    )


def _range(start: int, count: int) -> str:
    return f"{start if count else start - 1},{count}"


def _changed(run: Run) -> tuple[str, ...]:
    return (*[shown(line, "-") for line in run.old], *[shown(line, "+") for line in run.new])


def shown(line: bytes, mark: str) -> str:
    """A line for people; a carriage return at its end is made visible, a missing ending too."""
    try:
        text = line.decode()
    except UnicodeDecodeError:
        text = line.decode("latin-1")
    if text[-2:] == "\r\n":
        return f"{mark}{text[:-2]}␍"
    return mark + text[:-1] if text[-1:] == "\n" else f"{mark}{text}\\ no newline"


def hunk_id(path: str, kind: str, old: Sequence[bytes], new: Sequence[bytes]) -> str:
    head = f"{path}\0{kind}\0{len(old)}\0{len(new)}\0".encode("utf-8", "surrogateescape")
    return hashlib.sha256(b"".join((head, *old, *new))).hexdigest()[:12]


def whole_kind(file: DiffFile) -> HunkKind | None:
    """The kind of a change that can only be taken as a whole; None for text that was there and still is."""
    modes = (file.old_mode, file.new_mode)
    if GITLINK in modes:
        return "submodule"
    if LINK in modes:
        return "link"
    if file.status == "A":
        return "added"
    if file.status == "D":
        return "deleted"
    return "binary" if file.binary else None
