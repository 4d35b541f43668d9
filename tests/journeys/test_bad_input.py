"""Bad input: one clear sentence, the documented exit code, nothing lost."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from support.desk import FIX, Desk, git


def sentence(err: str) -> str:
    """The last line that is told to a person."""
    lines = [line for line in err.splitlines() if line.strip()]
    return lines[-1] if lines else ""


def test_an_empty_task(desk: Desk) -> None:
    ended = desk.run("--task", "  ", "--base-url", "http://127.0.0.1:9/v1")
    assert ended.code == 2 and "the task is empty" in sentence(ended.err)


def test_a_task_of_a_megabyte(desk: Desk) -> None:
    ended = desk.run("--task", "-", "--base-url", "http://127.0.0.1:9/v1", stdin="x" * 1_000_000)
    assert ended.code == 2 and "longer than" in sentence(ended.err)


def test_no_model(desk: Desk) -> None:
    ended = desk.run("--task", "fix it")
    assert ended.code == 78 and "no model is configured" in sentence(ended.err)
    assert "tcoder models pull" in ended.err


def test_an_unknown_model(desk: Desk) -> None:
    ended = desk.run("--task", "fix it", "-m", "opnai/gpt-5")
    assert ended.code == 6 and "opnai" in sentence(ended.err)


def test_a_dead_endpoint(desk: Desk) -> None:
    ended = desk.run("--task", "fix it", "--base-url", "http://127.0.0.1:9/v1", "-m", "x", "--max-time", "2")
    assert ended.code in (5, 75)
    assert "127.0.0.1" in ended.err


@pytest.mark.parametrize(
    ("step", "code", "words"),
    [
        ({"page": "<html><body>Sign in</body></html>"}, 6, "web page"),
        ({"status": 401, "body": {"error": {"message": "bad key", "type": "auth"}}}, 6, "key"),
        ({"status": 404, "body": {"error": {"message": "no such model"}}}, 6, "model"),
        ({"status": 400, "body": {"error": {"message": "odd request"}}}, 6, "odd request"),
        (
            {"status": 429, "body": {"error": {"message": "You are out of credit", "code": "insufficient_quota"}}},
            6,
            "credit",
        ),
    ],
)
def test_an_endpoint_that_answers_something_else(
    desk: Desk, serve: Any, step: dict[str, Any], code: int, words: str
) -> None:
    ended = desk.ask(serve(step), "fix it")
    assert ended.code == code, ended.err
    assert words in ended.err.lower() or words in ended.err


def test_an_error_in_json_mode_is_an_object(desk: Desk) -> None:
    ended = desk.run("--task", "fix it", "--json")
    assert ended.code == 78
    assert ended.result["error"]["kind"] == "no_model" and ended.result["error"]["hint"]


def test_not_a_repository(tmp_path: Path, desk: Desk, serve: Any) -> None:
    plain = Desk(tmp_path / "plain", desk.home)
    plain.root.mkdir()
    (plain.root / "calc.py").write_text("def add(a, b):\n    return a - b\n")
    ended = plain.ask(serve({"calls": [FIX]}, {"text": "Done."}), "fix add", "--json")
    assert ended.code == 0 and ended.result["verified"] is None
    assert not (plain.root / ".git").exists() and not (plain.root / ".tcoder").exists()
    assert plain.run("undo").code == 0
    assert "a - b" in (plain.root / "calc.py").read_text()


def test_an_empty_repository(tmp_path: Path, desk: Desk, serve: Any) -> None:
    empty = Desk(tmp_path / "empty", desk.home)
    empty.root.mkdir()
    git(empty.root, "init", "-q")
    write = {"name": "write", "arguments": {"path": "hello.py", "content": "print('hi')\n"}}
    ended = empty.ask(serve({"calls": [write]}, {"text": "Done."}), "write hello.py", "--json")
    assert ended.code == 0 and ended.result["verified"] is None
    assert (empty.root / "hello.py").read_text() == "print('hi')\n"
    assert git(empty.root, "status", "--porcelain") == "?? hello.py\n"


def test_tests_that_cannot_be_collected(desk: Desk, serve: Any) -> None:
    (desk.root / "test_calc.py").write_text("import nothing_like_this\n\n\ndef test_add():\n    assert True\n")
    ended = desk.ask(serve({"calls": [FIX]}, {"text": "Done."}), "fix add", "--json")
    assert ended.code == 3, ended.err
    assert ended.result["verified"] is not True
    assert "1 failed" in ended.err.replace("1 error", "1 failed")


def test_a_path_that_is_no_folder(desk: Desk) -> None:
    ended = desk.run("--task", "x", "-C", "nowhere", "--base-url", "http://127.0.0.1:9/v1")
    assert ended.code == 2 and "nowhere is not a folder" in sentence(ended.err)


@pytest.mark.parametrize("limit", [("--max-turns", "2"), ("--max-tokens", "50"), ("--max-time", "0.001")])
def test_a_spent_budget_is_a_clean_stop(desk: Desk, serve: Any, limit: tuple[str, str]) -> None:
    looking = {"calls": [{"name": "search", "arguments": {"pattern": "def"}}]}
    ended = desk.ask(serve(looking), "fix it", *limit)
    assert ended.code == 5
    assert "budget spent" in ended.err


def test_a_model_that_runs_in_circles_is_stopped(desk: Desk, serve: Any) -> None:
    server = serve({"calls": [{"name": "read", "arguments": {"path": "calc.py"}}]})
    ended = desk.ask(server, "fix it")
    assert ended.code == 7 and "same call" in ended.err
    assert len(server.requests) < 12


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_a_signal_while_a_command_runs(desk: Desk, serve: Any, number: signal.Signals, code: int) -> None:
    mark = f"sleep 9{os.getpid()}"
    touch = f"echo ready > started.txt; setsid nohup {mark} & {mark}"
    server = serve({"calls": [{"name": "shell", "arguments": {"command": touch}}]}, {"text": "never"})
    with desk.start("--task", "wait", "--base-url", server.url, "-m", "x") as process:
        wait_for(desk.root / "started.txt", process)
        process.send_signal(number)
        process.communicate(timeout=20)
    assert process.returncode == code
    assert mark not in subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout
    listed = desk.run("sessions", "--json").result["sessions"]
    assert len(listed) == 1 and not listed[0]["busy"]
    again = serve({"text": "Here I am."})
    ended = desk.ask(again, "go on", "-c")
    assert ended.code in (0, 7) and ended.out == "Here I am.\n"


def test_a_killed_run_leaves_nothing_running_and_goes_on(desk: Desk, serve: Any) -> None:
    mark = f"sleep 8{os.getpid()}"
    server = serve({"calls": [{"name": "shell", "arguments": {"command": f"touch started.txt; {mark}"}}]})
    with desk.start("--task", "wait", "--base-url", server.url, "-m", "x") as process:
        wait_for(desk.root / "started.txt", process)
        process.kill()
        process.communicate(timeout=20)
    deadline = time.monotonic() + 10
    while mark in subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout:
        assert time.monotonic() < deadline, "a command outlived its tcoder"
    ended = desk.ask(serve({"text": "Here I am."}), "what happened?", "-c")
    assert ended.code == 0, ended.err


def wait_for(path: Path, process: subprocess.Popen[str]) -> None:
    """Until `path` is there; fails at once when the process that should make it has ended."""
    deadline = time.monotonic() + 30
    while not path.exists():
        if process.poll() is not None or time.monotonic() > deadline:
            process.kill()
            pytest.fail(f"{path.name} never came: {process.communicate()}")


def test_input_that_nobody_asked_for_is_told_of_and_not_read(desk: Desk, serve: Any, tmp_path: Path) -> None:
    server = serve(*[{"text": "Nothing."}] * 5)
    where = ("--base-url", server.url, "-m", "x")
    piped = desk.run("--task", "what is here?", *where, stdin="a long log\n")
    assert piped.code == 0 and piped.err.count("standard input is not read") == 1
    assert "a long log" not in str(server.requests[0].body)
    (tmp_path / "log").write_text("a long log\n")
    command = [sys.executable, "-m", "tcoder", "--task", "what is here?", *where]
    with (tmp_path / "log").open() as file:
        done = subprocess.run(
            command, cwd=desk.root, env=desk.environment(), stdin=file, capture_output=True, text=True, timeout=50
        )
    assert "standard input is not read" in done.stderr
    for arguments, stdin in (
        (("--task", "-"), "what is here?"),
        (("--task", "what is here?"), ""),
        (("-q", "-p", "?"), "x"),
    ):
        ended = desk.run(*arguments, *where, stdin=stdin)
        assert ended.code == 0 and "standard input" not in ended.err


def test_an_open_pipe_without_data_holds_nothing_up(desk: Desk, serve: Any) -> None:
    server = serve({"text": "Nothing."})
    process = desk.start("--task", "what is here?", "--base-url", server.url, "-m", "x")
    assert process.stdin is not None and process.stderr is not None
    assert process.wait(timeout=40) == 0  # the pipe is open all the time
    assert "standard input" not in process.stderr.read()
    process.communicate()
