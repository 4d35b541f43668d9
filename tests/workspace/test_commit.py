"""Committing what was accepted: exactly that, as the person's own git would, and their index as it was otherwise."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from support.repository import everything, git, make, numbered, put, tree

from tcoder.protocol.edits import Cause
from tcoder.protocol.errors import WorkspaceError
from tcoder.protocol.review import Committed, Review
from tcoder.workspace.git.door import Git
from tcoder.workspace.ledger.ledger import Ledger
from tcoder.workspace.review import commit as commits
from tcoder.workspace.review import load as review_load
from tcoder.workspace.review import model as review
from tcoder.workspace.review.programs import programs_of

AGENT = Cause("edit", "edit")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return make(
        tmp_path / "w", {"a.txt": numbered(40), "b.txt": "b\n", "move.txt": numbered(20), "mine.txt": numbered(20)}
    )


@pytest.fixture
async def ledger(root: Path, tmp_path: Path) -> AsyncIterator[Ledger]:
    opened = await Ledger.open(root, tmp_path / "state", "s1")
    await opened.checkpoint(Cause("checkpoint", "start"))
    yield opened
    await opened.close()


def hook(root: Path, name: str, script: str) -> None:
    place = root / ".git" / "hooks" / name
    place.parent.mkdir(exist_ok=True)
    place.write_text(f"#!/bin/sh\n{script}\n")
    place.chmod(0o755)


async def accepted(ledger: Ledger, *wanted: str) -> Review:
    """A review with the hunks accepted whose header or new lines hold one of these words; none = all of the agent's."""
    found = await review_load.load(ledger)
    ids = [
        hunk.id
        for hunk in found.hunks
        if hunk.origin == "agent" and (not wanted or any(word in hunk.header + str(hunk.new) for word in wanted))
    ]
    assert ids
    return review.accept(found, ids)


async def test_only_accepted_hunks_are_committed(ledger: Ledger, root: Path) -> None:
    put(root, {"a.txt": numbered(40, _3="good", _20="bad"), "new.txt": "new\n", "no.txt": "no\n"})
    (root / "b.txt").chmod(0o755)
    (root / "move.txt").rename(root / "moved.txt")
    assert await ledger.record(AGENT)
    before = tree(root)
    found = await accepted(ledger, "good", "new\\n", "mode", "rename")
    made = await commits.commit(ledger, found, "subject\n\nbody")
    assert made.exit_code == 0
    assert made.files == ("a.txt", "b.txt", "move.txt", "moved.txt", "new.txt")
    assert made.left_out == 2
    assert not made.notices
    assert tree(root) == before
    assert git(root, "show", "HEAD:a.txt") == numbered(40, _3="good")
    assert git(root, "log", "-1", "--format=%B%an").strip() == "subject\n\nbody\nA Person"
    assert git(root, "ls-tree", "-r", "HEAD", "--format=%(objectmode) %(path)").split("\n")[:-1] == [
        "100644 a.txt", "100755 b.txt", "100644 mine.txt", "100644 moved.txt", "100644 new.txt",
    ]  # fmt: skip
    assert git(root, "status", "--porcelain").split("\n")[:-1] == [" M a.txt", "?? no.txt"]
    assert not (root / ".git" / "index.lock").exists()
    rest = await review_load.load(ledger, base=made.base)
    assert [(file.path, hunk.new) for file in rest.files for hunk in file.hunks] == [
        ("a.txt", (b"bad\n",)), ("no.txt", (b"no\n",)),
    ]  # fmt: skip
    again = await commits.commit(ledger, review.accept(rest, [rest.hunks[0].id]), "second")
    assert again.commit
    assert git(root, "status", "--porcelain").split("\n")[:-1] == ["?? no.txt"]


async def test_what_the_user_had_staged_stays_staged(tmp_path: Path, root: Path) -> None:
    put(root, {"mine.txt": numbered(20, _2="staged"), "added.txt": "s\n"})
    git(root, "add", "mine.txt", "added.txt")
    put(root, {"mine.txt": numbered(20, _2="staged", _6="unstaged")})
    ledger = await Ledger.open(root, tmp_path / "state", "s2")
    await ledger.checkpoint(Cause("checkpoint", "start"))
    put(root, {"mine.txt": numbered(20, _2="staged", _6="unstaged", _15="agent"), "b.txt": "agent\n"})
    assert await ledger.record(AGENT)
    made = await commits.commit(ledger, await accepted(ledger), "agent's")
    assert made.commit, made.output
    assert git(root, "show", "HEAD:mine.txt") == numbered(20, _15="agent")
    assert git(root, "show", ":mine.txt") == numbered(20, _2="staged", _15="agent")
    assert (root / "mine.txt").read_text() == numbered(20, _2="staged", _6="unstaged", _15="agent")
    assert git(root, "status", "--porcelain").split("\n")[:-1] == ["A  added.txt", "MM mine.txt"]
    await ledger.close()


async def test_accepted_next_to_uncommitted_changes_is_refused_with_a_reason(tmp_path: Path, root: Path) -> None:
    put(root, {"mine.txt": numbered(20, _6="user"), "untracked": "u\nv\n"})
    ledger = await Ledger.open(root, tmp_path / "state", "s2")
    await ledger.checkpoint(Cause("checkpoint", "start"))
    put(root, {"mine.txt": numbered(20, _6="user", _7="agent"), "untracked": "u\nagent\n"})
    assert await ledger.record(AGENT)
    before = everything(root)
    for word, said in (("+7", "mine.txt"), ("+2,1", "untracked")):
        with pytest.raises(WorkspaceError, match=said):
            await commits.commit(ledger, await accepted(ledger, word), "m")
    assert everything(root) == before
    await ledger.close()


async def unchanged(ledger: Ledger, root: Path, **options: object) -> Committed:
    """Try to commit; there must be no commit and no change at all."""
    put(root, {"a.txt": numbered(40, _3="good"), "mine.txt": numbered(20, _2="staged")})
    git(root, "add", "mine.txt")
    put(root, {"mine.txt": numbered(20, _2="staged", _9="not")})
    assert await ledger.record(AGENT)
    found = await accepted(ledger, "good")
    before = everything(root)
    made = await commits.commit(ledger, found, "m", **options)  # type: ignore[arg-type]
    assert made.commit == ""
    assert everything(root) == before
    assert not (root / ".git" / "index.lock").exists()
    return made


async def test_a_hook_that_refuses_leaves_the_index_bit_for_bit(ledger: Ledger, root: Path) -> None:  # R46
    hook(root, "pre-commit", "git diff --cached --name-only; echo no way >&2; exit 3")
    made = await unchanged(ledger, root)
    assert made.exit_code != 0
    assert "no way" in made.output
    assert "a.txt" in made.output
    assert "mine.txt" not in made.output


async def test_an_unset_user_name_is_one_sentence(ledger: Ledger, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("user.name", "user.email"):
        git(root, "config", "--unset", name)
    git(root, "config", "user.useConfigOnly", "true")
    monkeypatch.setenv("HOME", str(root.parent))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(root.parent))
    made = await unchanged(ledger, root)
    assert "user.email" in made.output


async def test_signing_that_fails_fails_the_commit(ledger: Ledger, root: Path) -> None:
    git(root, "config", "commit.gpgSign", "true")
    git(root, "config", "gpg.program", "false")
    made = await unchanged(ledger, root)
    assert "sign" in made.output


async def test_a_hook_that_hangs_is_ended(ledger: Ledger, root: Path) -> None:
    hook(root, "pre-commit", "sleep 60")
    put(root, {"a.txt": numbered(40, _3="good")})
    assert await ledger.record(AGENT)
    found = await accepted(ledger)
    before = everything(root)
    with pytest.raises(WorkspaceError, match="longer than"):
        await commits.commit(ledger, found, "m", timeout_s=0.5)
    assert everything(root) == before
    assert not (root / ".git" / "index.lock").exists()


async def test_cancelling_leaves_the_index(ledger: Ledger, root: Path) -> None:
    hook(root, "pre-commit", f"touch '{root}/.git/began'; sleep 60")
    put(root, {"a.txt": numbered(40, _3="good")})
    assert await ledger.record(AGENT)
    found = await accepted(ledger)
    before = everything(root)
    task = asyncio.create_task(commits.commit(ledger, found, "m"))
    while not (root / ".git" / "began").exists():
        await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert everything(root) == before
    assert not (root / ".git" / "index.lock").exists()


async def test_a_hook_that_reformats_is_reported(ledger: Ledger, root: Path) -> None:  # R46
    hook(root, "pre-commit", "printf 'formatted\\n' > b.txt; git add b.txt; echo reformatted")
    put(root, {"a.txt": numbered(40, _3="good")})
    assert await ledger.record(AGENT)
    made = await commits.commit(ledger, await accepted(ledger), "m")
    assert made.notices == ("a hook changed what was committed: b.txt",)
    assert "reformatted" in made.output
    assert git(root, "show", "HEAD:b.txt") == "formatted\n"
    recorded = await ledger.record(Cause("user", "hook"))
    assert recorded is not None
    assert recorded[0].files[0].path == "b.txt"


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({}, ()),
        ({"core.fsmonitor": "true", "user.signingKey": "x"}, ()),
        ({"core.fsmonitor": "./watch"}, ("core.fsmonitor",)),
        ({"filter.x.clean": "./clean", "filter.x.smudge": "./smudge"}, ("filter.x.clean",)),
        ({"gpg.program": "./sign", "gpg.ssh.defaultKeyCommand": "./key"}, ("gpg.program", "gpg.ssh.defaultkeycommand")),
        ({"core.hooksPath": "own"}, ("commit-msg",)),
    ],
)
async def test_programs_that_a_repository_brings_along_are_named(
    root: Path, settings: dict[str, str], named: tuple[str, ...]
) -> None:  # A34
    put(root, {"own/commit-msg": "#!/bin/sh\n", "own/README": "not a hook\n"})
    (root / "own" / "commit-msg").chmod(0o755)
    for key, value in settings.items():
        git(root, "config", key, value)
    door = Git(root, git_dir=root / ".git")
    assert await programs_of(door, root / ".git") == named
    if named:
        with pytest.raises(WorkspaceError, match="is not trusted.*" + named[0]):
            await commits.refuse_programs(root)
    else:
        await commits.refuse_programs(root)


async def test_hooks_run_only_where_they_are_trusted(ledger: Ledger, root: Path) -> None:  # A35
    for name in ("pre-commit", "prepare-commit-msg", "commit-msg", "post-commit"):
        hook(root, name, f"echo {name} >> '{root}/.git/ran'")
    put(root, {"a.txt": numbered(40, _3="good")})
    assert await ledger.record(AGENT)
    made = await commits.commit(ledger, await accepted(ledger), "m", trusted=False)
    assert made.commit
    assert not (root / ".git" / "ran").exists()
    assert "m" in git(root, "reflog", "-1")
    put(root, {"a.txt": numbered(40, _3="better")})
    assert await ledger.record(AGENT)
    rest = await review_load.load(ledger, base=made.base)
    await commits.commit(ledger, review.accept(rest, [hunk.id for hunk in rest.hunks]), "n")
    assert (root / ".git" / "ran").read_text().split() == [
        "pre-commit",
        "prepare-commit-msg",
        "commit-msg",
        "post-commit",
    ]


async def test_line_endings_are_committed_as_git_add_would(tmp_path: Path) -> None:
    root = make(tmp_path / "w", {".gitattributes": "*.txt text eol=crlf\n", "w.txt": b"1\r\n2\r\n3\r\n"})
    ledger = await Ledger.open(root, tmp_path / "state", "s")
    await ledger.checkpoint(Cause("checkpoint", "start"))
    put(root, {"w.txt": b"1\r\nagent\r\n3\r\n", "n.txt": b"n\r\n"})
    assert await ledger.record(AGENT)
    assert (await commits.commit(ledger, await accepted(ledger), "m")).commit
    assert git(root, "show", "HEAD:w.txt") == "1\nagent\n3\n"
    assert git(root, "show", "HEAD:n.txt") == "n\n"
    assert git(root, "status", "--porcelain") == ""
    await ledger.close()


async def test_a_locked_index_is_waited_for_then_said(
    ledger: Ledger, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:  # R47
    monkeypatch.setattr(commits, "LOCK_WAIT_S", 0.2)
    put(root, {"a.txt": numbered(40, _3="good")})
    assert await ledger.record(AGENT)
    lock = root / ".git" / "index.lock"
    lock.write_text("somebody")
    before = everything(root)
    with pytest.raises(WorkspaceError, match="locked by another"):
        await commits.commit(ledger, await accepted(ledger), "m")
    assert lock.read_text() == "somebody"
    assert everything(root) == before
    lock.unlink()
    assert (await commits.commit(ledger, await accepted(ledger), "m")).commit


@pytest.mark.parametrize("how", ["merge", "nothing accepted", "no message", "stale", "not git"])
async def test_what_cannot_be_committed(ledger: Ledger, root: Path, how: str) -> None:  # R41
    put(root, {"a.txt": numbered(40, _3="good")})
    assert await ledger.record(AGENT)
    found = await accepted(ledger)
    if how == "nothing accepted":
        found = review.reopen(found, [hunk.id for hunk in found.hunks])
    if how == "stale":
        put(root, {"a.txt": numbered(40, _3="other")})
    if how == "merge":
        (root / ".git" / "MERGE_HEAD").write_text(git(root, "rev-parse", "HEAD"))
    if how == "not git":
        (root / ".git").rename(root.parent / "gone")
    with pytest.raises(WorkspaceError):
        await commits.commit(ledger, found, "" if how == "no message" else "m")
    if how == "not git":
        (root.parent / "gone").rename(root / ".git")


async def test_the_first_commit_of_a_repository(tmp_path: Path) -> None:
    root = make(tmp_path / "w", {}, commit=False)
    ledger = await Ledger.open(root, tmp_path / "state", "s")
    await ledger.checkpoint(Cause("checkpoint", "start"))
    put(root, {"a.txt": "a\n", "b.txt": "b\n"})
    assert await ledger.record(AGENT)
    made = await commits.commit(ledger, await accepted(ledger, "a\\n"), "first")
    assert made.commit, made.output
    assert git(root, "ls-tree", "--name-only", "HEAD").split() == ["a.txt"]
    assert git(root, "status", "--porcelain").split("\n")[:-1] == ["?? b.txt"]
    await ledger.close()


@pytest.mark.parametrize(
    ("files", "subject"),
    [
        ({"a.txt": "x\n"}, "Update a.txt"),
        ({"n.py": "x\n"}, "Add n.py"),
        ({"d/n.py": "x\n", "d/m.py": "x\n"}, "Add m.py and n.py"),
        ({f"d/{number}.py": "x\n" for number in range(5)}, "Add 5 files in d"),
    ],
)
async def test_a_message_by_rule(ledger: Ledger, root: Path, files: dict[str, str | bytes], subject: str) -> None:
    put(root, files)
    assert await ledger.record(AGENT)
    assert commits.draft_message(await accepted(ledger)) == subject
