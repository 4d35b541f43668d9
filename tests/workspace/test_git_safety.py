"""A hostile repository: nothing of it runs, whatever tcoder does with it; names are data."""

import os
import re
from pathlib import Path

import pytest
from support.repository import git, make, numbered, put

from tcoder.protocol.edits import Cause
from tcoder.protocol.errors import GitError, PatchError, WorkspaceError
from tcoder.workspace.files.files import WorkspaceFiles
from tcoder.workspace.git.door import Git, check_ref
from tcoder.workspace.git.repository import describe
from tcoder.workspace.ledger.ledger import Ledger
from tcoder.workspace.patching.engine import apply_edits
from tcoder.workspace.patching.formats import parse
from tcoder.workspace.review import commit
from tcoder.workspace.review import load as review_load
from tcoder.workspace.review import model as review

HOOKS = (
    "applypatch-msg", "pre-applypatch", "post-applypatch", "pre-commit", "prepare-commit-msg", "commit-msg",
    "post-commit", "pre-rebase", "post-checkout", "post-merge", "pre-push", "post-rewrite", "post-index-change",
    "reference-transaction", "fsmonitor-watchman", "pre-auto-gc",
)  # fmt: skip


@pytest.fixture
def hostile(tmp_path: Path) -> Path:
    """A repository whose settings, attributes and hooks all run `touch PWNED`."""
    root = make(tmp_path / "w", {"a.txt": numbered(12), "b.x=y": "b\n", "c.plain": "c\n"})
    pwned = tmp_path / "PWNED"
    run = f"touch '{pwned}'; cat"
    settings = {
        "core.fsmonitor": run, "core.pager": run, "core.editor": run, "core.sshCommand": run, "diff.external": run,
        "core.alternateRefsCommand": run, "gpg.program": run, "commit.gpgSign": "true", "log.showSignature": "true",
        "diff.evil.command": run, "diff.evil.textconv": run, "filter.evil.clean": run, "filter.evil.smudge": run,
        "filter.evil.process": run, "filter.evil.required": "true", "filter.e=v il.clean": run,
        "filter.e=v il.process": run, "filter.e=v il.required": "true", "credential.helper": f"!{run}",
        "core.hooksPath": str(tmp_path / "hooks"), "core.worktree": str(tmp_path), "merge.evil.driver": run,
        "alias.status": f"!{run}", "alias.diff-tree": f"!{run}", "uploadpack.packObjectsHook": run,
        "interactive.diffFilter": run, "core.attributesFile": str(tmp_path / "attributes"),
    }  # fmt: skip
    with (root / ".git" / "config").open("a") as file:
        for key, value in settings.items():
            section, _, rest = key.partition(".")
            name, _, variable = rest.rpartition(".")
            head = f'[{section} "{name}"]' if name else f"[{section}]"
            file.write(f'{head}\n\t{variable} = "{value}"\n'.replace("'", ""))
    attributes = "* filter=evil diff=evil merge=evil\n*.plain filter=e=v\n"
    (tmp_path / "attributes").write_text(attributes)
    (root / ".git" / "info" / "attributes").write_text(attributes)
    put(root, {".gitattributes": attributes})
    for folder in (root / ".git" / "hooks", tmp_path / "hooks"):
        folder.mkdir(exist_ok=True)
        for name in HOOKS:
            (folder / name).write_text(f"#!/bin/sh\ntouch '{pwned}'\n")
            (folder / name).chmod(0o755)
    return root


async def test_nothing_of_a_hostile_repository_runs(hostile: Path, tmp_path: Path) -> None:  # A34, A35
    pwned = tmp_path / "PWNED"
    info = await describe(hostile)
    assert info.is_git
    assert not pwned.exists(), "describe"
    ledger = await Ledger.open(hostile, tmp_path / "state", "s1")
    assert not pwned.exists(), "open"
    start = await ledger.checkpoint(Cause("checkpoint", "start"))
    put(hostile, {"a.txt": numbered(12, _2="agent"), "c.plain": "agent\n", "new": "n\n"})
    first = await ledger.record(Cause("edit", "edit"))
    assert first is not None
    assert "+agent" in first[1]
    put(hostile, {"a.txt": numbered(12, _2="agent", _9="user")})
    await ledger.undo()
    assert (hostile / "a.txt").read_text() == numbered(12, _9="user")
    await ledger.redo()
    await ledger.diff(start.id)
    await ledger._refs.settle()
    assert not pwned.exists(), "ledger"
    found = await review_load.load(ledger)
    found = review.accept(found, [hunk.id for hunk in found.hunks if hunk.origin == "agent"])
    made = await commit.commit(ledger, found, "message", trusted=False)
    assert made.commit, made.output
    await ledger.close()
    assert not pwned.exists(), "commit"


async def test_the_trap_is_sharp(hostile: Path, tmp_path: Path) -> None:
    """Plain git in the same repository does run things, so the test above can fail."""
    git(hostile, "config", "--unset", "core.worktree", check=False)
    put(hostile, {"a.txt": "changed\n"})
    git(hostile, "diff", check=False)
    assert (tmp_path / "PWNED").exists()


@pytest.mark.parametrize("name", ["--output=pwn", "-x", "--upload-pack=touch pwn", "a b", "a\nb", "", "\u3000", "a\0"])
def test_revisions_that_are_refused(name: str) -> None:  # A46
    with pytest.raises(GitError):
        check_ref(name)


async def test_files_and_branches_with_dangerous_names(tmp_path: Path) -> None:
    root = make(
        tmp_path / "w", {"--output=pwn": "1\n", "-x": "1\n", "$(touch pwn)": "1\n", ":(glob)*": "1\n", "a\nb": "1\n"}
    )
    git(root, "update-ref", "refs/heads/--output=pwn", "HEAD")
    git(root, "symbolic-ref", "HEAD", "refs/heads/--output=pwn")
    assert (await describe(root)).branch == "--output=pwn"
    ledger = await Ledger.open(root, tmp_path / "state", "--output=pwn/../x")
    for place in root.iterdir():
        if place.name != ".git":
            place.write_text("2\n")
    recorded = await ledger.record(Cause("shell", "--output=pwn"))
    assert recorded is not None
    found = await review_load.load(ledger)
    found = review.accept(found, [hunk.id for hunk in found.hunks])
    made = await commit.commit(ledger, found, "--output=pwn")
    assert len(made.files) == 5
    assert git(root, "status", "--porcelain") == ""
    await ledger.undo()
    assert all(place.read_text() == "1\n" for place in root.iterdir() if place.name != ".git")
    await ledger.close()
    assert not (root / "pwn").exists()
    assert re.fullmatch(
        r"refs/tcoder/[0-9a-f]{16}/p1", git(root, "for-each-ref", "--format=%(refname)", "refs/tcoder/").split()[1]
    )


PATCHES = {
    "outside": "--- a/../../x\n+++ b/../../x\n@@ -0,0 +1 @@\n+pwned\n",
    "outside, new": "--- /dev/null\n+++ b/../x\n@@ -0,0 +1 @@\n+pwned\n",
    "hook": "diff --git a/.git/hooks/pre-commit b/.git/hooks/pre-commit\nnew file mode 100755\n--- /dev/null\n"
    "+++ b/.git/hooks/pre-commit\n@@ -0,0 +1 @@\n+pwned\n",
    "rename to outside": "diff --git a/a.txt b/../x\nsimilarity index 100%\nrename from a.txt\nrename to ../x\n",
    "through a link": "*** Begin Patch\n*** Add File: link/x\n+pwned\n*** End Patch",
    "half good": "*** Begin Patch\n*** Add File: good\n+good\n*** Add File: ../x\n+pwned\n*** End Patch",
    "a link": "diff --git a/l b/l\nnew file mode 120000\n--- /dev/null\n+++ b/l\n@@ -0,0 +1 @@\n+..\n"
    "--- /dev/null\n+++ b/l/x\n@@ -0,0 +1 @@\n+pwned\n",
}  # fmt: skip


@pytest.mark.parametrize("name", PATCHES)  # A48
def test_patches_that_lead_outside_are_refused_whole(tmp_path: Path, name: str) -> None:
    root = tmp_path / "w"
    put(root, {"a.txt": "a\n", ".git/hooks/README": "r\n"})
    (root / "link").symlink_to("..")
    before = sorted(str(place) for place in tmp_path.rglob("*"))
    files = WorkspaceFiles(root)
    with pytest.raises((WorkspaceError, PatchError)):
        files.commit_writes(apply_edits(parse(PATCHES[name]), files.read_if_there), {})
    assert sorted(str(place) for place in tmp_path.rglob("*")) == before


async def test_git_that_does_not_answer_is_ended(tmp_path: Path) -> None:
    root = make(tmp_path / "w")
    os.mkfifo(root / ".git" / "fifo")
    with pytest.raises(GitError, match="longer than"):
        await Git(root).run("hash-object", ".git/fifo", timeout_s=0.2)


async def test_an_exit_code_is_never_overlooked(tmp_path: Path) -> None:
    root = make(tmp_path / "w")
    with pytest.raises(GitError, match="cat-file"):
        await Git(root).run("cat-file", "-e", "0" * 40)
    with pytest.raises(GitError, match="not a git repository"):
        await Git(tmp_path).run("rev-parse", "HEAD")
