"""The patch engine: files and edits in, files out. Pure; all edits of a patch apply or none does."""

import difflib
import posixpath
from collections.abc import Callable, Iterable, Sequence

from msgspec import Struct

from tcoder.protocol.edits import (
    ChangeKind,
    DeleteFile,
    Edit,
    FileChange,
    InsertLines,
    MatchPass,
    MoveFile,
    Replace,
    UpdateFile,
    WriteFile,
)
from tcoder.protocol.errors import PatchError
from tcoder.workspace.files.text import FileText, encode_text
from tcoder.workspace.patching import text as patching_text
from tcoder.workspace.patching.matching import split_lines

Contents = Callable[[str], FileText | None]

BIG_DIFF_LINES = 20_000
CONTEXT = 3


class Write(Struct, frozen=True):
    """One file as it is to be: `old` None = it was not there, `new` None = it goes. `mode` None = keep."""

    path: str
    old: bytes | None
    new: bytes | None
    mode: int | None = None


class PatchResult(Struct, frozen=True):
    """What a patch does to each file; `diffs` are unified diffs by path."""

    writes: tuple[Write, ...]
    changes: tuple[FileChange, ...]
    diffs: dict[str, str]

    @property
    def paths(self) -> tuple[str, ...]:
        return tuple(write.path for write in self.writes)

    def change_of(self, path: str) -> FileChange:
        return next(change for change in self.changes if change.path == path)

    def diff_of(self, path: str) -> str:
        return self.diffs.get(path, "")

    @property
    def diff(self) -> str:
        return "".join(self.diffs[path] for path in sorted(self.diffs))


class _Draft:
    """A file while edits are applied to it, one after the other. `like` is the file whose bytes it began with, itself
    or the one that was moved here."""

    def __init__(self, path: str, file: FileText | None) -> None:
        self.path = path
        self.file = file
        self.like = file
        self.text: str | None = file.text if file else None
        self.executable: bool | None = None
        self.matched_by: MatchPass | None = None
        self.moved_to = ""

    def need(self) -> str:
        if self.text is None:
            raise PatchError(f"there is no file {self.path}", "create it, or check the path")
        return self.text

    def become(self, text: str, matched_by: MatchPass) -> None:
        self.text = text
        self.matched_by = patching_text.loosest(self.matched_by, matched_by)

    def refuse_link(self) -> None:
        if self.file and self.file.link:
            raise PatchError(f"{self.file.link} is a symbolic link to {self.file.path}", "name the file itself")


def apply_edits(edits: Sequence[Edit], contents: Contents) -> PatchResult:
    """Apply edits in order; several may touch one file. `contents` gives a file by its path, None when there is none.
    Raises `PatchError` that names the nearest lines; then nothing is to be written."""
    if not edits:
        raise PatchError("the patch is empty")
    drafts: dict[str, _Draft] = {}

    def draft(path: str) -> _Draft:
        name = path if "://" in path else posixpath.normpath(path)
        if name in drafts:
            return drafts[name]
        file = contents(name)
        real = file.path if file else name
        return drafts.setdefault(name, drafts.get(real) or drafts.setdefault(real, _Draft(real, file)))

    for edit in edits:
        _apply_one(edit, draft)
    return _result(dict.fromkeys(drafts.values()))


def _apply_one(edit: Edit, draft: Callable[[str], _Draft]) -> None:
    target = draft(edit.path)
    match edit:
        case Replace():
            if not edit.old and target.text is None:
                target.become(edit.new, "created")
            else:
                target.become(*patching_text.replace(target.need(), edit))
        case WriteFile():
            _write(target, edit)
        case InsertLines():
            target.become(*patching_text.insert(target.need(), edit))
        case UpdateFile():
            if edit.hunks:
                target.become(*patching_text.update(target.path, target.need(), edit.hunks))
            target.executable = edit.executable if edit.executable is not None else target.executable
            if edit.new_path:
                _move(target, draft(edit.new_path))
        case DeleteFile():
            target.refuse_link()
            target.need()
            target.text = None
        case MoveFile():
            _move(target, draft(edit.new_path))


def _write(target: _Draft, edit: WriteFile) -> None:
    """New content; in the line endings of the file that it replaces, when that file has one other kind only."""
    content = edit.content
    if target.file and target.file.newline == "\r\n" and "\r" not in content:
        content = content.replace("\n", "\r\n")
    matched_by: MatchPass = "created" if target.text is None else "whole-file"
    target.text, target.matched_by = content, matched_by
    target.executable = edit.executable if edit.executable is not None else target.executable


def _move(source: _Draft, target: _Draft) -> None:
    text = source.need()
    if source is target:
        return
    source.refuse_link()
    if target.text is not None:
        raise PatchError(f"{target.path} exists already", "delete it first, or choose another name")
    target.text, target.like, target.executable = text, source.like, source.executable
    target.matched_by = source.matched_by
    source.text, source.like, source.matched_by, source.executable = None, source.file, None, None
    source.moved_to = target.path


def _result(drafts: Iterable[_Draft]) -> PatchResult:
    ordered = sorted(drafts, key=lambda one: one.path)
    writes = tuple(write for draft in ordered if (write := _write_of(draft)) is not None)
    if not writes:
        raise PatchError("the patch changes nothing")
    changed = {write.path for write in writes}
    changes: list[FileChange] = []
    diffs: dict[str, str] = {}
    for draft in ordered:
        if draft.path not in changed or (draft.text is None and draft.moved_to in changed):
            continue
        before = draft.like
        old_path = before.path if before and before.path != draft.path else ""
        diff, added, removed = unified(old_path or draft.path, draft.path, before.text if before else None, draft.text)
        kind = _kind(draft, diff)
        changes.append(FileChange(draft.path, kind, added, removed, old_path, draft.matched_by or ""))
        diffs[draft.path] = diff
    return PatchResult(writes, tuple(changes), diffs)


def _kind(draft: _Draft, diff: str) -> ChangeKind:
    if draft.text is None:
        return "deleted"
    if draft.like is None:
        return "added"
    if draft.like.path != draft.path:
        return "renamed"
    return "modified" if diff else "mode"


def _write_of(draft: _Draft) -> Write | None:
    """The bytes of a draft, None when it is as it was."""
    old = draft.file.data if draft.file else None
    new = None
    if draft.text is not None:
        like = draft.like
        same = like is not None and draft.text == like.text
        new = like.data if like and same else encode_text(draft.text, like.encoding if like else "utf-8", draft.path)
    mode = _mode_of(draft)
    if old == new and (mode is None or draft.file is None or mode == draft.file.mode):
        return None
    return Write(draft.path, old, new, mode)


def _mode_of(draft: _Draft) -> int | None:
    """The permission bits that a draft asks for; None = as they are, or what a new file gets."""
    if draft.text is None:
        return None
    moved = draft.like if draft.like and draft.like is not draft.file else None
    if draft.executable is None:
        return moved.mode if moved else None
    mode = draft.like.mode if draft.like else 0o644
    readable = mode & 0o444
    return mode | readable >> 2 if draft.executable else mode & ~0o111


def unified(old_name: str, new_name: str, old: str | None, new: str | None) -> tuple[str, int, int]:
    """A unified diff of two texts (None = no file), with the lines added and removed. Endings are kept as they are;
    a missing one at the end is marked as git does."""
    from_name = f"a/{old_name}" if old is not None else "/dev/null"
    to_name = f"b/{new_name}" if new is not None else "/dev/null"
    out: list[str] = []
    added = removed = 0
    for line in _unified_lines(old or "", new or "", from_name, to_name):
        if line.startswith("+") and not line.startswith("+++ "):
            added += 1
        elif line.startswith("-") and not line.startswith("--- "):
            removed += 1
        out.append(line if line.endswith(("\n", "\r")) else f"{line}\n\\ No newline at end of file\n")
    return "".join(out), added, removed


def _unified_lines(old: str, new: str, from_name: str, to_name: str) -> Iterable[str]:
    """What both texts begin and end with is cut off first, so that a small change of a big file costs little."""
    if old == new:
        return ()
    start = _line_start(old, new, _same_start(old, new))
    first = _lines_back(old, start, CONTEXT)
    end = min(_same_end(old, new), len(old) - start, len(new) - start)
    end = len(old) - _lines_on(old, len(old) - end, CONTEXT + 1)
    middle_old, middle_new = old[first : len(old) - end], new[first : len(new) - end]
    before, after = split_lines(middle_old), split_lines(middle_new)
    line = _line_count(old[:first])
    if len(before) + len(after) > BIG_DIFF_LINES:
        return _as_one_hunk(before, after, line, from_name, to_name)
    lines = difflib.unified_diff(before, after, from_name, to_name, n=CONTEXT)
    return (_moved_header(text, line) if text.startswith("@@ ") else text for text in lines)


def _line_count(text: str) -> int:
    """How many line endings there are."""
    return len(split_lines(text)) if "\r" in text else text.count("\n")


def _same_start(old: str, new: str) -> int:
    """How many characters both begin with, found by halves: comparing slices is much quicker than single characters."""
    low, high = 0, min(len(old), len(new))
    while low < high:
        middle = (low + high + 1) // 2
        if old[low:middle] == new[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _same_end(old: str, new: str) -> int:
    """How many characters both end with."""
    low, high = 0, min(len(old), len(new))
    while low < high:
        middle = (low + high + 1) // 2
        if old[len(old) - middle : len(old) - low] == new[len(new) - middle : len(new) - low]:
            low = middle
        else:
            high = middle - 1
    return low


def _line_start(old: str, new: str, at: int) -> int:
    """The start of the line that `at` is in, in both texts: not between CR and LF."""
    at = max(old.rfind("\n", 0, at), old.rfind("\r", 0, at)) + 1
    if at and old[at - 1] == "\r" and (old[at : at + 1] == "\n" or new[at : at + 1] == "\n"):
        return _line_start(old, new, at - 1)
    return at


def _lines_back(text: str, at: int, count: int) -> int:
    """`count` lines before `at`, which is the start of a line."""
    for _ in range(count):
        if not at:
            break
        at = _line_start(text, text, at - 1)
    return at


def _lines_on(text: str, at: int, count: int) -> int:
    """The start of the line `count` lines after `at`, or the end."""
    for _ in range(count):
        ends = [place for place in (text.find("\n", at), text.find("\r", at, at + 4000)) if place >= 0]
        if not ends:
            return len(text)
        at = min(ends) + 1
        if text[at - 1] == "\r" and text[at : at + 1] == "\n":
            at += 1
    return at


def _moved_header(line: str, by: int) -> str:
    """A hunk's header with its line numbers moved."""
    _, old, new, _ = line.split(" ", 3)
    moved = [
        f"{int(number) + by}{comma}{count}" for number, comma, count in (old[1:].partition(","), new[1:].partition(","))
    ]
    return f"@@ -{moved[0]} +{moved[1]} @@\n"


def _as_one_hunk(old: list[str], new: list[str], first: int, from_name: str, to_name: str) -> Iterable[str]:
    """A diff that is too big to be worth aligning."""
    yield f"--- {from_name}\n"
    yield f"+++ {to_name}\n"
    at_old, at_new = (first + 1 if old else first), (first + 1 if new else first)
    yield f"@@ -{at_old},{len(old)} +{at_new},{len(new)} @@\n"
    yield from (f"-{line}" for line in old)
    yield from (f"+{line}" for line in new)
