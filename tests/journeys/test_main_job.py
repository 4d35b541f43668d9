"""The main job through the real command line: locate, read, edit, test, finish, and what is told of it."""

import json
from itertools import pairwise
from typing import Any

import pytest
from support.desk import FIX, Desk, git


def call(name: str, **arguments: Any) -> dict[str, Any]:
    return {"calls": [{"name": name, "arguments": arguments}]}


WORK = (
    call("search", pattern="def add"),
    call("read", path="calc.py"),
    {"calls": [FIX]},
    call("shell", command="python -c 'import calc; print(calc.add(2, 2))'"),
    {"text": "The sign in add was wrong."},
)


def test_a_failing_test_is_fixed_and_proven(desk: Desk, serve: Any) -> None:
    ended = desk.ask(serve(*WORK), "make the failing tests pass")
    assert ended.code == 0, ended.err
    assert ended.out == "The sign in add was wrong.\n"
    for step in ("search", "read", "edit", "run", "before: 1 failed", "final: 1 passed", "verified"):
        assert step in ended.err.replace("1 passed, 1 failed", "1 failed").replace("2 passed", "1 passed")
    assert "return a + b" in (desk.root / "calc.py").read_text()


def test_the_json_result_says_what_was_done(desk: Desk, serve: Any) -> None:
    ended = desk.ask(serve(*WORK), "make the failing tests pass", "--json")
    result = ended.result
    assert ended.code == result["exit_code"] == 0
    assert result["status"] == "done" and result["verified"] is True
    assert result["files_changed"] == [{"path": "calc.py", "change": "modified", "insertions": 1, "deletions": 1}]
    assert result["checks"]["before"]["failed"] == 1 and result["checks"]["after"]["failed"] == 0
    assert result["usage"]["calls"] == 5 and result["usage"]["cost"] is None
    assert result["task"] == "make the failing tests pass"
    assert "-    return a - b" in result["patches"][0]["diff"]


def test_stream_json_is_the_journal(desk: Desk, serve: Any) -> None:
    ended = desk.ask(serve(*WORK), "make the failing tests pass", "--output-format", "stream-json")
    lines = [json.loads(line) for line in ended.out.splitlines()]
    journal = next((desk.home / "state" / "projects").glob("*/*.jsonl")).read_text().splitlines()
    events = [line for line in lines if line["type"] != "result"]
    assert [json.loads(line) for line in journal][: len(events)] == events
    assert [line["seq"] for line in events] == list(range(1, len(events) + 1))
    assert lines[-1]["type"] == "result"


def test_each_request_begins_with_the_one_before(desk: Desk, serve: Any) -> None:
    server = serve(*WORK)
    desk.ask(server, "make the failing tests pass")
    bodies = [seen.raw for seen in server.requests]
    assert len(bodies) == 5
    for shorter, longer in pairwise(bodies):
        assert longer.startswith(shorter.removesuffix(b"]}"))
    assert len({seen.connection for seen in server.requests}) == 1


def test_the_first_prompt_is_small(desk: Desk, serve: Any) -> None:
    server = serve({"text": "Nothing to do."})
    desk.ask(server, "what is this?")
    assert len(server.requests[0].raw) <= 6 * 1024


def test_what_the_tests_say_comes_before_what_the_model_says(desk: Desk, serve: Any) -> None:
    wrong = {"name": "edit", "arguments": {"path": "calc.py", "old": "return a - b", "new": "return a * b"}}
    server = serve({"calls": [wrong]}, {"text": "All tests pass now!"})
    ended = desk.ask(server, "make the failing tests pass", "--json")
    assert ended.code == 3
    assert ended.result["status"] == "checks_fail" and ended.result["verified"] is False
    feedback = server.requests[2].body["messages"][-1]["content"]
    assert "test_add" in str(feedback)


def test_a_question_is_answered_without_a_change(desk: Desk, serve: Any) -> None:
    ended = desk.ask(serve({"text": "It adds."}), "what does add do?", "--json")
    assert ended.code == 0 and ended.result["verified"] is None and ended.result["patches"] == []


def test_a_task_that_changes_nothing_is_not_called_done(desk: Desk, serve: Any) -> None:
    ended = desk.ask(serve({"text": "I have fixed everything."}), "fix the sign bug")
    assert ended.code == 7
    assert "none was made" in ended.err


def test_git_is_as_it_was(desk: Desk, serve: Any) -> None:
    (desk.root / "notes.txt").write_text("mine\n")
    (desk.root / "test_calc.py").write_text((desk.root / "test_calc.py").read_text() + "\n# staged\n")
    git(desk.root, "add", "test_calc.py")
    before = {name: git(desk.root, *arguments) for name, arguments in LOOKS.items()}
    desk.ask(serve(*WORK), "make the failing tests pass")
    desk.run("undo")
    assert {name: git(desk.root, *arguments) for name, arguments in LOOKS.items()} == before
    assert (desk.root / "notes.txt").read_text() == "mine\n"


LOOKS = {
    "index": ("ls-files", "-s", "-v"),
    "staged": ("diff", "--cached"),
    "unstaged": ("diff",),
    "head": ("rev-parse", "HEAD"),
    "reflog": ("reflog",),
    "stash": ("stash", "list"),
    "branches": ("branch", "-a"),
    "status": ("status", "--porcelain"),
}


def test_undo_and_redo_from_the_command_line(desk: Desk, serve: Any) -> None:
    desk.ask(serve(*WORK), "make the failing tests pass")
    assert desk.run("undo").code == 0
    assert "return a - b" in (desk.root / "calc.py").read_text()
    assert desk.run("redo").code == 0
    assert "return a + b" in (desk.root / "calc.py").read_text()
    rows = json.loads(desk.run("timeline", "--json").out)
    assert [row["id"] for row in rows] == ["c1", "p1", "c2", "c3", "p2", "p3"]
    assert "a + b" in desk.run("diff").out


def test_a_session_goes_on(desk: Desk, serve: Any) -> None:
    desk.ask(serve({"text": "Hello."}), "what is here?")
    server = serve({"text": "As I said."})
    ended = desk.ask(server, "and what else?", "-c", "--json")
    roles = [message["role"] for message in server.requests[0].body["messages"]]
    assert roles[-3:] == ["user", "assistant", "user"]
    assert ended.result["session_id"] == json.loads(desk.run("sessions", "--json").out)["sessions"][0]["id"]


@pytest.mark.parametrize("api", ["openai-responses", "anthropic"])
def test_every_dialect_does_the_main_job(desk: Desk, serve: Any, api: str) -> None:
    ended = desk.ask(serve(*WORK), "make the failing tests pass", "--api", api, "--json")
    assert ended.code == 0, ended.err
    assert ended.result["verified"] is True


def test_plan_mode_changes_nothing(desk: Desk, serve: Any) -> None:
    ended = desk.ask(serve(*WORK), "make the failing tests pass", "--approval", "plan", "--json")
    assert ended.code == 4
    assert len(ended.result["denied"]) == 2
    assert git(desk.root, "status", "--porcelain") == ""


def test_a_command_cannot_leave_the_workspace(desk: Desk, serve: Any) -> None:
    outside = desk.root.parent / "outside"
    outside.mkdir()
    server = serve(
        call("shell", command=f"touch {outside}/PWNED; touch inside.txt"),
        call("shell", command="python -c \"open('.git/hooks/pre-commit', 'w')\""),
        call("write", path="../outside/PWNED", content="x"),
        call("write", path=".git/hooks/pre-commit", content="x"),
        {"text": "done"},
    )
    desk.ask(server, "write files", "--no-tests")
    assert list(outside.iterdir()) == []
    assert (desk.root / "inside.txt").exists()
    assert not (desk.root / ".git" / "hooks" / "pre-commit").exists()


def test_the_debug_log_tells_everything_but_keys(desk: Desk, serve: Any) -> None:
    key = "sk-canary-0123456789abcdef"
    server = serve({"text": f"I was given {key}."})
    desk.ask(server, "what is here?", "--debug", str(desk.home.parent / "debug.log"), OPENAI_API_KEY=key)
    log = (desk.home.parent / "debug.log").read_text()
    assert '"type":"turn_finished"' in log and "I was given" in log
    assert key not in log
