"""The ledger: what is recorded, what can be taken back, and that nothing of the user's is touched."""

import asyncio
import os
import subprocess
import sys
from collections.abc import AsyncIterator
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.repository import everything, git, make, numbered, put, tree

from tcoder.protocol.edits import Cause, Checkpoint, Patch
from tcoder.protocol.errors import WorkspaceError
from tcoder.workspace.git.door import Git
from tcoder.workspace.ledger import prune as ledger_prune
from tcoder.workspace.ledger.ledger import ConflictError, Ledger, Limits
from tcoder.workspace.ledger.snapshot import Snapshots

EDIT, SHELL, USER = Cause("edit", "edit"), Cause("shell", "command", turn=1, call_id="t1"), Cause("user", "meanwhile")


@pytest.fixture(params=["git", "plain"])
async def ledger(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Ledger]:
    """A ledger of the same files, once in a repository and once outside git."""
    root = tmp_path / "w"
    if request.param == "git":
        make(root)
    else:
        put(root, {"a.txt": numbered(12), "sub/b.py": "b = 1\n"})
    opened = await Ledger.open(root, tmp_path / "state", "s1")
    yield opened
    await opened.close()


async def patch(ledger: Ledger, files: dict[str, str | bytes], cause: Cause = EDIT) -> Patch:
    put(ledger.git.root, files)
    recorded = await ledger.record(cause)
    assert recorded is not None
    return recorded[0]


async def test_a_change_becomes_a_patch_with_its_cause_and_diff(ledger: Ledger) -> None:
    root = ledger.git.root
    (root / "a.txt").write_text(numbered(12, _3="three"))
    (root / "sub" / "b.py").unlink()
    (root / "new").mkdir()
    (root / "new" / "c.txt").write_text("c\n")
    recorded = await ledger.record(SHELL)
    assert recorded is not None
    made, diff = recorded
    assert made.cause == SHELL
    assert [(f.path, f.change, f.insertions, f.deletions) for f in made.files] == [
        ("a.txt", "modified", 1, 1), ("new/c.txt", "added", 1, 0), ("sub/b.py", "deleted", 0, 1),
    ]  # fmt: skip
    assert "-3\n+three\n" in diff
    assert await ledger.record(SHELL) is None


async def test_undo_and_redo_of_everything_at_once(ledger: Ledger) -> None:
    root = ledger.git.root
    before = tree(root)
    (root / "a.txt").write_text("all new\n")
    (root / "a.txt").chmod(0o755)
    (root / "sub" / "b.py").rename(root / "b.py")
    (root / "link").symlink_to("a.txt")
    (root / "deep" / "er").mkdir(parents=True)
    (root / "deep" / "er" / "x").write_bytes(b"\0\xff\r\n")
    assert await ledger.record(SHELL)
    changed = tree(root)
    undone = await ledger.undo()
    assert undone.cause.kind == "undo"
    assert tree(root) == before
    assert not (root / "deep").exists()
    assert [item.undone for item in ledger.patches] == [True, False]
    await ledger.redo()
    assert tree(root) == changed
    assert not ledger.patches[0].undone
    with pytest.raises(WorkspaceError, match="changes nothing"):
        await ledger.undo(undone.id)
    last = await ledger.undo()
    await ledger.undo(last.id)  # to undo an undo is to redo
    assert tree(root) == changed
    assert not ledger.patches[0].undone


async def test_undo_of_an_older_patch_keeps_what_came_after_it(ledger: Ledger) -> None:
    root = ledger.git.root
    first = await patch(ledger, {"a.txt": numbered(12, _2="first")})
    await patch(ledger, {"a.txt": numbered(12, _2="first", _10="second")})
    (root / "a.txt").write_text(numbered(12, _2="first", _6="user", _10="second"))
    await ledger.undo(first.id)
    assert (root / "a.txt").read_text() == numbered(12, _6="user", _10="second")
    causes = [item.cause.kind for item in ledger.patches]
    assert causes == ["edit", "edit", "user", "undo"]


@pytest.mark.parametrize("how", ["same lines", "deleted", "binary", "changed a new file", "new file in the way"])
async def test_conflicts_keep_both_versions_and_change_nothing(ledger: Ledger, how: str) -> None:
    root = ledger.git.root
    files: dict[str, str | bytes] = {"a.txt": numbered(12, _2="agent"), "other.txt": "o\n"}
    files |= {"new.txt": "agent\n"} if how == "changed a new file" else {}
    files |= {"bin": b"\0\1"} if how == "binary" else {}
    if how == "binary":
        await patch(ledger, {"bin": b"\0\0"})
    if how == "new file in the way":
        (root / "sub" / "b.py").unlink()
    made = await patch(ledger, files)
    match how:
        case "same lines":
            put(root, {"a.txt": numbered(12, _2="user")})
        case "deleted":
            (root / "a.txt").unlink()
        case "binary":
            put(root, {"bin": b"\0\2"})
        case "changed a new file":
            put(root, {"new.txt": "user\n"})
        case _:
            put(root, {"sub/b.py": "user\n"})
    before = tree(root)
    with pytest.raises(ConflictError) as caught:
        await ledger.undo(made.id)
    assert tree(root) == before
    conflict = caught.value.conflicts[0]
    assert conflict.path in str(caught.value)
    if how == "same lines":
        assert "<<<<<<< now\nuser\n" in conflict.merged
        assert conflict.merged.endswith("12\n")
    assert not ledger.patches[-2].undone


async def test_undo_twice_and_of_nothing(ledger: Ledger) -> None:
    with pytest.raises(WorkspaceError, match="nothing to undo"):
        await ledger.undo()
    with pytest.raises(WorkspaceError, match="nothing was undone"):
        await ledger.redo()
    await patch(ledger, {"a.txt": "user\n"}, USER)
    with pytest.raises(WorkspaceError, match="nothing to undo"):
        await ledger.undo()
    made = await patch(ledger, {"a.txt": "x\n"})
    await ledger.undo(made.id)
    with pytest.raises(WorkspaceError, match="undone already"):
        await ledger.undo(made.id)
    with pytest.raises(WorkspaceError, match="no patch"):
        await ledger.undo("p99")


async def test_rollback_takes_back_the_agent_only(ledger: Ledger) -> None:
    root = ledger.git.root
    start = await ledger.checkpoint(Cause("checkpoint", "start"))
    await patch(ledger, {"a.txt": numbered(12, _2="agent"), "junk.txt": "j\n"})
    await patch(ledger, {"a.txt": numbered(12, _2="agent", _10="user"), "users.txt": "u\n"}, USER)
    await patch(ledger, {"a.txt": numbered(12, _2="again", _10="user"), "sub/b.py": "b = 2\n"}, SHELL)
    rolled = await ledger.rollback(start.id)
    assert (root / "a.txt").read_text() == numbered(12, _10="user")
    assert (root / "users.txt").read_text() == "u\n"
    assert not (root / "junk.txt").exists()
    assert (root / "sub" / "b.py").read_text() == "b = 1\n"
    await ledger.undo(rolled.id)
    assert (root / "a.txt").read_text() == numbered(12, _2="again", _10="user")
    assert (root / "junk.txt").exists()


async def test_a_destroyed_tree_comes_back(ledger: Ledger) -> None:  # R50
    root = ledger.git.root
    put(root, {"untracked/deep/u.txt": "u\n", "sub/b.py": "unsaved\n"})
    before = tree(root)
    start = await ledger.checkpoint(Cause("checkpoint", "before a command"))
    assert await ledger.record(USER)
    subprocess.run("rm -rf -- * && mkdir a.txt && touch sub", shell=True, cwd=root, check=True)
    assert await ledger.record(SHELL)
    await ledger.rollback(start.id)
    assert tree(root) == before


async def test_folders_and_files_change_places(ledger: Ledger) -> None:
    root = ledger.git.root
    before = tree(root)
    (root / "a.txt").unlink()
    put(root, {"a.txt/inner.txt": "i\n"})
    (root / "sub" / "b.py").unlink()
    (root / "sub").rmdir()
    (root / "sub").symlink_to("a.txt")
    assert await ledger.record(SHELL)
    changed = tree(root)
    await ledger.undo()
    assert tree(root) == before
    await ledger.redo()
    assert tree(root) == changed


async def test_a_link_in_the_place_of_a_folder_is_not_followed(ledger: Ledger) -> None:
    root = ledger.git.root
    outside = root.parent / "outside"
    outside.mkdir()
    (outside / "b.py").write_text("secret\n")
    (root / "sub").rename(root.parent / "moved")
    (root / "sub").symlink_to(outside)
    recorded = await ledger.record(SHELL)
    assert recorded is not None
    assert [(file.path, file.change) for file in recorded[0].files] == [("sub", "added"), ("sub/b.py", "deleted")]
    await ledger.undo()
    assert (outside / "b.py").read_text() == "secret\n"
    assert (root / "sub" / "b.py").read_text() == "b = 1\n"


async def test_empty_folders_come_back_and_go_again(ledger: Ledger) -> None:
    root = ledger.git.root
    (root / "sub" / "empty" / "deep").mkdir(parents=True)
    assert await ledger.record(USER) is None
    subprocess.run("rm -rf sub", shell=True, cwd=root, check=True)
    made = await ledger.record(SHELL)
    assert made is not None
    await ledger.undo()
    assert (root / "sub" / "empty" / "deep").is_dir()
    assert (root / "sub" / "b.py").read_text() == "b = 1\n"
    await ledger.redo()
    assert not (root / "sub").exists()
    outside = root.parent / "elsewhere"
    outside.mkdir()
    (root / "sub").symlink_to(outside)
    assert await ledger.record(USER)
    with pytest.raises((ConflictError, WorkspaceError)):
        await ledger.undo(made[0].id)
    assert list(outside.iterdir()) == []


async def test_unusual_permissions_come_back(ledger: Ledger) -> None:
    secret = ledger.git.root / "secret"
    secret.write_text("s\n")
    secret.chmod(0o600)
    assert await ledger.record(USER)
    secret.unlink()
    assert await ledger.record(SHELL)
    await ledger.undo()
    assert secret.stat().st_mode & 0o777 == 0o600


async def test_a_snapshot_of_named_files_leaves_what_others_change_to_the_next_one(tmp_path: Path) -> None:
    root = make(tmp_path / "w", {"a.txt": "a\n", "b.txt": "b\n", "twin": "t\n", "gone/f.txt": "f\n"})
    os.link(root / "twin", root / "other")
    snapshots = Snapshots(Git(root, git_dir=root / ".git"), root / ".git", "sha1", Limits())
    await snapshots.seed(from_index=True)
    (root / "gone" / "f.txt").unlink()
    put(root, {"a.txt": "ours\n", "new/deep/c.txt": "ours\n", "b.txt": "theirs\n", "d.txt": "theirs\n"})

    def listed(one: str) -> list[str]:
        return git(root, "ls-tree", "-r", "--name-only", one).split()

    ours = await snapshots.take_only(["a.txt", "new/deep/c.txt", "gone/f.txt"])
    assert listed(ours) == ["a.txt", "b.txt", "new/deep/c.txt", "other", "twin"]
    assert (git(root, "show", f"{ours}:a.txt"), git(root, "show", f"{ours}:b.txt")) == ("ours\n", "b\n")
    everyone = await snapshots.take()
    assert listed(everyone) == ["a.txt", "b.txt", "d.txt", "new/deep/c.txt", "other", "twin"]
    assert git(root, "show", f"{everyone}:b.txt") == "theirs\n"
    (root / "twin").write_text("both\n")  # one file under two names: to look at one of them is not enough
    assert git(root, "show", f"{await snapshots.take_only(['twin'])}:other") == "both\n"
    snapshots.sweep.close()


@pytest.mark.parametrize("wait", [0.0, 0.05])
async def test_an_edit_of_equal_size_and_time_is_seen(ledger: Ledger, wait: float) -> None:  # R56
    place = ledger.git.root / "a.txt"
    await asyncio.sleep(wait)
    await ledger.checkpoint(EDIT)
    status = place.stat()
    place.write_text(place.read_text().replace("1", "7"))
    os.utime(place, ns=(status.st_atime_ns, status.st_mtime_ns))
    recorded = await ledger.record(SHELL)
    assert recorded is not None
    assert recorded[0].files[0].path == "a.txt"


async def test_a_ledger_that_is_opened_again_knows_everything(tmp_path: Path) -> None:
    root = make(tmp_path / "w")
    ledger = await Ledger.open(root, tmp_path / "state", "s1")
    start = await ledger.checkpoint(Cause("checkpoint", "start"))
    first = await patch(ledger, {"a.txt": numbered(12, _2="agent")})
    known = ledger.timeline()
    await ledger.close()
    git(root, "checkout", "-q", "-b", "other")
    (root / "sub" / "b.py").write_text("by the user\n")
    git(root, "commit", "-q", "-am", "by the user")
    again = await Ledger.open(root, tmp_path / "state", "s1")
    assert again.timeline() == known
    recorded = await again.record(USER)
    assert recorded is not None
    assert [file.path for file in recorded[0].files] == ["sub/b.py"]
    await again.undo(first.id)
    assert (root / "a.txt").read_text() == numbered(12)
    assert (root / "sub" / "b.py").read_text() == "by the user\n"
    assert "by the user" in await again.diff(start.id)
    await again.close()


async def test_a_killed_ledger_finds_its_trees_and_makes_up_for_its_refs(tmp_path: Path) -> None:
    root = make(tmp_path / "w")
    script = (
        "import asyncio, os, sys, pathlib\n"
        "from tcoder.workspace.ledger.ledger import Ledger\n"
        "from tcoder.protocol.edits import Cause\n"
        "async def main():\n"
        "    root, state = map(pathlib.Path, sys.argv[1:])\n"
        "    ledger = await Ledger.open(root, state, 's1')\n"
        "    await ledger.checkpoint(Cause('checkpoint', 'start'))\n"
        "    (root / 'a.txt').write_text('agent')\n"
        "    await ledger.record(Cause('edit', 'e'))\n"
        "    (root / 'sub' / 'b.py').write_text('not recorded')\n"
        "    os.kill(os.getpid(), 9)\n"
        "asyncio.run(main())\n"
    )
    done = subprocess.run([sys.executable, "-c", script, str(root), str(tmp_path / "state")])
    assert done.returncode == -9
    log = next((tmp_path / "state" / "ledger").rglob("s1.jsonl"))
    refs_folder = root / ".git" / "refs" / "tcoder" / "s1"
    refs_folder.mkdir(parents=True, exist_ok=True)
    (refs_folder / "p1.lock").touch()  # killed while it wrote a ref
    with log.open("ab") as file:
        file.write(b'{"type":"patch","pat')
    ledger = await Ledger.open(root, tmp_path / "state", "s1")
    assert [item.id for item in ledger.timeline()] == ["c1", "p1"]
    recorded = await ledger.record(USER)
    assert recorded is not None
    assert [file.path for file in recorded[0].files] == ["sub/b.py"]
    await ledger.undo("p1")
    assert (root / "a.txt").read_text() == numbered(12)
    await ledger.close()
    refs = git(root, "for-each-ref", "--format=%(refname)", "refs/tcoder").split()
    assert refs == [f"refs/tcoder/s1/{name}" for name in ("c1", "p1", "p2", "p3")]
    assert git(root, "show", "--format=%s", "--name-only", "refs/tcoder/s1/p2").split() == [
        "p2", "user:", "meanwhile", "sub/b.py",
    ]  # fmt: skip
    git(root, "fsck", "--strict")


async def test_a_ref_that_is_locked_is_written_later(tmp_path: Path) -> None:
    root = make(tmp_path / "w")
    ledger = await Ledger.open(root, tmp_path / "state", "s1")
    folder = root / ".git" / "refs" / "tcoder" / "s1"
    folder.mkdir(parents=True)
    (folder / "c1.lock").touch()
    os.utime(folder / "c1.lock", (2**31, 2**31))  # somebody keeps it fresh
    await ledger.checkpoint(EDIT)
    await ledger.close()
    assert "clean-up" in ledger.uncovered[0]
    assert git(root, "for-each-ref", "refs/tcoder") == ""
    os.utime(folder / "c1.lock", (0, 0))  # left behind by a tcoder that was killed
    await (await Ledger.open(root, tmp_path / "state", "s1")).close()
    assert git(root, "log", "-1", "--format=%s", "refs/tcoder/s1/c1") == "c1 edit: edit\n"
    assert list(folder.iterdir()) == [folder / "c1"]
    git(root, "pack-refs", "--all")
    ledger = await Ledger.open(root, tmp_path / "state", "s1")
    await ledger.checkpoint(EDIT)
    await ledger.close()
    assert len(git(root, "rev-list", "refs/tcoder/s1/c2").split()) == 2
    git(root, "fsck", "--strict")


async def test_a_session_is_open_once(tmp_path: Path) -> None:  # R52
    root = make(tmp_path / "w")
    first = await Ledger.open(root, tmp_path / "state", "s1")
    with pytest.raises(WorkspaceError, match="open in another tcoder"):
        await Ledger.open(root, tmp_path / "state", "s1")
    other = await Ledger.open(root, tmp_path / "state", "s2")
    await patch(first, {"a.txt": numbered(12, _2="one")})
    await patch(other, {"a.txt": numbered(12, _2="one", _10="two")})
    await first.undo()
    assert (root / "a.txt").read_text() == numbered(12, _10="two")
    await first.close()
    await other.close()
    await (await Ledger.open(root, tmp_path / "state", "s1")).close()


async def test_ignored_files_are_covered_where_tcoder_changes_them(tmp_path: Path) -> None:
    root = make(tmp_path / "w", {".gitignore": "*.log\nbuild/\n!keep.log\n", "a.txt": "a\n"})
    put(root, {"x.log": "x\n", "y.log": "y\n", "build/out": "o\n", "keep.log": "k\n"})
    ledger = await Ledger.open(root, tmp_path / "state", "s1")
    await ledger.cover(["x.log", "build/new"])
    assert await ledger.record(USER) is None
    put(root, {"x.log": "agent\n", "y.log": "agent\n", "build/new": "n\n", "build/out": "2\n", "keep.log": "2\n"})
    recorded = await ledger.record(EDIT)
    assert recorded is not None
    assert [file.path for file in recorded[0].files] == ["build/new", "keep.log", "x.log"]
    await ledger.close()
    ledger = await Ledger.open(root, tmp_path / "state", "s1")
    assert await ledger.record(USER) is None
    await ledger.undo()
    assert (root / "x.log").read_text() == "x\n"
    assert not (root / "build" / "new").exists()
    assert (root / "build" / "out").read_text() == "2\n"
    await ledger.close()


async def test_a_changed_rule_for_ignoring(tmp_path: Path) -> None:
    root = make(tmp_path / "w", {".gitignore": "*.log\n", "a.txt": "a\n"})
    put(root, {"x.log": "x\n", "d/y.log": "y\n"})
    ledger = await Ledger.open(root, tmp_path / "state", "s1")
    put(root, {".gitignore": "d/\n"})
    recorded = await ledger.record(USER)
    assert recorded is not None
    assert [file.path for file in recorded[0].files] == [".gitignore", "x.log"]
    (root / "empty").mkdir()
    assert await ledger.record(USER) is None
    put(root, {"empty/z": "z\n"})
    recorded = await ledger.record(USER)
    assert recorded is not None
    assert [file.path for file in recorded[0].files] == ["empty/z"]
    await ledger.close()


@pytest.mark.parametrize(
    ("limits", "said"),
    [(Limits(file_bytes=100), "big.bin"), (Limits(files=4), "too many"), (Limits(bytes=60), "too many"),
     (Limits(seconds=-1.0), "too many")],
)  # fmt: skip
async def test_what_is_beyond_the_limits_is_said(tmp_path: Path, limits: Limits, said: str) -> None:  # R48
    root = make(tmp_path / "w")
    put(root, {"big.bin": "x" * 1000, **{f"many/{number}": "some text\n" for number in range(9)}})
    ledger = await Ledger.open(root, tmp_path / "state", "s1", limits=limits)
    made = await ledger.checkpoint(EDIT)
    assert any(said in notice for notice in made.uncovered), made.uncovered
    put(root, {"big.bin": "y" * 1000, **{f"many/{number}": "other text\n" for number in range(9)}})
    recorded = await ledger.record(SHELL)
    assert recorded is None or len(recorded[0].files) < 10
    put(root, {"a.txt": "tracked files are covered all the same\n"})
    assert await ledger.record(SHELL)
    await ledger.close()


async def test_a_covered_file_that_grows_too_big_does_not_look_deleted(tmp_path: Path) -> None:
    root = make(tmp_path / "w")
    ledger = await Ledger.open(root, tmp_path / "state", "s1", limits=Limits(file_bytes=100))
    put(root, {"a.txt": "x" * 200})
    assert await ledger.record(SHELL) is None
    assert ledger.uncovered
    put(root, {"a.txt": "small\n"})
    assert await ledger.record(SHELL)
    assert not ledger.uncovered
    await ledger.close()


async def test_nothing_changed_starts_no_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = make(tmp_path / "w")
    ledger = await Ledger.open(root, tmp_path / "state", "s1")
    await ledger.checkpoint(EDIT)
    await ledger._refs.settle()
    started: list[str] = []
    complete = Git.complete

    async def counted(self: Git, *arguments: str, **options: object) -> object:
        started.append(arguments[0])
        return await complete(self, *arguments, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(Git, "complete", counted)
    await ledger._snapshots.take()
    put(root, {"a.txt": "changed\n"})
    await ledger._snapshots.take()
    assert started == []
    put(root, {"new.txt": "new\n"})
    await ledger._snapshots.take()
    assert started == ["check-ignore"]
    await ledger.close()


async def test_a_full_disk_leaves_no_half_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:  # R21
    root = make(tmp_path / "w")
    ledger = await Ledger.open(root, tmp_path / "state", "s1")
    write = os.write

    def full(fd: int, data: bytes) -> int:
        write(fd, data[:10])
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as broken:
        broken.setattr(os, "write", full)
        with pytest.raises(WorkspaceError, match="No space"):
            await ledger.checkpoint(EDIT)
    made = await ledger.checkpoint(EDIT)
    await ledger.close()
    again = await Ledger.open(root, tmp_path / "state", "s1")
    assert again.timeline() == [made]
    await again.close()


async def test_an_object_that_cannot_be_stored_is_stored_later(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = make(tmp_path / "w")
    ledger = await Ledger.open(root, tmp_path / "state", "s1")
    put(root, {"fresh.txt": "fresh\n", "a.txt": "a\n"})
    with monkeypatch.context() as broken:
        broken.setattr(
            "tcoder.workspace.git.objects.zlib.compress", lambda *_: (_ for _ in ()).throw(OSError(28, "full"))
        )
        with pytest.raises(WorkspaceError, match="full"):
            await ledger.checkpoint(EDIT)
    recorded = await ledger.record(SHELL)
    assert recorded is not None
    assert [file.path for file in recorded[0].files] == ["a.txt", "fresh.txt"]
    git(root, "fsck", "--strict")
    await ledger.close()


async def test_old_sessions_are_pruned_by_the_rule_and_never_while_one_is_open(tmp_path: Path) -> None:
    root, state = make(tmp_path / "w"), tmp_path / "state"
    for name in ("old", "older", "young"):
        ledger = await Ledger.open(root, state, name)
        await ledger.checkpoint(EDIT)
        await ledger.close()
    for name, days in (("old", 31), ("older", 90)):
        log = next(state.rglob(f"{name}.jsonl"))
        past = log.stat().st_mtime - days * 86400
        os.utime(log, (past, past))
    rule = ledger_prune.Rule(days=30)
    held = await Ledger.open(root, state, "young")
    assert await ledger_prune.prune(root, state, rule) == ()
    await held.close()
    assert await ledger_prune.prune(root, state, rule) == ("old", "older")
    assert git(root, "for-each-ref", "--format=%(refname)", "refs/tcoder").split() == ["refs/tcoder/young/c1"]
    assert [log.stem for log in state.rglob("*.jsonl")] == ["young"]
    assert await ledger_prune.prune(root, state, ledger_prune.Rule(days=30, sessions=0)) == ("young",)


NAMES = st.sampled_from(["a", "b", "d/a", "d/e/c", "d", "x y", "a.txt"])
STEP = st.one_of(
    st.tuples(st.just("write"), NAMES, st.binary(max_size=8)),
    st.tuples(st.just("remove"), NAMES, st.just(b"")),
    st.tuples(st.just("mode"), NAMES, st.just(b"")),
)


def play(root: Path, steps: list[tuple[str, str, bytes]]) -> None:
    for action, name, data in steps:
        place = root / name
        if action == "write" and not place.is_dir() and not any(above.is_file() for above in place.parents):
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(data)
        elif action == "remove" and place.is_file():
            place.unlink()
        elif action == "mode" and place.is_file():
            place.chmod(0o644 if place.stat().st_mode & 0o100 else 0o755)


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.lists(STEP, min_size=1, max_size=4), min_size=1, max_size=4))
def test_the_ledger_folds_to_the_work_tree(tmp_path_factory: pytest.TempPathFactory, rounds: list) -> None:
    """Each patch's tree is the work tree after it, each begins where the last ended, and undoing all of them in
    reverse leads back to the start."""

    async def check() -> None:
        base = tmp_path_factory.mktemp("fold")
        root = make(base / "w")
        ledger = await Ledger.open(root, base / "state", "s")
        states = [tree(root)]
        for steps in rounds:
            play(root, steps)
            if await ledger.record(EDIT):
                states.append(tree(root))
        patches = ledger.patches
        assert len(patches) == len(states) - 1
        for one, following in pairwise(patches):
            assert one.after == following.before
        git(root, "add", "-A", "-f")
        if patches:
            assert git(root, "write-tree").strip() == patches[-1].after
        for one, state in zip(reversed(patches), reversed(states[:-1]), strict=True):
            await ledger.undo(one.id)
            assert tree(root) == state
        await ledger.close()

    asyncio.run(check())


async def test_the_users_git_is_not_touched(tmp_path: Path) -> None:
    root = make(tmp_path / "w")
    put(root, {"a.txt": numbered(12, _2="staged")})
    git(root, "add", "a.txt")
    put(root, {"a.txt": numbered(12, _2="staged", _9="not"), "untracked": "u\n"})
    git(root, "stash", "push", "-q", "--include-untracked")
    git(root, "stash", "apply", "-q", "--index")
    before = everything(root)
    ledger = await Ledger.open(root, tmp_path / "state", "s1")
    await ledger.checkpoint(EDIT)
    await patch(ledger, {"a.txt": numbered(12, _2="staged", _5="agent", _9="not"), "sub/b.py": "2\n", "n": "n\n"})
    await ledger.undo()
    await ledger.close()
    assert everything(root)[:3] == before[:3]
    assert everything(root)[4:] == before[4:]
    assert isinstance(ledger.timeline()[0], Checkpoint)
