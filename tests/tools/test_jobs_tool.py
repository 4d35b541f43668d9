"""The model can start a server, wait for it, read it, stop it, and answer a command that waits."""

from typing import Any

from support.desk import Desk


def job(**arguments: Any) -> dict[str, Any]:
    return {"calls": [{"name": "job", "arguments": arguments}]}


def test_jobs_and_input_through_the_real_command_line(desk: Desk, serve: Any) -> None:
    server = serve(
        job(action="start", text="python -u -c \"print('ready now'); import time; time.sleep(600)\""),
        job(action="wait", job=1, text="ready now"),
        job(action="list"),
        job(action="stop", job=1),
        {"calls": [{"name": "shell", "arguments": {"command": "read -p 'name? ' name; echo hello $name"}}]},
        job(action="input", text="you"),
        {"text": "Done."},
    )
    ended = desk.ask(server, "what runs here?", "--no-tests")
    assert ended.code == 0, ended.err
    told = [seen.body["messages"][-1]["content"] for seen in server.requests[1:]]
    assert "job 1: running" in told[0]
    assert told[1].startswith("ready") and "ready now" in told[1]
    assert "running" in told[2] and "ended" in told[3]
    assert "waits for input" in told[4] and "name?" in told[4]
    assert "exit 0" in told[5] and "hello you" in told[5]
