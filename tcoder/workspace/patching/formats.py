"""Patches as models and people write them: `*** Begin Patch`, unified diffs, SEARCH/REPLACE blocks in prose."""

import re
from collections.abc import Sequence

from tcoder.protocol.edits import DeleteFile, Edit, MoveFile, PatchHunk, Replace, UpdateFile, WriteFile
from tcoder.protocol.errors import PatchError
from tcoder.workspace.patching.unified import is_unified, parse_unified

BEGIN, END = "*** Begin Patch", "*** End Patch"
ADD, DELETE, UPDATE = "*** Add File:", "*** Delete File:", "*** Update File:"
MOVE, END_OF_FILE = "*** Move to:", "*** End of File"
_SEARCH = re.compile(r"<{5,9} ?SEARCH\b ?(.*)")
_DIVIDER = re.compile(r"={5,9}\s*")
_REPLACE = re.compile(r">{5,9} ?REPLACE\s*")
_FENCE = re.compile(r"\s*(?:`{3,}|~{3,})\s*(\S*)\s*")


def parse(text: str) -> tuple[Edit, ...]:
    """The edits in `text`, whichever of the formats it holds; prose around them is passed over. Raises `PatchError`
    when it holds none or one is broken."""
    lines = text.split("\n")
    if any(line.strip() == BEGIN for line in lines):
        return _parse_begin_patch(lines)
    if any(_SEARCH.fullmatch(line.strip()) for line in lines):
        return _parse_blocks(lines)
    if is_unified(lines):
        return parse_unified(lines)
    raise PatchError(
        "there is no patch in the text", "use a unified diff, *** Begin Patch, or SEARCH/REPLACE blocks with a path"
    )


# -- *** Begin Patch


def _parse_begin_patch(lines: Sequence[str]) -> tuple[Edit, ...]:
    body = _between(lines)
    edits: list[Edit] = []
    position = 0
    while position < len(body):
        line = body[position]
        end = next((n for n in range(position + 1, len(body)) if body[n].startswith((ADD, DELETE, UPDATE))), len(body))
        part = body[position + 1 : end]
        if line.startswith(ADD):
            edits.append(WriteFile(_named(line, ADD), _added(line, part)))
        elif line.startswith(DELETE):
            edits.append(DeleteFile(_named(line, DELETE)))
        elif line.startswith(UPDATE):
            edits.append(_updated(_named(line, UPDATE), part))
        elif line.strip():
            raise PatchError(f"a patch cannot hold the line {line!r}", f"begin with {ADD} or {UPDATE} and a path")
        position = end
    if not edits:
        raise PatchError("the patch is empty")
    return tuple(edits)


def _between(lines: Sequence[str]) -> list[str]:
    begin = next(number for number, line in enumerate(lines) if line.strip() == BEGIN)
    ends = [number for number, line in enumerate(lines) if number > begin and line.strip() == END]
    if not ends:
        raise PatchError(f"the patch has no {END!r}", "it seems cut off; send the whole patch again")
    return [line.removesuffix("\r") for line in lines[begin + 1 : ends[-1]] if line.strip() not in (BEGIN, END)]


def _named(line: str, head: str) -> str:
    path = line[len(head) :].strip()
    if not path:
        raise PatchError(f"{head!r} needs a path")
    return path


def _added(head: str, part: Sequence[str]) -> str:
    lines = list(part)
    while lines and not lines[-1]:
        lines.pop()
    for line in lines:
        if not line.startswith("+"):
            raise PatchError(f"every line after {head!r} begins with '+', this one does not: {line!r}")
    return "".join(f"{line[1:]}\n" for line in lines)


def _updated(path: str, part: Sequence[str]) -> Edit:
    lines = list(part)
    new_path = ""
    if lines and lines[0].startswith(MOVE):
        new_path = _named(lines.pop(0), MOVE)
    hunks = _hunks(lines)
    if not hunks:
        if not new_path:
            raise PatchError(f"the update of {path} has no lines")
        return MoveFile(path, new_path)
    return UpdateFile(path, tuple(hunks), new_path)


def _hunks(lines: Sequence[str]) -> list[PatchHunk]:
    hunks: list[PatchHunk] = []
    anchors: list[str] = []
    body: list[str] = []

    def close(*, at_end: bool = False) -> None:
        while body and not body[-1]:
            body.pop()
        if body:
            hunks.append(PatchHunk(tuple(body), anchor="\n".join(anchors), at_end=at_end))
            anchors.clear()
            body.clear()

    for line in lines:
        if line.startswith("@@"):
            close()
            if anchor := line[2:].strip().removesuffix("@@").strip():
                anchors.append(anchor)
        elif line.strip() == END_OF_FILE:
            close(at_end=True)
        elif line[:1] in ("", " ", "+", "-"):
            body.append(line)
        else:
            raise PatchError(f"a line of a patch begins with ' ', '-' or '+', this one does not: {line!r}")
    close()
    return hunks


# -- SEARCH/REPLACE blocks


def _parse_blocks(lines: Sequence[str]) -> tuple[Edit, ...]:
    edits: list[Edit] = []
    path = ""
    position = previous = 0
    while position < len(lines):
        start = _SEARCH.fullmatch(lines[position].strip())
        if start is None:
            position += 1
            continue
        path = start[1].strip() or _path_above(lines[previous:position]) or path
        if not path:
            raise PatchError("a SEARCH block has no path", "write the file's path on the line above it")
        end = next((n for n in range(position + 1, len(lines)) if _REPLACE.fullmatch(lines[n])), None)
        again = next((n for n in range(position + 1, len(lines)) if _SEARCH.fullmatch(lines[n].strip())), len(lines))
        if end is None or again < end:
            raise PatchError(f"the SEARCH block for {path} has no '>>>>>>> REPLACE'", "it seems cut off; send it again")
        edits.append(_block(path, lines[position + 1 : end]))
        previous = position = end + 1
    return tuple(edits)


def _block(path: str, lines: Sequence[str]) -> Replace:
    dividers = [number for number, line in enumerate(lines) if _DIVIDER.fullmatch(line)]
    if len(dividers) != 1:
        count = len(dividers) or "no"
        raise PatchError(
            f"the SEARCH block for {path} has {count} dividers '=======', not one", "split it, or use a diff"
        )
    old, new = lines[: dividers[0]], lines[dividers[0] + 1 :]
    return Replace(path, "".join(f"{line}\n" for line in old), "".join(f"{line}\n" for line in new))


def _path_above(lines: Sequence[str]) -> str:
    """The path that stands above a block: the last line with words, without the marks of Markdown."""
    for line in reversed(lines):
        fence = _FENCE.fullmatch(line)
        if fence:
            if "/" in fence[1] or "." in fence[1]:
                return fence[1].partition(":")[2] or fence[1]
            continue
        if not line.strip():
            continue
        return _undecorated(line)
    return ""


def _undecorated(line: str) -> str:
    text = line.strip().strip("*").strip("#").strip().removesuffix(":").strip()
    quoted = re.search(r"`([^`]+)`", text)
    name = quoted[1] if quoted else text
    return "" if " " in name and not quoted and not re.search(r"\.\w+$", name) else name.strip("`*: ")
