"""Reviews of what a session changed: made from the ledger, and settled in the work tree."""

from tcoder.protocol.edits import Cause, Patch
from tcoder.protocol.errors import WorkspaceError
from tcoder.protocol.review import HunkOrigin, Review, ReviewFile
from tcoder.workspace.files.paths import unquote
from tcoder.workspace.git.door import DIFF_OPTIONS, check_ref
from tcoder.workspace.git.objects import GITLINK
from tcoder.workspace.ledger.ledger import Ledger
from tcoder.workspace.ledger.restore import differences
from tcoder.workspace.review import model as reviews
from tcoder.workspace.review.apply import partial
from tcoder.workspace.review.diff import DiffFile, parse_diff
from tcoder.workspace.review.origin import Origins, Step, replay


async def load(ledger: Ledger, since: str = "", base: str = "") -> Review:
    """The review of everything since a checkpoint or patch (empty = since the session began); `base` is the tree to
    compare with when it is not that one's, as `Committed.base`. What the user changed is recorded on the way. Raises
    `GitError`, `WorkspaceError`."""
    await ledger.record(Cause("user", "changed meanwhile"))
    timeline = ledger.timeline()
    if not timeline:
        return Review("", await ledger.tree(), "", ())
    since = since or timeline[0].id
    names = [item.id for item in timeline]
    if since not in names:
        raise WorkspaceError(f"there is no patch or checkpoint {since!r}", "see `tcoder timeline`")
    base = base or await ledger.tree(since)
    tree = await ledger.tree()
    options = (*DIFF_OPTIONS, "--submodule=short", "--full-index", "-r", "-M", "-l400", "-z", "--raw", "-p")
    diff = parse_diff(await ledger.git.run("diff-tree", *options, check_ref(base), check_ref(tree)))
    patches = [item for item in timeline[names.index(since) :] if isinstance(item, Patch)]
    return reviews.build(base, tree, since, diff, await _who(ledger, patches, diff))


async def refresh(ledger: Ledger, review: Review) -> Review:
    """The review of the tree as it is now, with the decisions on hunks that are the same still."""
    return reviews.carry_over(review, await load(ledger, review.since, review.base))


async def check(ledger: Ledger, review: Review) -> Review:
    """The review with the hunks of files that have changed since marked as stale."""
    await ledger.tree()
    return reviews.mark_stale(review, ledger.content_ids(file.path for file in review.files))


async def _who(ledger: Ledger, patches: list[Patch], diff: list[DiffFile]) -> dict[str, HunkOrigin | Origins]:
    """Who changed each file; where both did, line by line."""
    touched: dict[str, list[Patch]] = {}
    for patch in patches:
        for change in patch.files:
            for path in {unquote(change.path), unquote(change.old_path or change.path)}:
                touched.setdefault(path, []).append(patch)
    who: dict[str, HunkOrigin | Origins] = {}
    for file in diff:
        mine = touched.get(file.path, []) + (touched.get(file.old_path, []) if file.old_path else [])
        origins: set[HunkOrigin] = {_origin(patch) for patch in mine}
        if len(origins) == 1:
            who[file.path] = "agent" if "agent" in origins else "user"
        elif origins and GITLINK not in (file.old_mode, file.new_mode) and not file.old_path:
            replayed = await _replay(ledger, file, mine)
            who[file.path] = replayed or "user"
    return who


def _origin(patch: Patch) -> HunkOrigin:
    return "user" if patch.cause.kind == "user" else "agent"


async def _replay(ledger: Ledger, file: DiffFile, patches: list[Patch]) -> Origins | None:
    steps: list[tuple[HunkOrigin, str, str]] = []
    for patch in patches:
        listed = await ledger.git.run(
            "diff-tree",
            "-r",
            "-z",
            "--raw",
            "--no-renames",
            patch.before,
            patch.after,
            "--",
            ledger.tree_path(file.path),
        )
        before, after = differences(listed).get(file.path, (None, None))
        steps.append((_origin(patch), before.oid if before else "", after.oid if after else ""))
    ids = {file.old_id, file.new_id, *(oid for _, before, after in steps for oid in (before, after))}
    blobs = await ledger.blobs(oid for oid in ids if oid.strip("0"))

    def content(oid: str) -> bytes:
        return blobs.get(oid, b"")

    followed = [Step(origin, content(before), content(after)) for origin, before, after in steps]
    return replay(content(file.old_id), followed, content(file.new_id))


async def settle(ledger: Ledger, review: Review) -> Patch | None:
    """Take rejected hunks back in the work tree, and put edited ones into it, after a checkpoint; None when there is
    nothing to do. Raises `WorkspaceError` when a file has changed since the review was made; then nothing is."""
    concerned = [file for file in review.files if any(hunk.state == "rejected" or hunk.edited for hunk in file.hunks)]
    if not concerned:
        return None
    await refuse_stale(ledger, review, concerned)
    blobs = await ledger.blobs(contents_of(concerned))
    wanted: dict[str, tuple[str, bytes] | None] = {}
    for file in concerned:
        old, new = blobs.get(file.old_id, b""), blobs.get(file.new_id, b"")
        kept = {hunk.id for hunk in file.hunks if hunk.state != "rejected"}
        side, _ = partial(file, old, new, kept)
        if file.new_mode and (side is None or side.path != file.path):
            wanted[file.path] = None
        if side is not None:
            wanted[side.path] = (side.mode, side.data)
    await ledger.checkpoint(Cause("reject", "before rejected changes are taken back"))
    return await ledger.write(wanted, Cause("reject", "rejected in review"))


async def refuse_stale(ledger: Ledger, review: Review, files: list[ReviewFile]) -> None:
    """Raise `WorkspaceError` when one of `files` has changed since the review was made."""
    checked = await check(ledger, review)
    paths = {file.path for file in files}
    stale = [file.path for file in checked.files if file.path in paths and file.state == "stale"]
    if stale:
        raise WorkspaceError(f"changed since the review was made: {', '.join(stale)}", "refresh the review")


def contents_of(files: list[ReviewFile]) -> set[str]:
    """The object ids of the files' contents before and after, without submodules."""
    ids = {oid for file in files for mode, oid in ((file.old_mode, file.old_id), (file.new_mode, file.new_id)) if mode}
    return ids - {
        oid for file in files if GITLINK in (file.old_mode, file.new_mode) for oid in (file.old_id, file.new_id)
    }
