"""Repositories in every state that people have them in: an edit and its undo leave work tree and index as they were."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from support.repository import everything, git, identify, make, numbered, put, tree

from tcoder.protocol.edits import Cause
from tcoder.protocol.errors import GitError, WorkspaceError
from tcoder.workspace.git.repository import describe, find_root, git_dir_of, head_of
from tcoder.workspace.ledger.ledger import ConflictError, Ledger
from tcoder.workspace.review import commit as commits
from tcoder.workspace.review import load as review_load
from tcoder.workspace.review import model as review

EDIT, SHELL, USER = Cause("edit", "edit"), Cause("shell", "command"), Cause("user", "meanwhile")


def dirty(root: Path) -> None:
    put(root, {"a.txt": numbered(12, _2="staged")})
    git(root, "add", "a.txt")
    put(root, {"a.txt": numbered(12, _2="staged", _9="unstaged"), "untracked/u": "u\n", "intent": "i\n"})
    git(root, "add", "-N", "intent")


def hidden(root: Path) -> None:
    git(root, "update-index", "--assume-unchanged", "a.txt")
    git(root, "update-index", "--skip-worktree", "sub/b.py")
    put(root, {"a.txt": "assumed\n", "sub/b.py": "skipped = 1\n"})


def sparse(root: Path) -> None:
    put(root, {"left/out.txt": "o\n"})
    git(root, "add", "-A")
    git(root, "commit", "-qm", "more")
    git(root, "sparse-checkout", "set", "sub")


def detached(root: Path) -> None:
    git(root, "checkout", "-q", "--detach")


def split_index(root: Path) -> None:
    git(root, "update-index", "--split-index")
    put(root, {"a.txt": "split\n"})
    git(root, "add", "a.txt")


def other_index(root: Path) -> None:
    git(root, "update-index", "--index-version", "4")
    git(root, "config", "core.untrackedCache", "true")
    git(root, "config", "core.fsmonitor", "true")


def conflicted(root: Path, command: str = "merge") -> None:
    git(root, "checkout", "-q", "-b", "theirs")
    put(root, {"a.txt": numbered(12, _2="theirs")})
    git(root, "commit", "-qam", "theirs")
    git(root, "checkout", "-q", "main")
    put(root, {"a.txt": numbered(12, _2="ours")})
    git(root, "commit", "-qam", "ours")
    git(root, command, "theirs", check=False)
    assert "<<<<<<<" in (root / "a.txt").read_text()


def rebasing(root: Path) -> None:
    conflicted(root, "rebase")


def picking(root: Path) -> None:
    conflicted(root, "cherry-pick")


def bisecting(root: Path) -> None:
    for number in range(4):
        put(root, {"c.txt": f"{number}\n"})
        git(root, "add", "-A")
        git(root, "commit", "-qm", f"{number}")
    git(root, "bisect", "start", "HEAD", "HEAD~3")


def locked(root: Path) -> None:
    (root / ".git" / "index.lock").write_text("")


def crlf(root: Path) -> None:
    put(root, {".gitattributes": "* text=auto\n", "win.txt": b"one\r\ntwo\r\n"})
    git(root, "add", "-A")
    git(root, "commit", "-qm", "crlf")
    assert git(root, "show", "HEAD:win.txt") == "one\ntwo\n"
    assert (root / "win.txt").read_bytes() == b"one\r\ntwo\r\n"


def autocrlf(root: Path) -> None:
    git(root, "config", "core.autocrlf", "true")
    put(root, {"win.txt": b"one\r\ntwo\r\n"})
    git(root, "add", "-A")
    git(root, "commit", "-qm", "crlf")


def lfs(root: Path) -> None:
    """What git-lfs does, without it: the index holds a pointer, the work tree the content."""
    pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n"
    git(root, "config", "filter.lfs.clean", f"printf '{pointer}'")
    git(root, "config", "filter.lfs.smudge", "cat")
    git(root, "config", "filter.lfs.required", "true")
    put(root, {".gitattributes": "*.bin filter=lfs\n", "model.bin": b"\0content\0"})
    git(root, "add", "-A")
    git(root, "commit", "-qm", "lfs")
    assert git(root, "show", "HEAD:model.bin") == pointer


def names(root: Path) -> None:  # R45
    put(root, {name: f"{name}\n" for name in (
        "with space", 'quo"te', "new\nline", "-dash", "--output=pwn", "~", "u\u0308", "\u00fc", "CON", "case", "CASE",
        ":(top)x", "*.c", "[a]", "\\back", "n" * 250,
    )})  # fmt: skip
    Path(os.fsdecode(os.fsencode(root) + b"/caf\xe9")).write_text("latin\n")


def plain(root: Path) -> None:
    put(root, {"untracked": "u\n"})


STATES: list[Callable[[Path], None]] = [
    plain, dirty, hidden, sparse, detached, split_index, other_index, conflicted, rebasing, picking, bisecting, locked,
    crlf, autocrlf, lfs, names,
]  # fmt: skip


def change_everything(root: Path) -> None:
    """Edit each file, remove some, add some."""
    for number, (name, (mode, data)) in enumerate(sorted(tree(root).items())):
        place = root / name
        if mode & 0o170000 == 0o120000 or name == ".gitattributes":
            continue
        if number % 3 == 2:
            place.unlink()
        else:
            place.write_bytes(data + b"agent\n" if number % 2 else b"agent\r\n" + data)
    put(root, {"made/by/agent": "x\n"})


@pytest.mark.parametrize("state", STATES)
async def test_edit_and_undo_leave_everything_as_it_was(tmp_path: Path, state: Callable[[Path], None]) -> None:
    root = make(tmp_path / "w")
    state(root)
    before = everything(root)
    ledger = await Ledger.open(root, tmp_path / "state", "s1")
    start = await ledger.checkpoint(Cause("checkpoint", "start"))
    assert start.uncovered == ()
    change_everything(root)
    recorded = await ledger.record(SHELL)
    assert recorded is not None
    assert len(recorded[0].files) >= 3
    assert tree(root) != before[0]
    await ledger.undo()
    await ledger.close()
    after = everything(root)
    for was, now in zip(before, after, strict=True):
        if was is not before[3] or state is not plain:
            assert _untimed(now) == _untimed(was)
    git(root, "fsck", "--strict")


def _untimed(value: object) -> object:
    """`ls-files --debug` without stat values, which the index keeps of files that were put back."""
    if isinstance(value, str) and "  ctime: " in value:
        return [line for line in value.split("\n") if not line.startswith("  ")]
    return value


@pytest.mark.parametrize("state", STATES)
async def test_describe(tmp_path: Path, state: Callable[[Path], None]) -> None:
    root = make(tmp_path / "w")
    state(root)
    info = await describe(root)
    assert info.is_git
    assert not info.problem
    assert info.detached == (state in (detached, rebasing, bisecting))
    words = {conflicted: "merge", rebasing: "rebase", picking: "cherry-pick", bisecting: "bisect"}
    assert info.in_progress == words.get(state, "")
    assert info.conflicted == (1 if state in (conflicted, rebasing, picking) else 0)
    if state is dirty:
        assert (info.staged, info.unstaged, info.untracked) == (1, 2, 1)
    assert info.commit == git(root, "rev-parse", "HEAD").strip() == head_of(root / ".git")


async def round_trip(root: Path, state: Path, session: str = "s1") -> Ledger:
    """Change, record, undo; gives the ledger, open."""
    ledger = await Ledger.open(root, state, session)
    before = tree(root)
    change_everything(root)
    assert await ledger.record(SHELL)
    await ledger.undo()
    assert tree(root) == before
    return ledger


async def test_an_unborn_branch_without_a_user_name(tmp_path: Path) -> None:  # R40
    root = tmp_path / "w"
    root.mkdir()
    git(root, "init", "-q", "-b", "main")
    put(root, {"a.txt": "a\n", "b": "b\n", "c": "c\n"})
    await (await round_trip(root, tmp_path / "state")).close()
    info = await describe(root)
    assert info.unborn
    assert info.branch == "main"
    assert git(root, "for-each-ref", "refs/heads") == ""


async def test_an_empty_repository(tmp_path: Path) -> None:
    root = make(tmp_path / "w", {}, commit=False)
    ledger = await Ledger.open(root, tmp_path / "state", "s1")
    assert await ledger.record(USER) is None
    put(root, {"a": "a\n"})
    assert await ledger.record(EDIT)
    await ledger.undo()
    assert tree(root) == {}
    await ledger.close()


async def test_a_sha256_repository(tmp_path: Path) -> None:  # R42
    root = make(tmp_path / "w", None, "--object-format=sha256")
    ledger = await round_trip(root, tmp_path / "state")
    assert len(ledger.patches[0].after) == 64
    await ledger.close()
    git(root, "fsck", "--strict")


async def test_a_shallow_clone_with_alternates(tmp_path: Path) -> None:
    source = make(tmp_path / "source")
    put(source, {"c": "c\n"})
    git(source, "add", "-A")
    git(source, "commit", "-qm", "two")
    git(tmp_path, "clone", "-q", "--depth=1", f"file://{source}", "shallow")
    git(tmp_path, "clone", "-q", "--shared", str(source), "shared")
    for name in ("shallow", "shared"):
        root = tmp_path / name
        identify(root)
        await (await round_trip(root, tmp_path / "state", name)).close()
        git(root, "fsck", "--strict")


async def test_a_linked_work_tree(tmp_path: Path) -> None:
    main = make(tmp_path / "main")
    git(main, "worktree", "add", "-q", "../linked")
    root = tmp_path / "linked"
    assert find_root(root / "sub") == root
    assert (await describe(root)).linked
    await (await round_trip(root, tmp_path / "state")).close()
    assert "refs/tcoder/s1/p1" in git(main, "for-each-ref")
    assert git(main, "status", "--porcelain") == ""


async def test_submodules_and_nested_repositories(tmp_path: Path) -> None:
    module = make(tmp_path / "module", {"m.txt": "m\n"})
    root = make(tmp_path / "w")
    git(root, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(module), "mod")
    git(root, "commit", "-qm", "submodule")
    make(root / "nested", {"n.txt": "n\n"}, commit=False)
    ledger = await Ledger.open(root, tmp_path / "state", "s1")
    start = await ledger.checkpoint(EDIT)
    assert any("mod" in notice for notice in start.uncovered)
    assert any("nested" in notice for notice in start.uncovered)
    before = tree(root)
    put(root, {"nested/n.txt": "agent\n", "a.txt": "agent\n"})
    recorded = await ledger.record(SHELL)
    assert recorded is not None
    assert [file.path for file in recorded[0].files] == ["a.txt", "nested/n.txt"]
    await ledger.undo()
    assert tree(root) == before
    inner = root / "mod"
    identify(inner)
    put(inner, {"m.txt": "new\n"})
    git(inner, "commit", "-qam", "inside")
    recorded = await ledger.record(SHELL)
    assert recorded is not None
    assert [file.path for file in recorded[0].files] == ["mod", "mod/m.txt"]
    assert git_dir_of(inner) == (root / ".git" / "modules" / "mod").resolve()
    await ledger.close()
    await (await round_trip(inner, tmp_path / "state", "inside")).close()


@pytest.fixture
def with_module(tmp_path: Path) -> Path:
    """A repository with a submodule `lib/mod` that ignores its logs."""
    files = {"m.txt": numbered(12), ".gitignore": "*.log\n", "kept.log": "tracked\n"}
    module = make(tmp_path / "module", files)
    git(module, "add", "-f", "kept.log")
    git(module, "commit", "-q", "-m", "log")
    root = make(tmp_path / "w")
    git(root, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(module), "lib/mod")
    git(root, "commit", "-qm", "submodule")
    identify(root / "lib" / "mod")
    return root


async def test_files_in_a_submodule_are_covered_like_others(with_module: Path, tmp_path: Path) -> None:  # R42
    root, inner = with_module, with_module / "lib" / "mod"
    put(inner, {"own.txt": "untracked\n", "x.log": "ignored\n"})
    status = git(inner, "status", "--porcelain"), git(root, "status", "--porcelain")
    ledger = await Ledger.open(root, tmp_path / "state", "s1")
    before = tree(root)
    start = await ledger.checkpoint(EDIT)
    assert await ledger.record(USER) is None
    put(inner, {"m.txt": numbered(12, _2="agent"), "kept.log": "agent\n", "x.log": "agent\n", "new/f.txt": "f\n"})
    (inner / "own.txt").unlink()
    recorded = await ledger.record(SHELL)
    assert recorded is not None
    paths = ["lib/mod/kept.log", "lib/mod/m.txt", "lib/mod/new/f.txt", "lib/mod/own.txt"]
    assert [file.path for file in recorded[0].files] == paths
    assert "+++ b/lib/mod/m.txt\n" in recorded[1]
    await ledger.close()
    ledger = await Ledger.open(root, tmp_path / "state", "s1")
    put(inner, {"m.txt": numbered(12, _2="agent", _10="user")})
    await ledger.undo()
    assert (inner / "m.txt").read_text() == numbered(12, _10="user")
    assert (inner / "own.txt").read_text() == "untracked\n"
    assert (inner / "x.log").read_text() == "agent\n"
    put(inner, {"m.txt": numbered(12), "x.log": "ignored\n"})
    assert tree(root) == before
    assert (git(inner, "status", "--porcelain"), git(root, "status", "--porcelain")) == status
    assert await ledger.record(USER)
    (inner / "m.txt").unlink()
    (inner / ".git").rename(tmp_path / "pointer")
    assert await ledger.record(SHELL)
    await ledger.rollback(start.id)
    assert (inner / "m.txt").read_text() == numbered(12)
    await ledger.close()
    git(root, "fsck", "--strict")


async def test_a_submodule_that_goes_away_and_a_big_one(
    with_module: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root, inner = with_module, with_module / "lib" / "mod"
    ledger = await Ledger.open(root, tmp_path / "state", "s1")
    shutil.rmtree(inner)
    put(root, {"lib/mod": "a file now\n"})
    recorded = await ledger.record(SHELL)
    assert recorded is not None
    assert ("lib/mod", "mode") in [(file.path, file.change) for file in recorded[0].files]
    await ledger.undo()
    assert (inner / "m.txt").read_text() == numbered(12)
    await ledger.close()

    monkeypatch.setattr("tcoder.workspace.ledger.snapshot.MAX_SUBMODULE_FILES", 2)
    git(root, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(tmp_path / "module"), "big")
    ledger = await Ledger.open(root, tmp_path / "state", "s2")
    assert any("submodule big" in notice and "own edits" in notice for notice in ledger.uncovered)
    put(root, {"big/m.txt": "by a command\n"})
    assert await ledger.record(SHELL) is None
    await ledger.cover(["big/m.txt", "big/new.txt"])
    put(root, {"big/m.txt": "agent\n", "big/new.txt": "agent\n"})
    recorded = await ledger.record(EDIT)
    assert recorded is not None
    assert [file.path for file in recorded[0].files] == ["big/m.txt", "big/new.txt"]
    await ledger.undo()
    assert (root / "big" / "m.txt").read_text() == "by a command\n"
    assert not (root / "big" / "new.txt").exists()
    await ledger.close()


async def test_what_lies_in_a_submodule_is_reviewed_but_committed_there(with_module: Path, tmp_path: Path) -> None:
    root = with_module
    ledger = await Ledger.open(root, tmp_path / "state", "s1")
    await ledger.checkpoint(EDIT)
    put(root, {"lib/mod/m.txt": numbered(12, _2="agent")})
    assert await ledger.record(EDIT)
    found = await review_load.load(ledger)
    assert [file.path for file in found.files] == ["lib/mod/m.txt"]
    with pytest.raises(WorkspaceError, match="lies in the submodule lib/mod"):
        await commits.commit(ledger, review.accept(found, [hunk.id for hunk in found.hunks]), "m")
    put(root, {"a.txt": numbered(12, _2="agent")})
    assert await ledger.record(EDIT)
    found = await review_load.load(ledger)
    made = await commits.commit(ledger, review.accept(found, [hunk.id for hunk in found.hunks]), "m")
    assert made.files == ("a.txt",)
    assert made.notices == ("lib/mod/m.txt lies in the submodule lib/mod: commit it there",)
    rest = await review_load.load(ledger, base=made.base)
    rejected = review.reject(rest, [hunk.id for hunk in rest.hunks], "no")
    assert await review_load.settle(ledger, rejected)
    assert (root / "lib" / "mod" / "m.txt").read_text() == numbered(12)
    await ledger.close()


async def test_outside_git_and_a_bare_repository(tmp_path: Path) -> None:
    root = tmp_path / "w"
    put(root, {"a": "a\n", ".gitignore": "*.o\n", "x.o": "o\n", "b": "b\n", "c": "c\n"})
    assert find_root(root) == root
    info = await describe(root)
    assert not info.is_git
    ledger = await Ledger.open(root, tmp_path / "state", "s1")
    put(root, {"x.o": "ignored\n"})
    assert await ledger.record(SHELL) is None
    await ledger.close()
    assert sorted(os.listdir(root)) == [".gitignore", "a", "b", "c", "x.o"]
    bare = tmp_path / "bare.git"
    bare.mkdir()
    git(bare, "init", "-q", "--bare")
    assert (await describe(bare)).bare


@pytest.mark.parametrize(
    "broken", ["empty folder", "garbage file", "garbage config", "dangling pointer", "garbage index"]
)
async def test_a_git_folder_that_cannot_be_used(tmp_path: Path, broken: str) -> None:
    root = make(tmp_path / "w")
    match broken:
        case "garbage config":
            (root / ".git" / "config").write_text("[core\n")
        case "garbage index":
            (root / ".git" / "index").write_bytes(b"DIRC garbage")
        case _:
            (root / ".git").rename(tmp_path / "gone")
            if broken == "empty folder":
                (root / ".git").mkdir()
            else:
                (root / ".git").write_text("gitdir: /nowhere" if broken == "dangling pointer" else "\0garbage")
    info = await describe(root)
    assert info.problem
    ledger = await round_trip(root, tmp_path / "state")
    await ledger.close()


async def test_an_extension_that_git_does_not_know(tmp_path: Path) -> None:  # R42
    """As a repository with reftable is for an older git: the ledger keeps to its own store."""
    root = make(tmp_path / "w")
    git(root, "config", "core.repositoryFormatVersion", "1")
    git(root, "config", "extensions.ofTomorrow", "true")
    assert "oftomorrow" in (await describe(root)).problem
    before = tree(root)
    ledger = await round_trip(root, tmp_path / "state")
    assert ledger.git.git_dir != root / ".git"
    await ledger.close()
    assert tree(root) == before


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a repository to somebody else")
async def test_a_repository_of_somebody_else(tmp_path: Path) -> None:  # R40
    """Looking and taking back work; a commit is refused in one sentence, since git refuses to make it."""
    root = make(tmp_path / "w")
    for place in (root, *root.rglob("*")):
        os.chown(place, 1234, 1234)
    assert not (await describe(root)).problem
    ledger = await round_trip(root, tmp_path / "state")
    put(root, {"a.txt": "agent\n"})
    assert await ledger.record(EDIT)
    found = await review_load.load(ledger)
    with pytest.raises(GitError, match="dubious ownership") as caught:
        await commits.commit(ledger, review.accept(found, [hunk.id for hunk in found.hunks]), "m")
    assert "safe.directory" in caught.value.hint
    await ledger.close()


async def test_home_and_the_root_of_the_file_system_are_said_to_be_wide(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:  # R48
    monkeypatch.setenv("HOME", str(tmp_path))
    assert "home" in (await describe(tmp_path)).wide
    assert "home" in (await describe(tmp_path.parent)).wide
    assert (await describe(Path("/"))).wide
    assert (await describe(make(tmp_path / "w"))).wide == ""


async def test_undo_after_the_user_changed_branch_and_committed(tmp_path: Path) -> None:  # R49
    root = make(tmp_path / "w")
    ledger = await Ledger.open(root, tmp_path / "state", "s1")
    put(root, {"a.txt": numbered(12, _2="agent")})
    recorded = await ledger.record(EDIT)
    assert recorded is not None
    git(root, "commit", "-qam", "took it")
    git(root, "checkout", "-q", "-b", "other")
    put(root, {"a.txt": numbered(12, _2="agent", _11="user")})
    git(root, "commit", "-qam", "more")
    await ledger.undo()
    assert (root / "a.txt").read_text() == numbered(12, _11="user")
    assert git(root, "log", "--format=%s").split() == ["more", "took", "it", "start"]
    await ledger.redo()
    git(root, "checkout", "-q", "-f", "main~1")
    with pytest.raises((ConflictError, WorkspaceError)):
        await ledger.undo(recorded[0].id)
    assert (root / "a.txt").read_text() == numbered(12)
    await ledger.close()


async def test_two_writers_with_stale_reads(tmp_path: Path) -> None:  # R55
    from tcoder.protocol.edits import Replace
    from tcoder.workspace.files.files import WorkspaceFiles
    from tcoder.workspace.patching.engine import apply_edits

    root = make(tmp_path / "w")
    one, two = WorkspaceFiles(root), WorkspaceFiles(root)
    first, second = one.read("a.txt"), two.read("a.txt")
    one.commit_writes(apply_edits((Replace("a.txt", "3\n", "x\n"),), lambda _: first), {"a.txt": first.digest})
    with pytest.raises(WorkspaceError, match="meanwhile"):
        two.commit_writes(apply_edits((Replace("a.txt", "5\n", "y\n"),), lambda _: second), {"a.txt": second.digest})
    assert (root / "a.txt").read_text() == numbered(12, _3="x")
