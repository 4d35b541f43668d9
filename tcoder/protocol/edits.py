"""Edits as a model asks for them, and patches as the ledger keeps them."""

from typing import Literal

from msgspec import Struct

MatchPass = Literal["exact", "trailing-space", "indentation", "unicode", "created", "whole-file", "line-number"]
ChangeKind = Literal["added", "modified", "deleted", "renamed", "mode"]
CauseKind = Literal["edit", "shell", "user", "undo", "redo", "rollback", "reject", "checks", "checkpoint"]


class Replace(Struct, frozen=True, tag="replace"):
    """Exact search and replace; the match must be unique unless `everywhere`. An empty `old` makes a new file."""

    path: str
    old: str
    new: str
    everywhere: bool = False


class WriteFile(Struct, frozen=True, tag="write"):
    """The whole content of a file; `executable` None = as it was."""

    path: str
    content: str
    executable: bool | None = None


class InsertLines(Struct, frozen=True, tag="insert"):
    """`text` goes after line `line` (1-based; 0 = before the first)."""

    path: str
    line: int
    text: str


class UpdateFile(Struct, frozen=True, tag="update"):
    """Hunks of a patch; each is context/removed/added lines. `new_path` moves the file, `executable` sets or clears
    the mode bits (None = as they were)."""

    path: str
    hunks: tuple["PatchHunk", ...]
    new_path: str = ""
    executable: bool | None = None


class PatchHunk(Struct, frozen=True):
    """`lines` begin with ' ', '-' or '+'. `line` is the 1-based hint of the old side (of a hunk without old lines: the
    line before which it goes), 0 = none; `anchor` holds `@@` context lines, one a line, that come
    before it in this order; `at_end` pins the hunk to the end of the file. `old_unended` and `new_unended` say that
    the last line of that side has no line ending."""

    lines: tuple[str, ...]
    line: int = 0
    anchor: str = ""
    at_end: bool = False
    old_unended: bool = False
    new_unended: bool = False


class DeleteFile(Struct, frozen=True, tag="delete"):
    path: str


class MoveFile(Struct, frozen=True, tag="move"):
    path: str
    new_path: str


Edit = Replace | WriteFile | InsertLines | UpdateFile | DeleteFile | MoveFile


class Cause(Struct, frozen=True):
    """Why the tree changed. `turn` and `attempt` are 1-based, 0 = none."""

    kind: CauseKind
    summary: str = ""
    turn: int = 0
    call_id: str = ""
    attempt: int = 0


class FileChange(Struct, frozen=True):
    path: str
    change: ChangeKind
    insertions: int = 0
    deletions: int = 0
    old_path: str = ""
    matched_by: str = ""


class Patch(Struct, frozen=True):
    """A named change of the tree. `before` and `after` are git tree ids in the ledger's store; `time` is ISO 8601
    UTC. `lost` are files and folders that git ignores and that went with it: nothing holds them."""

    id: str
    time: str
    cause: Cause
    files: tuple[FileChange, ...]
    before: str = ""
    after: str = ""
    undone: bool = False
    lost: tuple[str, ...] = ()

    @property
    def insertions(self) -> int:
        return sum(file.insertions for file in self.files)

    @property
    def deletions(self) -> int:
        return sum(file.deletions for file in self.files)


class Checkpoint(Struct, frozen=True):
    """A state of the tree that can be returned to. `uncovered` names what it does not hold and why."""

    id: str
    time: str
    tree: str
    cause: Cause
    uncovered: tuple[str, ...] = ()


class Conflict(Struct, frozen=True):
    """A file in which a change could not be taken back: what is there now, what would be put there, and both in one
    text with conflict markers (empty for binary content). Contents are text for people; empty = no file."""

    path: str
    reason: str
    now: str = ""
    wanted: str = ""
    merged: str = ""
