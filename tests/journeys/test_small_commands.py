"""The smaller commands as a person uses them after a task: sessions, apply, review, commit."""

import json
import os
import signal
import subprocess
from typing import Any

import pytest
from support.desk import FIX, Desk, git

from tcoder.models.local.engine_files import EngineFiles


def ids(desk: Desk) -> list[str]:
    return [one["id"] for one in desk.run("sessions", "--json").result["sessions"]]


@pytest.mark.parametrize("arguments", [(), ("",), ("first", "")])
def test_removing_a_session_needs_its_name(desk: Desk, serve: Any, arguments: tuple[str, ...]) -> None:
    desk.ask(serve({"text": "Nothing."}), "what is here?", "--session-id", "first")
    ended = desk.run("sessions", "rm", *arguments)
    assert ended.code == 2 and "needs the id" in ended.err and "tcoder sessions" in ended.err
    assert ids(desk) == ["first"]


def test_sessions_that_are_named_are_removed_all_or_none(desk: Desk, serve: Any) -> None:
    server = serve({"text": "Nothing."}, {"text": "Nothing."}, {"text": "Nothing."})
    for name in ("one", "two", "three"):
        desk.ask(server, "what is here?", "--session-id", name)
    assert desk.run("sessions", "rm", "one", "nowhere").code == 2 and len(ids(desk)) == 3
    ended = desk.run("sessions", "rm", "one", "three")
    assert ended.code == 0 and ended.out == "removed one\nremoved three\n"
    assert ids(desk) == ["two"]


PATCH = "--- a/calc.py\n+++ b/calc.py\n@@ -1,2 +1,2 @@\n def add(a, b):\n-    return a - b\n+    return a + b\n"


def test_an_applied_patch_is_in_the_timeline_and_can_be_undone(desk: Desk) -> None:
    (desk.root.parent / "p.diff").write_text(PATCH)
    assert desk.run("apply", "../p.diff").code == 0
    patches = [row for row in desk.run("timeline", "--json").result if row["kind"] == "patch"]
    assert [(row["files"], row["cause"]) for row in patches] == [(["calc.py"], "edit: tcoder apply ../p.diff")]
    assert "+    return a + b" in desk.run("diff").out
    assert desk.run("undo").code == 0 and git(desk.root, "status", "--porcelain") == ""
    assert desk.run("redo").code == 0 and "a + b" in (desk.root / "calc.py").read_text()


def test_a_session_goes_on_with_an_applied_patch_and_its_model_is_told(desk: Desk, serve: Any) -> None:
    desk.ask(serve({"text": "Nothing."}), "what is here?", "--session-id", "first")
    (desk.root / "mine.txt").write_text("mine\n")
    assert desk.run("apply", "-", stdin=PATCH).code == 0 and ids(desk) == ["first"]
    assert desk.run("undo").code == 0 and (desk.root / "mine.txt").exists()
    server = serve({"text": "I see."})
    desk.ask(server, "and now?", "-c")
    assert "applied changes in: calc.py" in str(server.requests[0].body["messages"])


def test_a_patch_can_be_applied_without_a_session_or_beside_an_open_one(desk: Desk, serve: Any) -> None:
    assert desk.run("apply", "-", "--no-session", stdin=PATCH).code == 0 and ids(desk) == []
    git(desk.root, "checkout", "-q", "calc.py")
    server = serve({"text": "Late.", "stall": 20})
    first = desk.start("--task", "wait", "--base-url", server.url, "-m", "x", "--session-id", "busy")
    try:
        while not server.requests:
            assert first.poll() is None
        ended = desk.run("apply", "-", stdin=PATCH)
        assert ended.code == 0 and "`tcoder undo` does not know of it" in ended.err and "busy is open" in ended.err
        assert "a + b" in (desk.root / "calc.py").read_text()
    finally:
        first.terminate()
        first.communicate(timeout=20)


def test_a_patch_that_does_not_apply_begins_no_session(desk: Desk) -> None:
    assert desk.run("apply", "-", stdin=PATCH.replace("a - b", "a * b")).code == 2
    assert desk.run("apply", "-", "--check", stdin=PATCH).code == 0
    assert ids(desk) == [] and git(desk.root, "status", "--porcelain") == ""


def test_ignored_files_that_a_command_deletes_are_named_as_gone(desk: Desk, serve: Any) -> None:
    (desk.root / ".gitignore").write_text("*.db\nsecrets/\n__pycache__/\n")
    for name in ("data.db", "sub/more.db", "sub/mine.txt", "secrets/key", "__pycache__/a.pyc"):
        (desk.root / name).parent.mkdir(exist_ok=True)
        (desk.root / name).write_text("x\n")
    calls = [{"name": "shell", "arguments": {"command": "rm -r data.db sub secrets __pycache__"}}]
    ended = desk.ask(serve({"calls": calls}, {"text": "Cleaned."}), "clean up", "--yolo", "--no-tests", "--json")
    told = [text for text in ended.result["warnings"] if "git ignores" in text]
    assert len(told) == 1 and told[0].endswith("data.db, secrets, sub/more.db"), ended.result["warnings"]
    assert "not covered: data.db" in desk.run("timeline").out
    undone = desk.run("undo")
    assert undone.code == 0 and (desk.root / "sub/mine.txt").exists() and not (desk.root / "data.db").exists()
    assert "not brought back" in undone.err and "sub/more.db" in undone.err


def test_ignored_files_alone_that_a_command_deletes_are_named_too(desk: Desk, serve: Any) -> None:
    (desk.root / ".gitignore").write_text("*.db\n")
    (desk.root / "data.db").write_text("x\n")
    calls = [{"name": "shell", "arguments": {"command": "rm data.db"}}]
    ended = desk.ask(serve({"calls": calls}, {"text": "Gone."}), "clean up", "--yolo", "--no-tests", "--json")
    assert any(text.endswith("holds it: data.db") for text in ended.result["warnings"])


def test_engines_that_idle_are_told_of_and_ended(desk: Desk) -> None:
    assert desk.run("models", "stop").out == "no local engine runs\n"
    checks = {one["name"]: one for one in desk.run("doctor", "--json").result["checks"]}
    assert checks["engine"]["ok"] and checks["engine"]["detail"] == "no local engine runs"
    folder = desk.home / "state" / "engines"
    folder.mkdir(parents=True)
    sleeper = subprocess.Popen(["flock", str(folder / "tiny.alive"), "sleep", "60"], start_new_session=True)
    try:
        facts = {"pid": sleeper.pid, "started": 0.0, "port": 1, "key": "k", "model": "local/tiny", "threads": 1}
        more = {"prompt_threads": 1, "context": 512, "idle_s": 600.0}
        (folder / "tiny.json").write_text(json.dumps(facts | more))
        while not EngineFiles(folder, "tiny").is_alive():
            assert sleeper.poll() is None
        assert "local/tiny idles" in desk.run("doctor").out and "`tcoder models stop`" in desk.run("models").out
        listed = desk.run("models", "--json").result
        assert listed["running"][0]["pid"] == sleeper.pid and listed["local"][0]["id"].startswith("local/")
    finally:
        os.killpg(sleeper.pid, signal.SIGKILL)
        sleeper.wait()


def test_two_edits_of_a_file_are_one_diff_at_the_end_of_a_run(desk: Desk, serve: Any) -> None:
    again = {"name": "edit", "arguments": {"path": "calc.py", "old": "return a + b", "new": "return b + a"}}
    ended = desk.ask(serve({"calls": [FIX]}, {"calls": [again]}, {"text": "Done."}), "fix add", "--no-tests")
    assert ended.code == 0, ended.err
    assert ended.err.count("+++ b/calc.py") == 1
    assert (
        "-    return a - b" in ended.err and "+    return b + a" in ended.err and "+    return a + b" not in ended.err
    )


def test_a_text_that_fits_nothing_is_told(desk: Desk) -> None:
    ended = desk.run("locate", "zzqq xxyy")
    assert (ended.code, ended.out) == (0, "") and "nothing here fits" in ended.err
    assert "nothing" not in desk.run("locate", "calc.py").err
