"""Unified diffs, git's and plain ones, in prose or alone; line numbers and counts may be wrong."""

import posixpath
import re
from collections.abc import Sequence

from msgspec import Struct

from tcoder.protocol.edits import DeleteFile, Edit, MoveFile, PatchHunk, UpdateFile, WriteFile
from tcoder.protocol.errors import PatchError
from tcoder.workspace.files.paths import unquote

_HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@(.*)")
_GIT = "diff --git "
NOTHING = "/dev/null"
UNENDED = "\\ No newline"


class _File(Struct):
    """What the header of one file says, and its hunks."""

    old: str = ""
    new: str = ""
    moved_from: str = ""
    moved_to: str = ""
    mode: str = ""
    created: bool = False
    deleted: bool = False
    hunks: list[PatchHunk] = []


def is_unified(lines: Sequence[str]) -> bool:
    return any(
        line.startswith(_GIT) or (line.startswith("--- ") and _follows(lines, number, "+++ "))
        for number, line in enumerate(lines)
    )


def _follows(lines: Sequence[str], number: int, head: str) -> bool:
    return number + 1 < len(lines) and lines[number + 1].startswith(head)


def parse_unified(lines: Sequence[str]) -> tuple[Edit, ...]:
    """The edits of a unified diff. Raises `PatchError` for what cannot be applied as text: binary content, links,
    copies."""
    files: list[_File] = []
    position = 0
    while position < len(lines):
        line = lines[position]
        if line.startswith(_GIT):
            files.append(_File())
            files[-1].old, files[-1].new = _git_names(line[len(_GIT) :])
            position = _read_git_header(lines, position + 1, files[-1])
        elif line.startswith("--- ") and _follows(lines, position, "+++ "):
            if not files or files[-1].hunks or not _same_file(files[-1], line, lines[position + 1]):
                files.append(_File())
            _read_names(files[-1], line, lines[position + 1])
            position += 2
        elif line.startswith("@@") and files:
            hunk, position = _read_hunk(lines, position)
            if hunk is not None:
                files[-1].hunks.append(hunk)
        elif line.startswith(("GIT binary patch", "Binary files ")):
            raise PatchError("the patch holds binary content", "write the file another way")
        else:
            position += 1
    edits = tuple(edit for file in files for edit in _edits(file))
    if not edits:
        raise PatchError("the patch changes nothing")
    return edits


def _git_names(rest: str) -> tuple[str, str]:
    """The two names of `diff --git`; without quotes they are equal but for their prefix, or given again below."""
    rest = rest.rstrip("\r")
    if rest.startswith('"'):
        end = re.match(r'"(?:[^"\\]|\\.)*"', rest)
        if end:
            return _stripped(unquote(end[0]), "a/"), _stripped(unquote(rest[end.end() :].strip()), "b/")
    half = len(rest) // 2
    old, new = rest[:half], rest[half + 1 :]
    if rest[half : half + 1] == " " and old.removeprefix("a/") == new.removeprefix("b/"):
        return _stripped(old, "a/"), _stripped(new, "b/")
    old, _, new = rest.partition(" ")
    return _stripped(old, "a/"), _stripped(new, "b/")


def _stripped(name: str, prefix: str) -> str:
    return name.removeprefix(prefix)


def _read_git_header(lines: Sequence[str], position: int, file: _File) -> int:
    while position < len(lines):
        line = lines[position].rstrip("\r")
        word, _, rest = line.rpartition(" ")
        if line.startswith(("rename from ", "copy from ")):
            if line.startswith("copy"):
                raise PatchError("the patch copies a file", "create the new file with its whole content instead")
            file.moved_from = unquote(line[len("rename from ") :])
        elif line.startswith("rename to "):
            file.moved_to = unquote(line[len("rename to ") :])
        elif line.startswith(("new mode ", "new file mode ")):
            file.mode = rest
            file.created = file.created or word == "new file mode"
        elif line.startswith("deleted file mode "):
            file.deleted = True
            file.mode = rest
        elif not line.startswith(("index ", "old mode ", "similarity ", "dissimilarity ", "copy to ")):
            break
        position += 1
    if file.mode in ("120000", "160000"):
        raise PatchError("the patch makes or changes a symbolic link or submodule", "do that in the shell")
    return position


def _read_names(file: _File, old_line: str, new_line: str) -> None:
    old, new = _name(old_line[4:]), _name(new_line[4:])
    if NOTHING in (old, new) or (old.startswith("a/") and new.startswith("b/")):
        old, new = _stripped(old, "a/"), _stripped(new, "b/")
    file.created = file.created or old == NOTHING
    file.deleted = file.deleted or new == NOTHING
    file.old, file.new = old, new


def _name(text: str) -> str:
    return unquote(text.rstrip("\r").partition("\t")[0].strip())


def _same_file(file: _File, old_line: str, new_line: str) -> bool:
    if not (file.old or file.new):
        return True
    names = {file.old, file.new, file.moved_from, file.moved_to, NOTHING}
    return _stripped(_name(old_line[4:]), "a/") in names and _stripped(_name(new_line[4:]), "b/") in names


def _read_hunk(lines: Sequence[str], position: int) -> tuple[PatchHunk | None, int]:
    """A hunk and the position after it. Its counts are believed where they fit; else it goes on as long as lines look
    like a hunk's."""
    header = lines[position].rstrip("\r")
    head = _HUNK.match(header)
    old_left = int(head[2] or 1) if head else -1
    new_left = int(head[4] or 1) if head else -1
    position += 1
    body: list[str] = []
    unended = {" ": False, "-": False, "+": False}
    while position < len(lines):
        line = lines[position]
        kind = line[:1]
        if line.startswith(UNENDED):
            unended[body[-1][:1] if body else " "] = True
            position += 1
            continue
        counted = old_left == 0 and new_left == 0
        if counted and kind not in ("+", "-", " "):
            break
        if kind not in (" ", "+", "-", "") and line != "\r":
            break
        if line.startswith("--- ") and _begins_file(lines, position) and (counted or old_left <= 0 or new_left <= 0):
            break
        if kind == "-" and line == "-- " and counted:
            break  # the signature of a mailed patch
        body.append(line if kind in (" ", "+", "-") else " " + line)
        old_left -= kind != "+" and old_left > 0
        new_left -= kind != "-" and new_left > 0
        position += 1
    while body and body[-1] in (" ", " \r") and not (old_left == 0 and new_left == 0):
        body.pop()  # more likely the space below the patch
    if not any(line[:1] in "+-" for line in body):
        return None, position
    number = int(head[1]) + (1 if head[2] == "0" else 0) if head else 0
    anchor = "" if head else header.strip("@ ")
    old_unended = unended["-"] or unended[" "]
    new_unended = unended["+"] or unended[" "]
    return (
        PatchHunk(tuple(body), number, anchor, old_unended=old_unended, new_unended=new_unended),
        position,
    )


def _begins_file(lines: Sequence[str], position: int) -> bool:
    return _follows(lines, position, "+++ ") and position + 2 < len(lines) and lines[position + 2].startswith("@@")


def _edits(file: _File) -> list[Edit]:
    old = file.moved_from or file.old
    new = file.moved_to or file.new
    if not old and not new:
        raise PatchError("a hunk has no file name", "write --- a/path and +++ b/path above it")
    executable = {"100755": True, "100644": False}.get(file.mode)
    if file.created:
        return [WriteFile(new, _content(file), executable or None)]
    if file.deleted:
        updates: list[Edit] = [UpdateFile(old, tuple(file.hunks))] if file.hunks else []
        return [*updates, DeleteFile(old)]
    moved = new if file.moved_to or (old != new and not _backup_of(old, new)) else ""
    path = old if moved else new
    if file.hunks or executable is not None:
        return [UpdateFile(path, tuple(file.hunks), moved, executable)]
    return [MoveFile(path, moved)] if moved else []


def _backup_of(old: str, new: str) -> bool:
    """`file.orig` against `file`, or two folders that hold the same file, as plain diffs have it: one file."""
    return posixpath.basename(old).startswith(posixpath.basename(new))


def _content(file: _File) -> str:
    lines = [line[1:] for hunk in file.hunks for line in hunk.lines if line.startswith("+")]
    content = "".join(f"{line}\n" for line in lines)
    unended = bool(file.hunks) and file.hunks[-1].new_unended
    return content[:-1] if unended else content
