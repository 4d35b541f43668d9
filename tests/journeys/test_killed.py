"""A run that is killed in the middle of a turn goes on: every call has its result, whatever came of it. R16, R19."""

import json
import signal
from typing import Any

import pytest
from support.desk import Desk
from support.person import working

from tcoder.protocol.variant import Dialect

READ = {"name": "read", "arguments": {"path": "calc.py"}}
WAIT = {"name": "shell", "arguments": {"command": "echo begun >> began.txt; sleep 9"}}


def kill_in_a_command(desk: Desk, server: Any, dialect: str) -> None:
    said = ("--task", "look", "--base-url", server.url, "-m", "x", "--api", dialect, "--no-tests", "--yolo")
    process = desk.start(*said, "--sandbox", "off")
    while not (desk.root / "began.txt").exists():
        assert process.poll() is None
    process.send_signal(signal.SIGKILL)
    process.communicate()


def calls_and_results(body: dict[str, Any]) -> tuple[list[str], list[str]]:
    """The ids of all calls and of all results of a request, in their order."""
    calls: list[str] = []
    results: list[str] = []
    for item in body.get("messages") or body["input"]:
        calls += [of["id"] for of in item.get("tool_calls") or ()]
        results += [item["tool_call_id"]] if "tool_call_id" in item else []
        if item.get("type") == "function_call":
            calls.append(item["call_id"])
        if item.get("type") == "function_call_output":
            results.append(item["call_id"])
        for block in item["content"] if isinstance(item.get("content"), list) else ():
            calls += [block["id"]] if block["type"] == "tool_use" else []
            results += [block["tool_use_id"]] if block["type"] == "tool_result" else []
    return calls, results


@pytest.mark.parametrize("dialect", ["openai-chat", "openai-responses", "anthropic"])
@pytest.mark.parametrize("how", [(), ("--fork",)])
def test_a_killed_run_goes_on_with_a_result_for_each_call(
    desk: Desk, serve: Any, dialect: Dialect, how: tuple[str, ...]
) -> None:
    kill_in_a_command(desk, serve({"calls": [READ, WAIT, READ]}), dialect)
    server = serve({"text": "Yes."})
    again = desk.ask(server, "and now?", "-c", *how, "--api", dialect, "--no-tests", "--json")
    assert again.code == 0, again.err
    calls, results = calls_and_results(server.requests[0].body)
    assert calls == results and len(calls) == 3
    sent = json.dumps(server.requests[0].body)
    assert sent.count("what it did is not known") == 1 and sent.count("not run: tcoder was ended before") == 1
    assert desk.ask(server, "and again?", "-c", "--api", dialect, "--no-tests", "--json").code == 0


def test_the_interface_is_ready_after_a_kill(desk: Desk, serve: Any) -> None:
    kill_in_a_command(desk, serve({"calls": [WAIT]}), "openai-chat")
    server = serve({"text": "Here again."})
    with working(desk, "--base-url", server.url, "-m", "x", "-c") as person:
        person.sees("stopped", "ready")
        person.say("go on")
        person.sees("Here again.")
