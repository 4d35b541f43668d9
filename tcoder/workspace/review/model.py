"""Deciding on changes hunk by hunk: the review as a value, and what can be done to it. Pure."""

from collections.abc import Callable, Collection, Iterable, Mapping

from msgspec.structs import replace

from tcoder.protocol.errors import WorkspaceError
from tcoder.protocol.review import Hunk, HunkKind, HunkOrigin, HunkState, Review, ReviewFile
from tcoder.workspace.files.paths import quote
from tcoder.workspace.git.objects import FILE, PROGRAM
from tcoder.workspace.review.diff import DiffFile, Run, hunk_id, shown, split_endings, text_hunk, whole_kind
from tcoder.workspace.review.origin import Origins, by_origin, lines_of

MAX_PAST = 200

# By path as in the tree: the one who made all of a file's changes, or who made which line.
Who = Mapping[str, HunkOrigin | Origins]


def build(base: str, tree: str, since: str, diff: Iterable[DiffFile], who: Who) -> Review:
    """A review of git's diff between two trees; a file that `who` does not name is the user's."""
    return Review(base, tree, since, tuple(_review_file(file, who.get(file.path, "user")) for file in diff))


def _review_file(file: DiffFile, who: HunkOrigin | Origins) -> ReviewFile:
    path = quote(file.path)
    origin: HunkOrigin = "user" if isinstance(who, Origins) else who
    whole = whole_kind(file)
    hunks: list[Hunk] = []
    if file.old_path:
        hunks.append(_whole(path, "rename", f"rename {quote(file.old_path)} → {path}", origin))
    if {file.old_mode, file.new_mode} == {FILE, PROGRAM}:
        hunks.append(_whole(path, "mode", f"mode {file.old_mode} → {file.new_mode}", origin))
    if whole is not None:
        hunks.append(_whole_hunk(file, path, whole, origin))
    else:
        for run, around, function in zip(file.runs, file.contexts, file.functions, strict=True):
            for part, endings in split_endings(run):
                whole_part: list[tuple[Run, HunkOrigin]] = [(part, origin)]
                owned = by_origin(part, who) if isinstance(who, Origins) else whole_part
                kind: HunkKind = "endings" if endings else "text"
                hunks += [
                    text_hunk(path, one, owner, kind=kind, around=around, function=function) for one, owner in owned
                ]
    return ReviewFile(
        path,
        file.change,
        tuple(_distinct(hunks)),
        quote(file.old_path),
        file.old_mode,
        file.new_mode,
        file.old_id,
        file.new_id,
    )


def _whole_hunk(file: DiffFile, path: str, kind: HunkKind, origin: HunkOrigin) -> Hunk:
    headers: dict[HunkKind, str] = {
        "added": f"new file {file.new_mode}",
        "deleted": f"deleted file {file.old_mode}",
        "binary": "binary content",
        "submodule": f"submodule {file.old_id[:10]} → {file.new_id[:10]}",
        "link": "symbolic link",
    }
    hunk = _whole(path, kind, headers[kind], origin)
    if file.binary or kind == "submodule":
        return replace(hunk, id=hunk_id(path, kind, (file.old_id.encode(),), (file.new_id.encode(),)))
    old = tuple(line for run in file.runs for line in run.old)
    new = tuple(line for run in file.runs for line in run.new)
    lines = (*(shown(line, "-") for line in old), *(shown(line, "+") for line in new))
    return replace(hunk, id=hunk_id(path, kind, old, new), lines=lines, old=old, new=new, old_start=1)


def _whole(path: str, kind: HunkKind, header: str, origin: HunkOrigin) -> Hunk:
    return Hunk(hunk_id(path, kind, (header.encode("utf-8", "replace"),), ()), kind, header, (), origin)


def _distinct(hunks: list[Hunk]) -> list[Hunk]:
    """The same change in two places of a file: ids must differ."""
    seen: dict[str, int] = {}
    out: list[Hunk] = []
    for hunk in hunks:
        count = seen[hunk.id] = seen.get(hunk.id, 0) + 1
        out.append(hunk if count == 1 else replace(hunk, id=f"{hunk.id}-{count}"))
    return out


# -- deciding


def accept(review: Review, ids: Collection[str]) -> Review:
    """Mark hunks as accepted. Raises `WorkspaceError` for one that is stale or unknown."""
    return _decide(review, ids, "accepted")


def reject(review: Review, ids: Collection[str], reason: str = "") -> Review:
    """Mark hunks as rejected, with a reason for the model. Raises `WorkspaceError` for the user's own, stale or unknown
    ones."""
    for hunk in _chosen(review, ids):
        if hunk.origin == "user":
            raise WorkspaceError(f"{hunk.header} is the user's own change", "it is left as it is")
    return _decide(review, ids, "rejected", reason)


def reopen(review: Review, ids: Collection[str]) -> Review:
    """Take decisions back."""
    return _decide(review, ids, "open")


def _decide(review: Review, ids: Collection[str], state: HunkState, reason: str = "") -> Review:
    for hunk in _chosen(review, ids):
        if hunk.state == "stale":
            raise WorkspaceError(f"{hunk.header} is stale: the file has changed since", "refresh the review")
    return _each(review, ids, lambda hunk: [replace(hunk, state=state, reason=reason)])


def edit(review: Review, hunk_name: str, new: str) -> Review:
    """Give a hunk another new side, and accept it. Raises `WorkspaceError` for one that has no text, is stale, or the
    user's."""
    hunk = _text(review, hunk_name)
    if hunk.origin == "user":
        raise WorkspaceError(f"{hunk.header} is the user's own change", "edit the file instead")
    data = tuple(lines_of(new.encode("utf-8", "surrogateescape")))
    changed = (*(shown(line, "-") for line in hunk.old), *(shown(line, "+") for line in data))
    lines = (*hunk.context_before, *changed, *hunk.context_after)
    edited = replace(hunk, new=data, lines=lines, edited=True, state="accepted")
    return _each(review, [hunk_name], lambda _: [edited])


def split(review: Review, hunk_name: str, old_lines: int, new_lines: int) -> Review:
    """Cut a hunk in two after its first `old_lines` removed and `new_lines` added lines. Raises `WorkspaceError` when a
    part would be empty."""
    hunk = _text(review, hunk_name)
    if hunk.kind not in ("text", "endings"):
        raise WorkspaceError(f"{hunk.header} can only be taken as a whole")
    cut = (old_lines, new_lines)
    if not (0 <= old_lines <= len(hunk.old) and 0 <= new_lines <= len(hunk.new)):
        raise WorkspaceError(f"the hunk has {len(hunk.old)} removed and {len(hunk.new)} added lines")
    if cut in ((0, 0), (len(hunk.old), len(hunk.new))):
        raise WorkspaceError("one part would be empty", "cut between its lines")
    new_start = hunk.old_start
    first = Run(hunk.old_start, new_start, hunk.old[:old_lines], hunk.new[:new_lines])
    second = Run(hunk.old_start + old_lines, new_start + new_lines, hunk.old[old_lines:], hunk.new[new_lines:])

    def parts(whole: Hunk) -> list[Hunk]:
        return [
            replace(
                text_hunk(hunk_name, run, whole.origin, kind=whole.kind),
                id=f"{whole.id}.{number}",
                state="open",
                edited=whole.edited,
            )
            for number, run in enumerate((first, second), 1)
        ]

    return _each(review, [hunk_name], parts)


def undo(review: Review) -> Review:
    """The review before the last decision. Raises `WorkspaceError` when there was none."""
    if not review.past:
        raise WorkspaceError("nothing was decided yet")
    return replace(review, files=review.past[-1], past=review.past[:-1])


def mark_stale(review: Review, now: Mapping[str, str]) -> Review:
    """Mark the hunks of files whose content is another one now: `now` has the object id by path, empty = no file.
    Paths that it does not name are as they were."""
    files = tuple(
        replace(file, hunks=tuple(replace(hunk, state="stale") for hunk in file.hunks))
        if file.path in now and now[file.path] != (file.new_id if file.new_mode else "")
        else file
        for file in review.files
    )
    return replace(review, files=files)


def carry_over(old: Review, fresh: Review) -> Review:
    """A fresh review with the decisions of an old one, for hunks that are the same still. What was split stays split; a
    part that is left alone, because the others were taken back, keeps what was decided about it."""
    decided = {hunk.id: hunk for hunk in old.hunks if hunk.state in ("accepted", "rejected") and not hunk.edited}
    parts = {_place(file, hunk): hunk for file in old.files for hunk in file.hunks if "." in hunk.id}
    fresh = _split_again(old, fresh)

    def same(file: ReviewFile, hunk: Hunk) -> Hunk:
        known = decided.get(hunk.id) or decided.get(parts[place].id if (place := _place(file, hunk)) in parts else "")
        return replace(hunk, state=known.state, reason=known.reason) if known else hunk

    files = tuple(replace(file, hunks=tuple(same(file, hunk) for hunk in file.hunks)) for file in fresh.files)
    return replace(fresh, files=files)


def _place(file: ReviewFile, hunk: Hunk) -> tuple[object, ...]:
    return file.path, hunk.old_start, hunk.old, hunk.new


def _split_again(old: Review, fresh: Review) -> Review:
    """The cuts of an old review, in hunks that are the same still."""
    for whole in fresh.hunks:
        parts = [part for part in old.hunks if part.id.startswith(f"{whole.id}.") and not part.edited]
        lines = tuple(line for part in parts for line in part.old), tuple(line for part in parts for line in part.new)
        if len(parts) < 2 or lines != (whole.old, whole.new):
            continue
        cut: list[Hunk] = []
        removed = added = 0
        for part in parts:
            run = Run(whole.old_start + removed, whole.old_start + added, part.old, part.new)
            cut.append(replace(text_hunk(whole.id, run, whole.origin, kind=whole.kind), id=part.id))
            removed, added = removed + len(part.old), added + len(part.new)
        fresh = replace(_each(fresh, [whole.id], lambda _, cut=cut: cut), past=fresh.past)
    return fresh


def find(review: Review, hunk_name: str) -> Hunk:
    for hunk in review.hunks:
        if hunk.id == hunk_name:
            return hunk
    raise WorkspaceError(f"there is no hunk {hunk_name!r}", "see `tcoder review`")


def rejections(review: Review) -> str:
    """What is told to the model about hunks that a person rejected, in one message; empty when there are none."""
    parts = [
        f"{file.path} {hunk.header}{f': {hunk.reason}' if hunk.reason else ''}\n" + "\n".join(hunk.lines)
        for file in review.files
        for hunk in file.hunks
        if hunk.state == "rejected"
    ]
    if not parts:
        return ""
    return "The person rejected these changes; they have been taken back:\n\n" + "\n\n".join(parts)


def _text(review: Review, name: str) -> Hunk:
    hunk = find(review, name)
    if hunk.state == "stale":
        raise WorkspaceError(f"{hunk.header} is stale: the file has changed since", "refresh the review")
    if hunk.kind not in ("text", "endings", "added") or not (hunk.old or hunk.new):
        raise WorkspaceError(f"{hunk.header} has no lines of its own", "accept or reject it as a whole")
    return hunk


def _chosen(review: Review, ids: Collection[str]) -> list[Hunk]:
    hunks = {hunk.id: hunk for hunk in review.hunks}
    for name in ids:
        if name not in hunks:
            raise WorkspaceError(f"there is no hunk {name!r}", "see `tcoder review`")
    return [hunks[name] for name in ids]


def _each(review: Review, ids: Collection[str], change: Callable[[Hunk], list[Hunk]]) -> Review:
    wanted = set(ids)
    files = tuple(
        replace(
            file,
            hunks=tuple(one for hunk in file.hunks for one in (change(hunk) if hunk.id in wanted else [hunk])),
        )
        for file in review.files
    )
    return replace(review, files=files, past=(*review.past, review.files)[-MAX_PAST:])
