"""A session against servers that fail in every way, in each dialect: how the turn ends, what it ran, and that the same
session answers the next message. R01 to R05, R08 to R14, R17."""

from typing import Any

import pytest
from support.desk import Desk
from support.live import live, turn

from tcoder.protocol.events import ToolFinished
from tcoder.protocol.messages import ToolResults
from tcoder.protocol.outcome import ExitCode
from tcoder.protocol.variant import Dialect

Step = dict[str, Any]
DIALECTS: tuple[Dialect, ...] = ("openai-chat", "openai-responses", "anthropic")
OK: Step = {"text": "It is fine."}
SOON = {"Retry-After": "0"}


def call(name: str, arguments: dict[str, Any] | str, **more: Any) -> dict[str, Any]:
    return {"name": name, "arguments": arguments, **more}


def calls(*made: dict[str, Any], **more: Any) -> Step:
    return {"calls": list(made), **more}


READ = call("read", {"path": "calc.py"})
RUN = call("shell", {"command": "echo ran >> ran.txt"})
HALF = call("shell", '{"command": "echo ran >> ran.t')
FULL = {"message": "maximum context length is 8192 tokens", "code": "context_length_exceeded"}

# name: steps of the server, exit code, requests, times that a command ran, what is said
CASES: dict[str, tuple[list[Step], ExitCode, int, int, str]] = {
    "R01 seconds": ([{"status": 429, "headers": SOON}, OK], ExitCode.DONE, 2, 0, "fine"),
    "R01 absurd": (
        [{"status": 429, "headers": {"Retry-After": "86400"}}], ExitCode.RETRY_LATER, 1, 0, "asks to slow down"
    ),
    "R01 quota": (
        [{"status": 429, "headers": SOON, "body": {"error": {"message": "no", "code": "insufficient_quota"}}}],
        ExitCode.MODEL_UNUSABLE, 1, 0, "nothing is left to spend",
    ),
    "R02 after a tool": (
        [calls(RUN), *[{"status": 503, "headers": SOON}] * 2, OK], ExitCode.DONE, 4, 1, "fine"
    ),
    "R02 529": ([{"status": 529, "headers": SOON}, OK], ExitCode.DONE, 2, 0, "fine"),
    "R03 401": ([{"status": 401}], ExitCode.MODEL_UNUSABLE, 1, 0, "does not accept the key"),
    "R03 403": ([{"status": 403}], ExitCode.MODEL_UNUSABLE, 1, 0, "forbids"),
    "R03 404": (
        [{"status": 404, "body": {"error": {"message": "no model", "code": "model_not_found"}}}],
        ExitCode.MODEL_UNUSABLE, 1, 0, "does not know the model",
    ),
    "R04 reset": ([{"reset": True}, OK], ExitCode.DONE, 2, 0, "fine"),
    "R04 in the text": ([{"text": "abc " * 300, "cut_after": 900}, OK], ExitCode.DONE, 2, 0, "fine"),
    "R04 in a call": ([calls(RUN, cut_after=300), OK], ExitCode.DONE, 2, 0, "fine"),
    "R05 no end": ([{"text": "half", "no_done": True}, OK], ExitCode.DONE, 2, 0, "fine"),
    "R05 ends early": ([{"text": "abcdefghijkl", "end_after": 3}, OK], ExitCode.DONE, 2, 0, "fine"),
    "R08 arguments": (
        [*(calls(call("read", text)) for text in ('{"path": ', "", "[]", '{"path": 5}', '{"path":"a","b":1}')), OK],
        ExitCode.DONE, 6, 0, "fine",
    ),
    "R08 for ever": ([calls(call("read", '{"path": '))], ExitCode.NO_PROGRESS, 8, 0, "same result 8 times"),
    "R09 unknown tool": ([calls(call("fly", {})), OK], ExitCode.DONE, 2, 0, "fine"),
    "R09 one id twice": (
        [calls({**READ, "id": "a"}, {**RUN, "id": "a"}), calls({**READ, "id": "a"}), OK], ExitCode.DONE, 3, 1, "fine"
    ),
    "R09 no id": ([calls({**READ, "id": ""}), OK], ExitCode.DONE, 2, 0, "fine"),
    "R10 twenty at once": (
        [calls(*(call("shell", {"command": f"echo {n} >> ran.txt"}) for n in range(20))), OK],
        ExitCode.DONE, 2, 20, "fine",
    ),
    "R11 empty": ([{"text": ""}, OK], ExitCode.DONE, 2, 0, "fine"),
    "R11 always empty": ([{"text": ""}], ExitCode.NO_PROGRESS, 3, 0, "empty or cut off 3 times"),
    "R11 thoughts alone": ([{"reasoning": "hm"}], ExitCode.NO_PROGRESS, 3, 0, "empty or cut off 3 times"),
    "R11 cut in a call": ([calls(HALF, stop="LENGTH"), OK], ExitCode.DONE, 2, 0, "fine"),
    "R11 always cut": (
        [calls(HALF, stop="LENGTH")], ExitCode.NO_PROGRESS, 3, 0, "cut off by its output limit 3 times in a row"
    ),
    "R12 once": ([calls(READ), {"status": 400, "body": {"error": FULL}}, OK, OK], ExitCode.DONE, 4, 0, "fine"),
    "R12 always": (
        [calls(READ), {"status": 400, "body": {"error": FULL}}], ExitCode.BUDGET, 3, 0, "could not be summarised"
    ),
    "R13 a long line": ([{"text": "a" * 300_000, "piece": 300_000}], ExitCode.DONE, 1, 0, "aaa"),
    "R14 a page": ([{"page": "<html><title>Log in</title>"}], ExitCode.MODEL_UNUSABLE, 1, 0, "a web page titled"),
    "R14 nothing": ([{"status": 204, "body": ""}], ExitCode.MODEL_UNUSABLE, 1, 0, "without content (204)"),
    "R14 in the stream": (
        [{"text": "abc", "error_event": {"message": "bad schema", "type": "invalid_request_error"}}],
        ExitCode.MODEL_UNUSABLE, 1, 0, "bad schema",
    ),
    "R17 the same for ever": ([calls(READ)], ExitCode.NO_PROGRESS, 8, 0, "same result 8 times"),
}  # fmt: skip
LENGTH: dict[Dialect, str] = {
    "openai-chat": "length",
    "openai-responses": "max_output_tokens",
    "anthropic": "max_tokens",
}


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("name", CASES)
async def test_the_turn_ends_as_it_should_and_the_session_goes_on(
    desk: Desk, serve: Any, name: str, dialect: Dialect
) -> None:
    steps, code, requests, ran, says = CASES[name]
    words = [{**step, "stop": LENGTH[dialect]} if step.get("stop") == "LENGTH" else step for step in steps]
    server = serve(*words)
    async with live(desk, server, api=dialect, yolo=True) as session:
        ended = (await turn(session, "what is in calc.py?")).outcome
        assert (ended.exit_code, len(server.requests)) == (code, requests)
        assert says in (f"{ended.answer} {ended.reason}" if code == ExitCode.DONE else ended.reason)
        commands = desk.root / "ran.txt"
        assert len(commands.read_text().split() if commands.exists() else []) == ran
        finished = [one.event.call_id for one in session.log if isinstance(one.event, ToolFinished)]
        results = [
            of for message in session.state.messages if isinstance(message, ToolResults) for of in message.results
        ]
        assert len(finished) == len(results) or session.state.compactions  # each call has one result
        server.steps = [OK]
        again = (await turn(session, "and now?")).outcome
        assert (again.exit_code, again.answer) == (ExitCode.DONE, "It is fine.")
