"""Limits and shared sessions with the real command line: a clean stop at a spent budget, two processes, one session."""

import json
from pathlib import Path
from typing import Any

from support.desk import FIX, Desk


def journal_of(desk: Desk) -> Path:
    return max((desk.home / "state" / "projects").glob("*/*.jsonl"), key=lambda path: path.stat().st_mtime_ns)


def events_of(desk: Desk) -> list[dict[str, Any]]:
    return [json.loads(line) for line in journal_of(desk).read_bytes().splitlines()]


def look(number: int) -> dict[str, Any]:
    return {"calls": [{"name": "read", "arguments": {"path": "calc.py", "offset": 1 + number, "limit": 1}}]}


def test_a_spent_budget_ends_the_run_cleanly_and_it_goes_on_with_more(desk: Desk, serve: Any) -> None:
    server = serve(look(0), {"calls": [FIX]}, look(1), look(2), look(3), {"text": "Fixed."})
    ended = desk.ask(server, "fix add", "--max-turns", "5", "--no-tests", "--json")
    assert (ended.code, ended.result["status"]) == (5, "budget")
    assert len(server.requests) == 5
    told = [m["content"] for m in server.requests[4].body["messages"] if m["role"] == "user"]
    assert told[1] == "Budget: 4 of 5 model calls used. Finish what is most important now."
    assert "return a + b" in (desk.root / "calc.py").read_text()  # what was done is done, as a whole
    kinds = [event["type"] for event in events_of(desk)]
    assert kinds.count("tool_started") == kinds.count("tool_finished") == 5
    assert kinds[-2:] == ["turn_finished", "session_ended"]
    again = desk.ask(server, "is it done?", "-c", "--no-tests", "--json")
    assert (again.code, again.result["answer"]) == (0, "Fixed.")
    assert again.result["session_id"] == ended.result["session_id"]


def test_the_size_of_the_task_sets_the_limits(desk: Desk, serve: Any) -> None:
    server = serve(*(look(number) for number in range(3)), {"text": "Done."})
    (desk.home / "config").mkdir(parents=True)
    (desk.home / "config" / "config.toml").write_text("[budget]\nmax_turns = 2\n")
    assert desk.ask(server, "look", "--budget", "long").code == 5  # a number of one's own stays
    shown = json.loads(desk.run("config", "show", "--json", "--budget", "small").out)["budget.tier"]
    assert shown == {"value": "small", "source": "command line"}


def test_two_processes_on_one_session_are_told_apart(desk: Desk, serve: Any) -> None:
    """R52"""
    server = serve({"text": "Late.", "stall": 20})
    first = desk.start("--task", "wait", "--base-url", server.url, "-m", "x", "--session-id", "shared")
    try:
        while not server.requests:
            assert first.poll() is None
        listed = json.loads(desk.run("sessions", "--json").out)["sessions"]
        assert [(of["id"], of["busy"]) for of in listed] == [("shared", True)]
        quick = serve({"text": "Quick."})
        before = journal_of(desk).read_bytes()
        second = desk.ask(quick, "what is here?", "-r", "shared")
        assert second.code != 0 and "is open in another tcoder" in second.err and "--fork" in second.err
        taken = desk.ask(quick, "what is here?", "--session-id", "shared")
        assert taken.code != 0 and "session shared exists" in taken.err
        removed = desk.run("sessions", "rm", "shared")
        assert removed.code != 0 and "is open in another tcoder" in removed.err
        assert journal_of(desk).read_bytes() == before
        fork = desk.ask(quick, "what is here?", "-r", "shared", "--fork", "--json")
        assert fork.code == 0 and fork.result["session_id"] != "shared"
    finally:
        first.terminate()
        first.communicate(timeout=20)


def test_a_home_that_takes_nothing_is_one_sentence(desk: Desk, serve: Any) -> None:
    """R22"""
    server = serve({"text": "Quick."})
    ended = desk.ask(server, "what is here?", TCODER_HOME="/proc/nowhere")
    assert ended.code == 2
    assert ended.err.startswith("tcoder: cannot make the folder /proc/nowhere") and ended.err.count("\n") == 1
    assert server.requests == []
