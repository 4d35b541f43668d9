"""Review and commit from the command line: only what was accepted is committed, what is rejected is taken back."""

from typing import Any

import pytest
from support.desk import FIX, Desk, git

COMMENT = {"name": "edit", "arguments": {"path": "test_calc.py", "old": "def test_add():", "new": "def test_adding():"}}


@pytest.fixture
def changed(desk: Desk, serve: Any) -> Desk:
    """Two files changed by the agent, one by the person meanwhile, something staged by the person."""
    (desk.root / "mine.txt").write_text("staged\n")
    git(desk.root, "add", "mine.txt")
    server = serve({"calls": [FIX, COMMENT]}, {"text": "The sign in add was wrong."})
    ended = desk.ask(server, "fix the sign in add", "--no-tests")
    assert ended.code == 0, ended.err
    return desk


def hunks(desk: Desk) -> dict[str, list[str]]:
    files = desk.run("review", "--json").result["files"]
    return {file["path"]: [hunk["id"] for hunk in file["hunks"]] for file in files}


def test_only_what_was_accepted_is_committed(changed: Desk) -> None:
    found = hunks(changed)
    assert set(found) >= {"calc.py", "test_calc.py"}
    assert changed.run("review", "accept", *found["calc.py"]).code == 0
    done = changed.run("commit", "-m", "Add, do not subtract")
    assert done.code == 0, done.err
    assert (
        git(changed.root, "show", "--stat", "--format=%s|%an", "HEAD").split("\n")[0] == "Add, do not subtract|A Person"
    )
    assert git(changed.root, "show", "--name-only", "--format=", "HEAD").split() == ["calc.py"]
    assert git(changed.root, "diff", "--cached", "--name-only").split() == ["mine.txt"]
    assert git(changed.root, "diff", "--name-only").split() == ["test_calc.py"]


def test_what_is_rejected_is_taken_back_and_can_be_had_again(changed: Desk) -> None:
    found = hunks(changed)
    changed.run("review", "reject", *found["test_calc.py"], "--message", "keep the name")
    assert "def test_add()" in (changed.root / "test_calc.py").read_text()
    assert "a + b" in (changed.root / "calc.py").read_text()
    changed.run("undo")
    assert "def test_adding()" in (changed.root / "test_calc.py").read_text()


def test_the_model_is_told_of_a_rejection(changed: Desk, serve: Any) -> None:
    changed.run("review", "reject", *hunks(changed)["test_calc.py"], "--message", "keep the name")
    server = serve({"text": "I see."})
    changed.ask(server, "and now?", "-c")
    assert "keep the name" in str(server.requests[0].body["messages"])


def test_nothing_accepted_is_said_with_what_to_do(changed: Desk) -> None:
    ended = changed.run("commit", "-m", "x")
    assert ended.code == 2 and "nothing is accepted" in ended.err
    assert "tcoder review --accept ID" in ended.err and "tcoder commit --all" in ended.err


def test_hunks_are_accepted_and_rejected_by_flags(changed: Desk) -> None:
    found = hunks(changed)
    ended = changed.run("review", "--reject", *found["test_calc.py"], "--accept", "--all", "-m", "keep the name")
    assert ended.code == 0, ended.err
    assert "def test_add()" in (changed.root / "test_calc.py").read_text()
    assert changed.run("commit", "-m", "Add, do not subtract").code == 0
    assert "calc.py" in git(changed.root, "show", "--name-only", "--format=", "HEAD").split()


def test_commit_all_takes_what_the_agent_changed_and_leaves_mine(changed: Desk) -> None:
    (changed.root / "later.txt").write_text("mine\n")
    ended = changed.run("commit", "--all", "-m", "Add, do not subtract")
    assert ended.code == 0, ended.err
    assert git(changed.root, "show", "--name-only", "--format=", "HEAD").split() == ["calc.py", "test_calc.py"]
    assert git(changed.root, "status", "--porcelain").split() == ["A", "mine.txt", "??", "later.txt"]
    again = changed.run("commit", "--all", "-m", "x")
    assert again.code == 2


def test_a_session_that_changed_nothing_has_nothing_to_commit(desk: Desk, serve: Any) -> None:
    desk.ask(serve({"text": "A calculator."}), "what is here?")
    for arguments in ((), ("--all",)):
        ended = desk.run("commit", "-m", "x", *arguments)
        assert ended.code == 2 and "nothing to commit" in ended.err and "review" not in ended.err


@pytest.mark.parametrize("arguments", [("--all",), ("--accept",), ("--reject",), ("accept",), ("approve", "x")])
def test_a_review_that_is_not_clear_does_nothing(changed: Desk, arguments: tuple[str, ...]) -> None:
    ended = changed.run("review", *arguments)
    assert ended.code == 2 and "--accept ID" in ended.err


def test_a_hook_that_refuses_is_reported_and_changes_nothing(changed: Desk) -> None:
    hook = changed.root / ".git" / "hooks" / "pre-commit"
    hook.write_text("#!/bin/sh\necho no commits today\nexit 1\n")
    hook.chmod(0o755)
    before = git(changed.root, "rev-parse", "HEAD")
    changed.run("review", "accept", "all")
    ended = changed.run("commit", "-m", "x", "--trust")
    assert ended.code == 3 and "no commits today" in ended.err
    assert git(changed.root, "rev-parse", "HEAD") == before


def test_hooks_run_only_once_the_folder_is_trusted(changed: Desk) -> None:
    ran = changed.root.parent / "ran"
    hook = changed.root / ".git" / "hooks" / "pre-commit"
    hook.write_text(f"#!/bin/sh\necho ran >> '{ran}'\n")
    hook.chmod(0o755)
    before = git(changed.root, "rev-parse", "HEAD")
    found = hunks(changed)
    changed.run("review", "accept", *found["calc.py"])
    ended = changed.run("commit", "-m", "x")
    assert ended.code == 2 and "pre-commit" in ended.err and "--trust" in ended.err and "--no-hooks" in ended.err
    assert git(changed.root, "rev-parse", "HEAD") == before
    assert changed.run("commit", "-m", "x", "--no-hooks").code == 0
    assert not ran.exists()
    changed.run("review", "accept", *found["test_calc.py"])
    assert changed.run("commit", "-m", "y", "--trust").code == 0
    assert ran.read_text() == "ran\n"
    (changed.root / "calc.py").write_text("# mine\n" + (changed.root / "calc.py").read_text())
    changed.run("review", "accept", *hunks(changed)["calc.py"])
    assert changed.run("commit", "-m", "z").code == 0  # trust is kept
    assert ran.read_text() == "ran\nran\n"


def test_a_message_is_drafted_from_the_task(changed: Desk) -> None:
    changed.run("review", "accept", "all")
    assert changed.run("commit").code == 0
    assert git(changed.root, "log", "-1", "--format=%B").startswith("fix the sign in add\n\nThe sign in add was wrong.")


def test_a_fork_takes_back_what_its_parent_did(changed: Desk, serve: Any) -> None:
    known = [entry["id"] for entry in changed.run("timeline", "--json").result if entry["kind"] == "patch"]
    forked = changed.ask(serve({"text": "Nothing to do."}), "and now?", "-c", "--fork", "--json")
    assert forked.code == 0, forked.err
    session = forked.result["session_id"]
    assert changed.run("undo", known[-2], "-r", session).code == 0
    assert "a - b" in (changed.root / "calc.py").read_text()
    entries = changed.run("timeline", "-r", session, "--json").result
    assert [entry["undone"] for entry in entries if entry["id"] == known[-2]] == [True]
    assert len({entry["id"] for entry in entries}) == len(entries)
    refs = git(changed.root, "for-each-ref", "--format=%(refname)", f"refs/tcoder/{session}").split()
    assert f"refs/tcoder/{session}/{known[-2]}" in refs
