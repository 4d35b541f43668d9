"""Taking a change back, or making it again, when others came after it: three-way, file by file, all or nothing."""

import tempfile
from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

from tcoder.protocol.edits import Conflict
from tcoder.protocol.errors import GitError, WorkspaceError
from tcoder.workspace.files.paths import quote
from tcoder.workspace.files.text import decode_text
from tcoder.workspace.git.door import Git
from tcoder.workspace.git.objects import FILE, GITLINK, LINK, PROGRAM, ObjectStore
from tcoder.workspace.ledger.tree import Entry, path_of

MAX_SHOWN = 20_000
REGULAR = (FILE, PROGRAM)

# For each path the state that a change left and the state to be reached; None = no file.
Wanted = Mapping[str, tuple[Entry | None, Entry | None]]


class ConflictError(WorkspaceError):
    """A change cannot be taken back: later ones are in the way. Nothing was written; `conflicts` has both versions."""

    def __init__(self, what: str, conflicts: tuple[Conflict, ...]) -> None:
        where = "; ".join(f"{one.path}: {one.reason}" for one in conflicts[:5])
        more = f" and {len(conflicts) - 5} more" if len(conflicts) > 5 else ""
        super().__init__(
            f"{what} is not possible, later changes are in the way: {where}{more}",
            "nothing was changed; take the later change back first, or edit by hand",
        )
        self.conflicts = conflicts


class Target(Struct, frozen=True):
    """A file as it is to be; `data` None = it goes."""

    entry: Entry | None
    data: bytes | None


def differences(listed: bytes) -> dict[str, tuple[Entry | None, Entry | None]]:
    """Paths and both sides of `git diff-tree -r -z --raw --no-renames` of two trees of the ledger."""
    fields = listed.decode("utf-8", "surrogateescape").split("\0")
    found: dict[str, tuple[Entry | None, Entry | None]] = {}
    for head, path in zip(fields[::2], fields[1::2], strict=False):
        old_mode, new_mode, old, new, _ = head[1:].split(" ")
        found[path_of(path)] = (
            None if old_mode == "000000" else Entry(old_mode, old),
            None if new_mode == "000000" else Entry(new_mode, new),
        )
    return found


async def plan(git: Git, store: ObjectStore, current: Mapping[str, Entry], wanted: Wanted) -> dict[str, Target]:
    """What to write so that each path goes from the first state in `wanted` to the second, keeping what came after the
    first. Raises `ConflictError` when that is not possible for any of them."""
    reached: dict[str, Entry | None] = {}
    merging: dict[str, tuple[Entry, Entry, Entry]] = {}
    clashing: dict[str, tuple[Entry | None, Entry | None, str]] = {}
    for path, (base, theirs) in wanted.items():
        ours = current.get(path)
        if ours == theirs:
            continue
        if ours == base:
            if GITLINK not in (getattr(base, "mode", ""), getattr(theirs, "mode", "")):
                reached[path] = theirs
            elif ours is not None and ours.mode != GITLINK:
                reached[path] = None  # it makes room for the files of the submodule
        elif ours and base and theirs and {ours.mode, base.mode, theirs.mode} <= set(REGULAR):
            merging[path] = (ours, base, theirs)
        else:
            clashing[path] = (ours, theirs, _reason(ours, base, theirs))
    ids = {entry.oid for three in merging.values() for entry in three}
    ids |= {entry.oid for ours, theirs, _ in clashing.values() for entry in (ours, theirs) if entry}
    ids |= {entry.oid for entry in reached.values() if entry}
    blobs = await store.read(ids)
    conflicts = [
        Conflict(quote(path), reason, _shown(blobs, ours), _shown(blobs, theirs))
        for path, (ours, theirs, reason) in clashing.items()
    ]
    targets = {path: Target(entry, blobs[entry.oid] if entry else None) for path, entry in reached.items()}
    for path, (ours, base, theirs) in merging.items():
        mode = theirs.mode if ours.mode == base.mode else ours.mode
        data, clean = await merge(git, blobs[ours.oid], blobs[base.oid], blobs[theirs.oid])
        if clean:
            targets[path] = Target(Entry(mode, store.id_of("blob", data)), data)
            continue
        merged = decode_text(data)[0][:MAX_SHOWN] if data else ""
        reason = "the same lines were changed again" if data else "binary content was changed again"
        conflicts.append(Conflict(quote(path), reason, _shown(blobs, ours), _shown(blobs, theirs), merged))
    if conflicts:
        raise ConflictError("this", tuple(conflicts))
    return targets


def _reason(ours: Entry | None, base: Entry | None, theirs: Entry | None) -> str:
    if ours is None:
        return "it was deleted since"
    if base is None:
        return "a file of that name was made since"
    if theirs is None:
        return "it was changed since it was made"
    if LINK in (ours.mode, base.mode, theirs.mode):
        return "the link was changed again"
    return "it was changed again"


def _shown(blobs: Mapping[str, bytes], entry: Entry | None) -> str:
    if entry is None or entry.oid not in blobs:
        return ""
    data = blobs[entry.oid]
    return "(binary)" if b"\0" in data[:8000] else decode_text(data)[0][:MAX_SHOWN]


async def merge(git: Git, ours: bytes, base: bytes, theirs: bytes) -> tuple[bytes, bool]:
    """The three-way merge of three contents, and whether it is without conflict; no bytes when it is binary."""
    if ours == base:
        return theirs, True
    if theirs in (base, ours):
        return ours, True
    with tempfile.TemporaryDirectory(prefix="tcoder-") as folder:
        names = [str(Path(folder, name)) for name in ("now", "base", "wanted")]
        for name, data in zip(names, (ours, base, theirs), strict=True):
            Path(name).write_bytes(data)
        labels = ("-L", "now", "-L", "base", "-L", "wanted")
        try:
            done = await git.complete("merge-file", "-p", "-q", *labels, *names)
        except GitError:
            return b"", False
        # The exit code is the number of conflicts, up to 127; above that git could not merge at all.
        return (done.out, done.code == 0) if done.code < 128 else (b"", False)
