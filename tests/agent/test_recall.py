"""Going on with a stored session: the same state as all events give, from a bounded part of them."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from msgspec.structs import replace
from support.agent_runs import RUNS, Deeds, run
from support.desk import FIX, Desk

from tcoder.agent.journal import Stored, load
from tcoder.agent.recall import STEP_EVENTS, left_open, recall, recall_beside
from tcoder.agent.state import replay
from tcoder.protocol.budget import Usage
from tcoder.protocol.codec import encode_line
from tcoder.protocol.errors import JournalError
from tcoder.protocol.events import (
    ModelAnswered,
    Notice,
    PatchApplied,
    Recorded,
    SessionStarted,
    ToolFinished,
    ToolStarted,
)


def write(path: Path, deeds: Deeds) -> list[Recorded]:
    recorded = [Recorded(seq, "2026-01-01T00:00:00.000Z", event) for seq, event in enumerate(run(deeds), 1)]
    path.write_bytes(b"".join(map(encode_line, recorded)))
    return recorded


LONG: Deeds = [
    *[("turn", "first"), ("calls", "ab"), ("finish", "x" * 50), ("finish", "y"), ("finish", "z"), ("patch", "")],
    *[("answer", "said"), ("end", ""), ("compact", "c"), ("name", "n"), ("turn", "second"), ("calls", "")],
    *[("finish", "new" * 20), ("answer", "done"), ("end", "")],
]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(RUNS)
def test_the_state_is_the_fold_of_all_events_however_little_is_shown(tmp_path: Path, deeds: Deeds) -> None:
    recorded = write(tmp_path / "s.jsonl", deeds)
    whole = replay(one.event for one in recorded)
    for shown_events, shown_bytes in ((2_000, 16_000_000), (3, 16_000_000), (2_000, 1), (5, 600)):
        recalled = recall(tmp_path / "s.jsonl", shown_events, shown_bytes)
        assert recalled.state == whole
        assert recalled.next_seq == len(recorded) + 1
        assert recalled.problems == ()
        assert sum(usages(recalled.past), Usage()) == sum(usages(recorded), Usage())
        if recalled.whole:
            assert recalled.past == tuple(recorded)
        else:
            assert isinstance(recalled.past[0].event, SessionStarted)
            assert any(isinstance(one.event, Notice) and one.event.topic == "journal" for one in recalled.past)


def usages(recorded: Any) -> list[Usage]:
    return [one.event.message.usage or Usage(calls=1) for one in recorded if isinstance(one.event, ModelAnswered)]


def test_of_what_was_replaced_long_ago_calls_and_results_are_not_even_decoded(tmp_path: Path) -> None:
    recorded = write(tmp_path / "s.jsonl", LONG)
    recalled = recall(tmp_path / "s.jsonl", 2_000, 1)
    assert recalled.state == replay(one.event for one in recorded)
    path = tmp_path / "s.jsonl"
    path.write_bytes(path.read_bytes().replace(b"x" * 50, b"\xff" * 50))  # what is not decoded cannot be wrong
    assert recall(path, 2_000, 1).problems == ()
    assert len(recall(path).problems) == 1


def test_what_is_shown_of_a_long_session_is_its_end_after_a_short_form_of_the_rest(tmp_path: Path) -> None:
    recorded = write(tmp_path / "s.jsonl", LONG)
    recalled = recall(tmp_path / "s.jsonl", 4)
    assert recalled.past[-4:] == tuple(recorded[-4:])
    before = [one.event for one in recalled.past[:-4]]
    assert [event.patch.id for event in before if isinstance(event, PatchApplied)] == ["p5"]
    assert not any(isinstance(event, ToolFinished) for event in before)
    text = next(event.text for event in before if isinstance(event, Notice))
    assert text == f"the first {len(recorded) - 4} events are not shown; `tcoder sessions export s` writes all of them"


def test_bad_lines_are_named_and_a_newer_format_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    recorded = write(path, LONG)
    lines = path.read_bytes().split(b"\n")
    lines[2] = b'{"schema":1,"seq":3,"time":"","type":"tool_finished","call'  # torn, long before the compaction
    path.write_bytes(b"\n".join(lines) + b'{"torn')
    for shown_bytes in (16_000_000, 1):
        problems = recall(path, 2_000, shown_bytes).problems
        assert problems[0].startswith("line 3 ") and "incomplete" in problems[1] and len(problems) == 2
    path.write_bytes(encode_line(recorded[0]).replace(b'"schema":1', b'"schema":99'))
    with pytest.raises(JournalError, match="newer"):
        recall(path)


def test_events_can_be_gone_through_again(tmp_path: Path) -> None:
    write(tmp_path / "s.jsonl", LONG)
    stored = Stored(tmp_path / "s.jsonl")
    assert tuple(stored) == tuple(stored) == load(tmp_path / "s.jsonl").events


def test_a_session_is_exported_for_programs_and_for_people(desk: Desk, serve: Any) -> None:
    server = serve({"calls": [FIX]}, {"text": "Fixed `add`."})
    done = desk.ask(server, "fix add", "--json", "--no-tests").result
    exported = desk.run("sessions", "export", "--json").result
    assert exported["schema"] == 1 and exported["problems"] == []
    assert exported["session"]["id"] == done["session_id"] and exported["session"]["title"] == "fix add"
    kinds = [event["type"] for event in exported["events"]]
    assert kinds[0] == "session_started" and kinds[-1] == "session_ended" and "patch_applied" in kinds
    assert [event["seq"] for event in exported["events"]] == list(range(1, len(kinds) + 1))
    text = desk.run("sessions", "export").out
    assert "## fix add" in text and "+    return a + b" in text and "Fixed `add`." in text
    shown = desk.run("sessions", "show", "--json").result
    assert shown["session"] == exported["session"]
    layers = {layer["name"]: layer["tokens"] for layer in shown["context"]["layers"]}
    assert {"tools", "system", "conversation", "tool results"} <= set(layers)
    assert sum(layers.values()) > 100 and shown["context"]["window"] > 10_000
    assert desk.run("sessions", "show").out.startswith(done["session_id"])


async def test_others_have_their_turn_while_a_long_session_is_read(tmp_path: Path) -> None:
    recorded = write(tmp_path / "s.jsonl", [deed for _ in range(300) for deed in LONG])
    turns = 0

    async def typing() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    person = asyncio.create_task(typing())
    recalled = await recall_beside(tmp_path / "s.jsonl")
    person.cancel()
    assert recalled == recall(tmp_path / "s.jsonl")
    assert turns > len(recorded) // STEP_EVENTS


@pytest.mark.parametrize(
    ("deeds", "kinds"),
    [
        (LONG, []),
        ([("turn", "x"), ("calls", "a")], [ToolStarted, ToolFinished] * 2),
        ([("turn", "x"), ("calls", "a"), ("finish", "y")], [ToolStarted, ToolFinished]),
    ],
)
def test_calls_of_a_process_that_was_killed_get_their_results(tmp_path: Path, deeds: Deeds, kinds: list[Any]) -> None:
    write(tmp_path / "s.jsonl", deeds)
    recalled = recall(tmp_path / "s.jsonl")
    events = left_open(recalled)
    assert [type(event) for event in events] == kinds
    state = replay(events, recalled.state)
    assert state.pending == () and state.unanswered == ()
    started = Recorded(recalled.next_seq, "", ToolStarted(recalled.state.unanswered[0], "x")) if kinds else None
    if started is not None:
        events = left_open(replace(recalled, past=(*recalled.past, started)))
        assert [type(event) for event in events] == kinds[1:]
        assert isinstance(events[0], ToolFinished) and "look before you repeat it" in events[0].result.content
