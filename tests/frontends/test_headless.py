"""The headless front end: what goes where, and the final object as a fold of events."""

import io
import json
import os
from pathlib import Path

import pytest

from tcoder.frontends import headless
from tcoder.frontends.headless.result import Collector, files_changed
from tcoder.frontends.headless.streams import Stream, wants_colour
from tcoder.protocol.edits import Cause, FileChange, Patch
from tcoder.protocol.events import (
    Notice,
    PatchApplied,
    PermissionAsked,
    SessionEnded,
    ToolFinished,
    ToolStarted,
    TurnFinished,
    TurnStarted,
)
from tcoder.protocol.messages import ToolCall, ToolResult
from tcoder.protocol.ops import Close, Decide, Submit
from tcoder.protocol.outcome import Outcome
from tcoder.protocol.permissions import Question, Verdict
from tests.support.scripted_session import Await, ScriptedSession, Step, play
from tests.support.stories import fixed, started, user


async def run(steps: list[Step], output: str = "text", verbosity: int = 0) -> tuple[int, str, str, ScriptedSession]:
    session = play(steps)
    out, err = io.StringIO(), io.StringIO()
    code = await headless.run(
        session, "make it pass", output=output, verbosity=verbosity, color="never", stdout=out, stderr=err
    )
    return code, out.getvalue(), err.getvalue(), session


async def test_text_keeps_the_result_apart_from_the_progress() -> None:
    code, out, err, session = await run(fixed())
    assert code == 0
    assert out.startswith("Fixed: the delay is **capped** now.")
    verbs = [line.split()[0] for line in err.splitlines() if line[:1].isalpha()]
    assert [v for v in verbs if v in ("locate", "read", "edit", "test", "attempt")] == [
        "locate", "read", "test", "edit", "test", "test", "attempt",
    ]  # fmt: skip
    assert "+        delay = min(cap, base * 2 ** attempt)" in err
    assert "✓ done  verified: the tests pass" in err
    assert session.ops == [Submit("make it pass"), Close("done")]


async def test_json_is_one_object_with_the_contract_s_fields() -> None:
    code, out, err, _ = await run(fixed(), "json", verbosity=-1)
    result = json.loads(out)
    assert (code, err) == (0, "")
    assert set(result) >= {
        "status", "exit_code", "session_id", "task", "answer", "patches", "files_changed", "checks", "verified",
        "attempts", "denied", "usage", "variant", "duration_s", "warnings",
    }  # fmt: skip
    assert result["files_changed"] == [{"path": "src/retry.py", "change": "modified", "insertions": 2, "deletions": 1}]
    assert result["checks"]["before"]["failed"] == 1 and result["checks"]["after"]["passed"] == 2
    assert result["verified"] is True and result["usage"]["cost"] == 0.0172
    assert result["variant"]["asked"]["name"] == "fast" and result["variant"]["served"]["model"] == "gpt-x-2026"
    assert set(result["duration_s"]) == {"total", "model", "tools", "harness"}


@pytest.mark.parametrize(("verbosity", "deltas"), [(0, False), (1, True)])
async def test_stream_json_is_the_journal_line_by_line(verbosity: int, deltas: bool) -> None:
    _, out, _, _ = await run(fixed(), "stream-json", verbosity)
    lines = [json.loads(line) for line in out.splitlines()]
    events = [line for line in lines if "seq" in line]
    assert [line["seq"] for line in events] == list(range(1, len(events) + 1))
    assert all({"schema", "seq", "time", "type"} <= set(line) for line in events)
    assert any(line["type"] == "text_delta" for line in lines) is deltas
    assert lines[-2]["type"] == "session_ended" and lines[-1]["type"] == "result"
    assert lines[-1]["verified"] is True


async def test_a_question_is_denied_since_nobody_can_answer() -> None:
    question = Question("q1", "shell", "rm -rf /", "deletes")
    steps: list[Step] = [
        started(), Await(Submit), TurnStarted(1, user("x")), ToolStarted(ToolCall("c1", "shell", "{}"), "rm -rf /"),
        PermissionAsked("c1", question, Verdict("ask", "deletes")), Await(Decide),
        ToolFinished("c1", "shell", ToolResult("c1", "refused", "denied"), 0.0),
        TurnFinished(1, Outcome("denied", 4, "I may not.")),
    ]  # fmt: skip
    code, out, _, session = await run(steps, "json")
    assert code == 4
    assert [op.answer for op in session.ops if isinstance(op, Decide)] == ["deny"]
    assert json.loads(out)["denied"] == [{"tool": "shell", "action": "rm -rf /", "reason": "refused"}]


async def test_foreign_bytes_reach_neither_stream() -> None:
    evil = "\x1b]52;c;QQ==\x07\x9b31m\u202e"
    steps: list[Step] = [
        started(), Await(Submit), TurnStarted(1, user("x")), ToolStarted(ToolCall("c1", "re" + evil, "{}"), evil),
        ToolFinished("c1", "re" + evil, ToolResult("c1", evil, "error"), 0.0), Notice("warning", evil, evil),
        PatchApplied(Patch("p", "t", Cause("shell"), (FileChange(evil, "added"),)), f"+{evil}\n"),
        TurnFinished(1, Outcome("done", 0, evil, warnings=(evil,), reason=evil)),
    ]  # fmt: skip
    for output in ("text", "json", "stream-json"):
        _, out, err, _ = await run(list(steps), output, 1)
        assert not {"\x1b", "\x07", "\x9b", "\u202e"} & set(out + err)
        if output == "json":
            assert json.loads(out)["answer"] == evil


@pytest.mark.parametrize(
    ("reason", "code"), [("sigint", 130), ("sigterm", 143), ("sighup", 143), ("quit", 130), ("crash", 1)]
)
def test_a_session_that_ends_early_says_so(reason: str, code: int) -> None:
    collector = Collector()
    collector.add(SessionEnded(reason))
    assert collector.result().exit_code == code


def patch(number: int, before: str, after: str, path: str = "a.py", kind: str = "edit") -> PatchApplied:
    cause = Cause(kind)  # type: ignore[arg-type]  # a literal
    return PatchApplied(Patch(f"p{number}", "t", cause, (FileChange(path, "modified", 1, 1),), before, after), "d")


@pytest.mark.parametrize(
    ("patches", "left"),
    [
        ([patch(1, "t0", "t1"), patch(2, "t1", "t2")], ["p1", "p2"]),
        ([patch(1, "t0", "t1"), patch(2, "t1", "t0", kind="rollback")], []),
        ([patch(1, "t0", "t1"), patch(2, "t1", "t2"), patch(3, "t2", "t1", kind="undo")], ["p1"]),
        ([patch(1, "", ""), patch(2, "", "")], ["p1", "p2"]),
    ],
)
def test_patches_that_were_taken_back_do_not_count(patches: list[PatchApplied], left: list[str]) -> None:
    collector = Collector()
    for event in patches:
        collector.add(event)
    assert [patch.id for patch in collector.result().patches] == left


def test_lines_of_a_file_are_summed() -> None:
    events = [patch(1, "t0", "t1"), patch(2, "t1", "t2"), patch(3, "t2", "t3", kind="user", path="mine.py")]
    assert [(f.path, f.insertions) for f in files_changed(event.patch for event in events)] == [("a.py", 2)]


def test_a_closed_pipe_is_no_failure(tmp_path: Path) -> None:
    read, write = os.pipe()
    os.close(read)
    with os.fdopen(write, "w") as file:
        stream = Stream(file)
        stream.write("x")
        assert stream.broken
        stream.write("more")


def test_a_narrow_encoding_gets_escapes() -> None:
    raw = io.BytesIO()
    file = io.TextIOWrapper(raw, encoding="ascii")
    Stream(file).write("✓ done")
    assert raw.getvalue() == b"\\u2713 done"


@pytest.mark.parametrize(
    ("color", "environment", "colour"),
    [
        ("always", {"NO_COLOR": "1"}, True), ("never", {"FORCE_COLOR": "1"}, False), ("auto", {}, False),
        ("auto", {"FORCE_COLOR": "1"}, True), ("auto", {"FORCE_COLOR": "1", "NO_COLOR": "1"}, False),
    ],
)  # fmt: skip
def test_colour(color: str, environment: dict[str, str], colour: bool) -> None:
    assert wants_colour(Stream(io.StringIO()), color, environment) is colour
