"""What a review shows and decides: every change since a checkpoint, hunk by hunk."""

from typing import Literal

from msgspec import Struct

from tcoder.protocol.edits import ChangeKind

HunkOrigin = Literal["agent", "user"]
HunkState = Literal["open", "accepted", "rejected", "stale"]
HunkKind = Literal["text", "endings", "added", "deleted", "binary", "mode", "rename", "submodule", "link"]
FileState = Literal["open", "accepted", "rejected", "mixed", "stale"]


class Hunk(Struct, frozen=True):
    """One change that can be accepted or rejected by itself. `id` is stable as long as its content is; `lines` are for
    people and begin with ' ', '-' or '+'. The change itself: the lines of the base from `old_start` (1-based; of an
    insertion the line before which it goes), whose bytes are `old`, become `new`; what is no text has neither.
    `origin` is who made it; a hunk of the user's is never reverted. `reason` is why it was rejected."""

    id: str
    kind: HunkKind
    header: str
    lines: tuple[str, ...]
    origin: HunkOrigin
    state: HunkState = "open"
    old_start: int = 0
    old: tuple[bytes, ...] = ()
    new: tuple[bytes, ...] = ()
    context_before: tuple[str, ...] = ()
    context_after: tuple[str, ...] = ()
    edited: bool = False
    reason: str = ""

    @property
    def insertions(self) -> int:
        return len(self.new)

    @property
    def deletions(self) -> int:
        return len(self.old)


class ReviewFile(Struct, frozen=True):
    """One file's changes, in order. Modes are git's (`100644`, empty = no file), object ids those of the store; `path`
    is quoted as git does where it is not UTF-8."""

    path: str
    change: ChangeKind
    hunks: tuple[Hunk, ...]
    old_path: str = ""
    old_mode: str = ""
    new_mode: str = ""
    old_id: str = ""
    new_id: str = ""

    @property
    def state(self) -> FileState:
        states: set[HunkState] = {hunk.state for hunk in self.hunks}
        if "stale" in states:
            return "stale"
        return next(iter(states)) if len(states) == 1 else "mixed"

    @property
    def insertions(self) -> int:
        return sum(hunk.insertions for hunk in self.hunks)

    @property
    def deletions(self) -> int:
        return sum(hunk.deletions for hunk in self.hunks)


class Review(Struct, frozen=True):
    """All changes from the tree `base` to the tree `tree`. `since` is the checkpoint or patch from which on the
    ledger says who changed what. `past` are earlier states of `files`, for undo."""

    base: str
    tree: str
    since: str
    files: tuple[ReviewFile, ...]
    past: tuple[tuple[ReviewFile, ...], ...] = ()

    @property
    def hunks(self) -> tuple[Hunk, ...]:
        return tuple(hunk for file in self.files for hunk in file.hunks)


class Committed(Struct, frozen=True):
    """How a commit went. `commit` is its id, empty = there is none; `output` is everything git and hooks printed, and
    `notices` what a person should know, such as a hook that changed the content. `base` is the tree from which a later
    review goes on."""

    commit: str
    output: str
    exit_code: int = 0
    files: tuple[str, ...] = ()
    left_out: int = 0
    notices: tuple[str, ...] = ()
    base: str = ""
