"""Reviewing by hunk: what is a hunk, whose it is, and that any subset is what git would make of it."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.repository import git, make, numbered, put, tree

from tcoder.protocol.codec import decode, encode
from tcoder.protocol.edits import Cause
from tcoder.protocol.errors import WorkspaceError
from tcoder.protocol.review import Hunk, Review
from tcoder.workspace.ledger.ledger import Ledger
from tcoder.workspace.review import load as review_load
from tcoder.workspace.review import model as review
from tcoder.workspace.review.apply import apply_subset, partial
from tcoder.workspace.review.diff import parse_diff

AGENT, USER = Cause("edit", "edit"), Cause("user", "meanwhile")
FILES: dict[str, str | bytes] = {
    "a.txt": numbered(60), "mode.sh": "m\n", "move.txt": numbered(20), "gone.txt": "g\n", "bin": b"\0\1",
    "crlf.txt": b"1\r\n2\r\n3\r\n", "quiet.txt": "q\n",
}  # fmt: skip


@pytest.fixture
async def ledger(tmp_path: Path) -> AsyncIterator[Ledger]:
    root = make(tmp_path / "w", FILES)
    opened = await Ledger.open(root, tmp_path / "state", "s1")
    await opened.checkpoint(Cause("checkpoint", "start"))
    yield opened
    await opened.close()


async def everything_changed(ledger: Ledger) -> Review:
    root = ledger.git.root
    put(root, {"a.txt": numbered(60, _5="agent", _30="agent"), "new.txt": "n\n", "bin": b"\0\2"})
    (root / "mode.sh").chmod(0o755)
    (root / "move.txt").rename(root / "moved.txt")
    put(root, {"moved.txt": numbered(20, _3="agent"), "crlf.txt": b"1\n2\n3\n"})
    (root / "gone.txt").unlink()
    (root / "link").symlink_to("a.txt")
    assert await ledger.record(AGENT)
    put(root, {"a.txt": numbered(60, _5="agent", _30="agent", _50="user"), "users.txt": "u\n"})
    return await review_load.load(ledger)


async def test_each_kind_of_change_is_a_hunk_of_its_own(ledger: Ledger) -> None:
    found = await everything_changed(ledger)
    assert {file.path: [(hunk.kind, hunk.origin) for hunk in file.hunks] for file in found.files} == {
        "a.txt": [("text", "agent"), ("text", "agent"), ("text", "user")],
        "bin": [("binary", "agent")],
        "crlf.txt": [("endings", "agent")],
        "gone.txt": [("deleted", "agent")],
        "link": [("link", "agent")],
        "mode.sh": [("mode", "agent")],
        "moved.txt": [("rename", "agent"), ("text", "agent")],
        "new.txt": [("added", "agent")],
        "users.txt": [("added", "user")],
    }
    first = found.files[0].hunks[0]
    assert first.header.startswith("@@ -5,1 +5,1 @@")
    assert first.lines == (" 2", " 3", " 4", "-5", "+agent", " 6", " 7", " 8")
    assert len({hunk.id for hunk in found.hunks}) == len(found.hunks)
    assert decode(encode(found), Review) == found


async def test_rejected_hunks_are_taken_back_and_told(ledger: Ledger) -> None:
    root = ledger.git.root
    found = await everything_changed(ledger)
    second = found.files[0].hunks[1]
    rejected = [hunk.id for hunk in found.hunks if hunk.origin == "agent" and hunk.id != second.id]
    found = review.reject(found, rejected, "not asked for")
    told = review.rejections(found)
    assert "a.txt @@ -5,1 +5,1 @@" in told
    assert "not asked for" in told
    patch = await review_load.settle(ledger, found)
    assert patch is not None
    assert patch.cause.kind == "reject"
    state = tree(root)
    assert state.pop("users.txt")[1] == b"u\n"
    assert state.pop("a.txt")[1].decode() == numbered(60, _30="agent", _50="user")
    assert {name: data for name, (_, data) in state.items()} == {
        name: content if isinstance(content, bytes) else content.encode()
        for name, content in FILES.items()
        if name != "a.txt"
    }
    assert (root / "mode.sh").stat().st_mode & 0o111 == 0
    again = await review_load.refresh(ledger, found)
    assert [hunk.state for hunk in again.hunks] == ["open"] * 3
    await ledger.undo()
    assert (root / "new.txt").exists()


async def test_the_users_own_hunks_cannot_be_rejected(ledger: Ledger) -> None:
    found = await everything_changed(ledger)
    mine = next(hunk.id for hunk in found.hunks if hunk.origin == "user")
    with pytest.raises(WorkspaceError, match="user's own"):
        review.reject(found, [mine])
    assert review.accept(found, [mine]).files[0].state == "mixed"


async def test_whose_line_is_whose_in_one_place(ledger: Ledger) -> None:
    root = ledger.git.root
    put(root, {"a.txt": numbered(60, _5="5\nagent 1\nagent 2")})
    assert await ledger.record(AGENT)
    put(root, {"a.txt": numbered(60, _5="5\nagent 1\nagent 2\nuser 3")})
    found = await review_load.load(ledger)
    assert [(hunk.origin, hunk.new) for hunk in found.hunks] == [
        ("agent", (b"agent 1\n", b"agent 2\n")), ("user", (b"user 3\n",)),
    ]  # fmt: skip
    found = review.reject(found, [found.hunks[0].id])
    await review_load.settle(ledger, found)
    assert (root / "a.txt").read_text() == numbered(60, _5="5\nuser 3")


async def test_lines_of_both_that_cannot_be_told_apart_are_the_users(ledger: Ledger) -> None:
    put(ledger.git.root, {"a.txt": numbered(60, _5="agent", _6="agent")})
    assert await ledger.record(AGENT)
    put(ledger.git.root, {"a.txt": numbered(60, _5="agent", _6="user")})
    found = await review_load.load(ledger)
    assert [hunk.origin for hunk in found.hunks] == ["user"]


async def test_a_file_that_changed_since_is_stale_until_refreshed(ledger: Ledger) -> None:
    found = await everything_changed(ledger)
    found = review.accept(found, [found.files[0].hunks[0].id])
    put(ledger.git.root, {"a.txt": numbered(60, _5="agent", _30="agent", _50="user again")})
    stale = await review_load.check(ledger, found)
    assert stale.files[0].state == "stale"
    assert {file.state for file in stale.files[1:]} == {"open"}
    for decide in (review.accept, review.reject):
        with pytest.raises(WorkspaceError, match="stale"):
            decide(stale, [stale.files[0].hunks[0].id])
    with pytest.raises(WorkspaceError, match="changed since"):
        await review_load.settle(ledger, review.reject(found, [found.files[0].hunks[1].id]))
    fresh = await review_load.refresh(ledger, found)
    assert [hunk.state for hunk in fresh.files[0].hunks] == ["accepted", "open", "open"]


async def test_edit_split_and_undo(ledger: Ledger) -> None:
    root = ledger.git.root
    put(root, {"a.txt": numbered(60, _5="five\nmore", _6="six")})
    assert await ledger.record(AGENT)
    found = await review_load.load(ledger)
    (hunk,) = found.hunks
    parts = review.split(found, hunk.id, 1, 2)
    assert [(part.old, part.new) for part in parts.hunks] == [
        ((b"5\n",), (b"five\n", b"more\n")), ((b"6\n",), (b"six\n",)),
    ]  # fmt: skip
    parts = review.reject(parts, [parts.hunks[1].id])
    edited = review.edit(parts, parts.hunks[0].id, "FIVE\n")
    assert edited.hunks[0].state == "accepted"
    assert review.undo(review.undo(review.undo(edited))) == found
    with pytest.raises(WorkspaceError):
        review.undo(found)
    await review_load.settle(ledger, edited)
    assert (root / "a.txt").read_text() == numbered(60, _5="FIVE")
    for old, new in ((0, 0), (2, 3), (9, 9)):
        with pytest.raises(WorkspaceError):
            review.split(found, hunk.id, old, new)


async def test_a_split_outlives_the_next_look(ledger: Ledger) -> None:
    root = ledger.git.root
    put(root, {"a.txt": numbered(60, _5="five\nmore", _6="six")})
    assert await ledger.record(AGENT)
    found = await review_load.load(ledger)
    parts = review.split(found, found.hunks[0].id, 1, 2)
    parts = review.accept(parts, [parts.hunks[0].id])
    again = review.carry_over(parts, found)
    assert [(hunk.id, hunk.old, hunk.new, hunk.old_start, hunk.state) for hunk in again.hunks] == [
        (hunk.id, hunk.old, hunk.new, hunk.old_start, hunk.state) for hunk in parts.hunks
    ]
    rejected = review.reject(again, [again.hunks[1].id])
    await review_load.settle(ledger, rejected)
    (left,) = review.carry_over(rejected, await review_load.load(ledger)).hunks
    assert (left.new, left.state) == ((b"five\n", b"more\n"), "accepted")
    put(root, {"a.txt": numbered(60, _5="five\nmore", _6="seven")})
    (changed,) = review.carry_over(rejected, await review_load.load(ledger)).hunks
    assert (changed.old, changed.state) == ((b"5\n", b"6\n"), "open")


async def test_a_type_change_and_a_submodule(ledger: Ledger, tmp_path: Path) -> None:
    root = ledger.git.root
    (root / "quiet.txt").unlink()
    (root / "quiet.txt").symlink_to("a.txt")
    put(root, {"a.txt": numbered(60, _1="after")})
    found = await review_load.load(ledger)
    assert [(file.path, [hunk.kind for hunk in file.hunks]) for file in found.files] == [
        ("a.txt", ["text"]), ("quiet.txt", ["link"]),
    ]  # fmt: skip
    assert ledger.patches[0].cause.kind == "user"


def test_halves_of_a_change_at_an_end_without_newline() -> None:
    whole = Hunk("h", "text", "", (), "agent", old_start=2, old=(b"b",), new=(b"b\n", b"c"))
    assert apply_subset(b"a\nb", [whole]) == b"a\nb\nc"
    second = Hunk("h.2", "text", "", (), "agent", old_start=3, old=(), new=(b"c",))
    assert apply_subset(b"a\nb", [second]) == b"a\nb\nc"
    with pytest.raises(WorkspaceError, match="does not fit"):
        apply_subset(b"a\nx\n", [whole])


LINES = st.lists(st.sampled_from(["a\n", "b\n", "\n", "c\r\n", "d\n", "e\n"]), max_size=14)
TEXTS = st.builds(lambda lines, last: "".join(lines) + last, LINES, st.sampled_from(["", "", "z"]))


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(TEXTS, TEXTS, st.data())
def test_any_subset_is_what_git_makes_of_it(
    tmp_path_factory: pytest.TempPathFactory, old: str, new: str, data: st.DataObject
) -> None:
    if old == new or not old or not new:
        return
    root = tmp_path_factory.mktemp("subset")
    git(root, "init", "-q")
    before = git(root, "hash-object", "-w", "--stdin", data=old.encode()).strip()
    after = git(root, "hash-object", "-w", "--stdin", data=new.encode()).strip()
    trees = [git(root, "mktree", data=f"100644 blob {oid}\tf\n".encode()).strip() for oid in (before, after)]
    out = git(root, "diff-tree", "-r", "-z", "--raw", "-p", "--full-index", *trees)
    found = review.build(trees[0], trees[1], "c1", parse_diff(out.encode()), {"f": "agent"})
    (file,) = found.files
    everything = {hunk.id for hunk in file.hunks}
    whole, _ = partial(file, old.encode(), new.encode(), everything)
    assert whole is not None
    assert whole.data == new.encode()
    chosen = [hunk for hunk in file.hunks if data.draw(st.booleans())]
    side, _ = partial(file, old.encode(), new.encode(), {hunk.id for hunk in chosen})
    assert side is not None
    assert side.data.decode() == by_git(root, old, chosen)


def by_git(root: Path, old: str, hunks: list[Hunk]) -> str:
    """git's own application of the same hunks, without context."""
    (root / "f").write_bytes(old.encode())
    gained = 0
    text = "--- a/f\n+++ b/f\n"
    for hunk in hunks:
        start = hunk.old_start if hunk.old else hunk.old_start - 1
        new_start = hunk.old_start + gained if hunk.new else hunk.old_start + gained - 1
        text += f"@@ -{start},{len(hunk.old)} +{new_start},{len(hunk.new)} @@\n"
        for mark, lines in (("-", hunk.old), ("+", hunk.new)):
            for line in lines:
                text += mark + line.decode() + ("" if line.endswith(b"\n") else "\n\\ No newline at end of file\n")
        gained += len(hunk.new) - len(hunk.old)
    if hunks:
        git(root, "apply", "--unidiff-zero", "-", data=text.encode())
    return (root / "f").read_bytes().decode()


def test_the_review_of_a_random_session_keeps_the_user(tmp_path: Path) -> None:
    """Rejecting all that the agent did leaves exactly what the user did."""

    async def check() -> None:
        root = make(tmp_path / "w", {"a.txt": numbered(40)})
        ledger = await Ledger.open(root, tmp_path / "state", "s1")
        await ledger.checkpoint(Cause("checkpoint", "start"))
        changes: dict[str, str] = {}
        only: dict[str, str] = {}
        for line, who in ((2, "user"), (9, "agent"), (16, "agent"), (23, "user"), (30, "agent"), (37, "user")):
            changes[f"_{line}"] = who
            if who == "user":
                only[f"_{line}"] = who
            put(root, {"a.txt": numbered(40, **changes)})
            assert await ledger.record(USER if who == "user" else AGENT)
        found = await review_load.load(ledger)
        found = review.reject(found, [hunk.id for hunk in found.hunks if hunk.origin == "agent"])
        await review_load.settle(ledger, found)
        assert (root / "a.txt").read_text() == numbered(40, **only)
        await ledger.close()

    asyncio.run(check())
