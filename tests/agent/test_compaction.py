"""Compaction: what goes first, what always stays, and what happens when it fails."""

from itertools import pairwise
from typing import Any

import pytest
from support.desk import Desk
from support.live import live, turn, until

from tcoder.agent.compaction import drop_results, ending, rendered
from tcoder.agent.digest import HEAD, cut_middle, digest, fitted, is_digest
from tcoder.agent.journal import load
from tcoder.agent.measure import total
from tcoder.agent.state import SessionState, replay
from tcoder.protocol.attempt import Attempt
from tcoder.protocol.checks import CheckReport, TestResult
from tcoder.protocol.edits import Cause, FileChange, Patch
from tcoder.protocol.events import (
    AttemptRecorded,
    ChecksRan,
    Compacted,
    ModelAsked,
    Notice,
    PatchApplied,
    PlanChanged,
    TurnStarted,
)
from tcoder.protocol.messages import (
    AssistantMessage,
    ImagePart,
    Message,
    ReasoningPart,
    TextPart,
    ToolCall,
    ToolResult,
    ToolResults,
    UserMessage,
)
from tcoder.protocol.ops import Compact
from tcoder.protocol.plan import PlanStep


def user(text: str) -> UserMessage:
    return UserMessage((TextPart(text),))


def round_of(number: int, size: int = 1000, status: Any = "ok") -> tuple[Message, ...]:
    thought = ReasoningPart("hm", '{"x":1}', "x/m")
    call = ToolCall(f"c{number}", "read", '{"path":"a.py"}')
    content = "a" * (size - 10) + f"end of {number:3}"[:10]
    return AssistantMessage((thought, call), "x/m"), ToolResults((ToolResult(f"c{number}", content, status),))


def rounds(count: int, size: int = 1000) -> tuple[Message, ...]:
    return (user("go"), *(message for number in range(count) for message in round_of(number, size)))


def contents(messages: tuple[Message, ...]) -> list[str]:
    return [r.content for message in messages if isinstance(message, ToolResults) for r in message.results]


# -- old results first


def test_old_results_become_a_line_and_the_last_stay() -> None:
    lean = drop_results(rounds(10), kept=3)
    old, kept = contents(lean)[:7], contents(lean)[7:]
    assert old == ["[The result of read was left out to save room: 1000 characters.]"] * 7
    assert kept == contents(rounds(10))[7:]


def test_of_a_failure_the_end_stays() -> None:
    lean = drop_results((user("go"), *round_of(1, 5000, "error"), *round_of(2)), kept=1)
    assert "5000 characters" in contents(lean)[0]
    assert contents(lean)[0].endswith("end of   1]")


def test_short_results_are_not_worth_a_line() -> None:
    messages = rounds(4, size=100)
    assert contents(drop_results(messages, kept=0)) == contents(messages)


def test_every_call_keeps_its_result_and_thoughts_go_but_those_of_the_last_answer() -> None:
    lean = drop_results(rounds(5), kept=1)
    answers = [message for message in lean if isinstance(message, AssistantMessage)]
    assert [any(isinstance(p, ReasoningPart) for p in answer.parts) for answer in answers] == [False] * 4 + [True]
    for message, following in pairwise(lean):
        if isinstance(message, AssistantMessage):
            assert isinstance(following, ToolResults)
            assert [r.call_id for r in following.results] == [call.id for call in message.calls]


# -- the end that stays


@pytest.mark.parametrize(("room", "kept_rounds"), [(3_200, 3), (1_200, 1), (10**6, 8)])
def test_whole_rounds_stay_within_the_room(room: int, kept_rounds: int) -> None:
    kept = ending(rounds(8), room)
    assert len(kept) == 2 * kept_rounds
    assert isinstance(kept[0], AssistantMessage)
    assert contents(kept) == contents(rounds(8))[-kept_rounds:]


def test_of_a_last_result_that_is_too_long_both_ends_stay() -> None:
    kept = ending((user("go"), *round_of(1, 100_000)), 4_000)
    assert total(kept) < 4_000
    assert contents(kept)[0].startswith("aaa") and contents(kept)[0].endswith("end of   1")
    assert "characters left out" in contents(kept)[0]


def test_without_an_answer_nothing_is_kept() -> None:
    assert ending((user("a"), user("b")), 1000) == ()


# -- the digest

FAILING = TestResult("test_calc.py::test_add", "failed", message="assert -1 == 3")
STORY = replay(
    [
        TurnStarted(1, user("The port is 48213. Never touch legacy.py.")),
        AttemptRecorded(Attempt(1, "swap the operands of add", "", 2, 2, "same", signature="AssertionError: -1 == 3")),
        PatchApplied(Patch("p1", "t", Cause("edit", turn=1), (FileChange("calc.py", "modified", 3, 1),))),
        PatchApplied(Patch("p2", "t", Cause("user", turn=1), (FileChange("b.py", "added", 9, 0),), undone=True)),
        PlanChanged((PlanStep("find the sign", "done"), PlanStep("run the tests")), "model"),
        ChecksRan("attempt", CheckReport("pytest -q", "pytest", 1, 0.5, (FAILING,))),
        TurnStarted(2, UserMessage((TextPart("now the other one"), ImagePart("image/png", "aGk=")))),
    ]
)


@pytest.mark.parametrize(
    "fact",
    [
        "1. The port is 48213. Never touch legacy.py.",
        "2. now the other one\n(This last one is the task now.)",
        "swap the operands of add: same (2 → 2 failing, not kept); left: AssertionError: -1 == 3",
        "calc.py: modified +3 −1 by edit",
        "b.py: added +9 −0 by the person, undone",
        "[done] find the sign",
        "`pytest -q`: 0 passed, 1 failed",
        "test_calc.py::test_add: assert -1 == 3",
        "# Summary of the conversation\nWe looked at calc.py.",
    ],
)
def test_the_digest_holds(fact: str) -> None:
    message = digest(STORY, "We looked at calc.py.", 10_000)
    assert is_digest(message)
    assert isinstance(message.parts[0], TextPart) and fact in message.parts[0].text
    assert message.parts[1:] == (ImagePart("image/png", "aGk="),)


def test_a_digest_of_nothing_is_short() -> None:
    part = digest(SessionState(), "", 1000).parts[0]
    assert isinstance(part, TextPart) and len(part.text) < 300


@pytest.mark.parametrize(
    ("sizes", "room", "kept"),
    [
        ((10, 10), 100, (10, 10)),
        ((10, 5_000, 10), 1_020, (10, 1_000, 10)),
        ((4_000, 4_000), 2_000, (1_000, 1_000)),
        ((9_000, 600), 1_000, (500, 500)),
        ((), 10, ()),
    ],
)
def test_the_longest_give_way_first(sizes: tuple[int, ...], room: int, kept: tuple[int, ...]) -> None:
    texts = fitted(["x" * size for size in sizes], room)
    assert tuple(text.count("x") for text in texts) == kept


def test_a_cut_says_how_much_is_missing() -> None:
    assert cut_middle("a" * 50 + "b" * 50, 20) == f"{'a' * 10}\n[… 80 characters left out …]\n{'b' * 10}"


def test_what_is_summarised_has_the_earlier_summary_in_place_of_the_digest() -> None:
    messages = (digest(STORY, "old", 1000), *rounds(2))
    text = rendered(messages, "The old summary.", 10_000)
    assert text.startswith("[earlier summary]\nThe old summary.") and HEAD not in text
    assert '[call read] {"path":"a.py"}' in text and "[result of read, ok]" in text
    assert len(rendered(rounds(100, 5_000), "", 3_000)) < 3_100


# -- in a real session


def read(path: str, **more: Any) -> dict[str, Any]:
    return {"calls": [{"name": "read", "arguments": {"path": path}}], **more}


async def test_planted_facts_survive_three_compactions_whatever_the_summaries_say(desk: Desk, serve: Any) -> None:
    nothing = {"text": "Nothing worth keeping happened."}
    steps = [{"text": "Understood."}]
    for _ in range(3):
        steps += [nothing, read("calc.py"), {"text": "Looked."}]
    server = serve(*steps)
    async with live(desk, server) as session:
        await turn(session, "The retry limit is 7341. Do not change the public API of calc.py.")
        failed = Attempt(1, "cache the result of add", "", 1, 1, "same", signature="AssertionError: stale")
        session.record(AttemptRecorded(failed))
        for number in range(3):
            seen = await until(session, Compacted, Compact())
            assert isinstance(seen[-1], Compacted) and seen[-1].how == "summary"
            await turn(session, f"look again, {number}")
        body = server.requests[-1].raw.decode()
        for fact in (
            "The retry limit is 7341",
            "Do not change the public API of calc.py",
            "cache the result of add: same",
            "AssertionError: stale",
            "look again, 0",
            "look again, 2",
        ):
            assert fact in body
        assert body.count("The retry limit is 7341") == 1
        assert session.state.compactions == 3
        asked = [r.event for r in session.log if isinstance(r.event, ModelAsked) and not r.event.aside]
        assert [event.cache_break for event in asked] == ["", "compaction", "", "compaction", "", "compaction", ""]
        live_state = session.state
    stored = next((desk.home / "state" / "projects").glob("*/*.jsonl"))
    assert replay(recorded.event for recorded in load(stored).events) == live_state


async def test_old_results_are_dropped_without_asking_a_model(desk: Desk, serve: Any) -> None:
    (desk.root / "long.txt").write_text("".join(f"line {n} of a long file\n" for n in range(120)))  # some 1,000 tokens
    reads = [{"name": "read", "arguments": {"path": "long.txt", "line": number}} for number in range(1, 41)]
    server = serve(*({"calls": [call], "usage": None} for call in reads))
    async with live(desk, server, "[budget]\nmax_context = 16000\nmax_turns = 26\n") as session:
        await turn(session, "read it all")
        events = [recorded.event for recorded in session.log]
        compactions = [event for event in events if isinstance(event, Compacted)]
        assert [event.how for event in compactions] == ["results_dropped"] * 2
        assert all(event.tokens_after < event.tokens_before for event in compactions)
        assert not any(isinstance(event, ModelAsked) and event.aside for event in events)
        assert max(len(seen.raw) for seen in server.requests) < 16_000 * 4.5


async def test_a_summary_is_asked_when_there_are_no_results_to_drop(desk: Desk, serve: Any) -> None:
    thinking_aloud = {"text": "It is a matter of signs. " * 200, "usage": None, "piece": 1000}
    steps = [{**thinking_aloud, "calls": [{"name": "read", "arguments": {"path": f"none-{n}"}}]} for n in range(40)]
    server = serve(*steps)
    async with live(desk, server, "[budget]\nmax_context = 12000\nmax_turns = 16\n") as session:
        await turn(session, "think about it")
        events = [recorded.event for recorded in session.log]
        compactions = [event for event in events if isinstance(event, Compacted)]
        assert compactions and {event.how for event in compactions} == {"summary"}
        assert all(event.tokens_after < 0.7 * event.tokens_before for event in compactions)
        asides = [event for event in events if isinstance(event, ModelAsked) and event.aside]
        assert len(asides) == len(compactions)
        assert session.state.said[0] == UserMessage((TextPart("think about it"),))


def full() -> dict[str, Any]:
    error = {"message": "This model's maximum context length is 8192 tokens", "code": "context_length_exceeded"}
    return {"status": 400, "body": {"error": error}}


async def test_a_full_context_is_compacted_once(desk: Desk, serve: Any) -> None:
    server = serve(read("calc.py"), full(), {"text": "Summary: read calc.py."}, {"text": "All is well."})
    async with live(desk, server) as session:
        outcome = (await turn(session, "what is in calc.py?")).outcome
        assert (outcome.status, outcome.answer) == ("done", "All is well.")
        assert session.state.compactions == 1
        assert "Summary: read calc.py." in server.requests[-1].raw.decode()


async def test_a_context_that_stays_full_ends_the_turn(desk: Desk, serve: Any) -> None:
    server = serve(read("calc.py"), full(), {"text": "Summary."}, full())
    async with live(desk, server) as session:
        outcome = (await turn(session, "what is in calc.py?")).outcome
        assert (outcome.status, outcome.exit_code) == ("model_unusable", 6)
        assert len(server.requests) == 4


async def test_a_failed_compaction_keeps_the_history_and_stops(desk: Desk, serve: Any) -> None:
    server = serve(read("calc.py"), full())
    async with live(desk, server) as session:
        outcome = (await turn(session, "what is in calc.py?")).outcome
        assert (outcome.status, outcome.exit_code) == ("budget", 5)
        assert "could not be summarised" in outcome.reason and "/compact" in outcome.reason
        assert session.state.compactions == 0
        assert any("return a - b" in content for content in contents(tuple(session.state.messages)))


async def test_a_compaction_by_hand_that_fails_is_told_and_changes_nothing(desk: Desk, serve: Any) -> None:
    server = serve({"text": "Hello."}, {"status": 401})
    async with live(desk, server) as session:
        await turn(session, "hello")
        before = session.state.messages
        seen = await until(session, Notice, Compact("the names"))
        assert isinstance(seen[-1], Notice) and seen[-1].level == "error"
        assert session.state.messages == before
        assert "to keep above all: the names" in server.requests[-1].raw.decode()


async def test_rules_are_read_again_at_a_compaction(desk: Desk, serve: Any) -> None:
    (desk.root / "AGENTS.md").write_text("Use tabs.")
    server = serve({"text": "Hello."}, {"text": "Summary."}, {"text": "Hello again."})
    async with live(desk, server) as session:
        await turn(session, "hello")
        (desk.root / "AGENTS.md").write_text("Use spaces.")
        await until(session, Compacted, Compact())
        await turn(session, "hello")
    first, last = server.requests[0].raw.decode(), server.requests[-1].raw.decode()
    assert "Use tabs." in first and "Use spaces." in last and "Use tabs." not in last
