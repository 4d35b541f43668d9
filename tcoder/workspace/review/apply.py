"""The content that results when some hunks of a file are taken and others are not. Pure."""

from collections.abc import Collection, Iterable

from msgspec import Struct

from tcoder.protocol.errors import WorkspaceError
from tcoder.protocol.review import Hunk, ReviewFile
from tcoder.workspace.review.origin import lines_of

WHOLE = frozenset({"added", "deleted", "binary", "submodule", "link"})


class Side(Struct, frozen=True):
    """A file: where it is, git's mode, and its bytes."""

    path: str
    mode: str
    data: bytes


def apply_subset(base: bytes, hunks: Iterable[Hunk]) -> bytes:
    """`base` with these hunks of text applied, whichever they are of the hunks of one review. Raises `WorkspaceError`
    when a hunk does not fit."""
    lines = lines_of(base)
    out: list[bytes] = []
    position = 0
    for hunk in sorted(hunks, key=lambda one: one.old_start):
        start = hunk.old_start - 1
        end = start + len(hunk.old)
        if start < position or tuple(lines[start:end]) != hunk.old:
            raise WorkspaceError(f"{hunk.header} does not fit the file it was made for", "refresh the review")
        out += lines[position:start]
        out += hunk.new
        position = end
    out += lines[position:]
    # Half a change at the end of a file may put a line after one that had no ending.
    ended = [line if line.endswith(b"\n") else line + b"\n" for line in out[:-1]]
    return b"".join([*ended, *out[-1:]])


def partial(file: ReviewFile, old: bytes, new: bytes, chosen: Collection[str]) -> tuple[Side | None, bool]:
    """The file when only the hunks `chosen` are taken, None = no file; and whether that is another path than before.
    `old` and `new` are the file's contents in the base and in the tree, empty where there is none."""
    taken = [hunk for hunk in file.hunks if hunk.id in chosen]
    kinds = {hunk.kind for hunk in taken}
    moved = bool(file.old_path) and "rename" in kinds
    path = file.old_path if file.old_path and not moved else file.path
    whole = next((hunk for hunk in file.hunks if hunk.kind in WHOLE), None)
    if whole is not None and whole.id in chosen:
        if not file.new_mode:
            return None, moved
        return Side(path, file.new_mode, b"".join(whole.new) if whole.edited else new), moved
    if not file.old_mode:
        return None, moved
    mode = file.new_mode if "mode" in kinds else file.old_mode
    texts = [hunk for hunk in taken if hunk.kind in ("text", "endings")]
    return Side(path, mode, apply_subset(old, texts)), moved
