# ruff: noqa: E501  a case a line
"""The transcript: blocks as a fold of events, whatever deltas came in between."""

import pytest
from msgspec.structs import replace

from tcoder.frontends.blocks import rows
from tcoder.frontends.cards import (
    AttemptCard,
    Block,
    ChecksCard,
    ErrorCard,
    ModelSaid,
    NoticeLine,
    Thought,
    ToolCard,
    TurnEnd,
    UserSaid,
)
from tcoder.frontends.diff_rows import diff_rows, proposed
from tcoder.frontends.lines import plain
from tcoder.frontends.merging import merged
from tcoder.frontends.transcript import Transcript
from tcoder.frontends.view import View, fold
from tcoder.protocol.attempt import Attempt
from tcoder.protocol.events import (
    AttemptRecorded,
    Delta,
    MessageQueued,
    MessageUnqueued,
    ModelAsked,
    ModelFailed,
    Notice,
    OutlineTaken,
    OutputDelta,
    Recorded,
    Rewound,
    SessionEnded,
    SessionNamed,
    ToolFinished,
    ToolStarted,
    TurnStarted,
)
from tcoder.protocol.messages import ToolCall, ToolResult
from tcoder.protocol.request import ReasoningDelta, RetryDelta, TextDelta
from tests.support.scripted_session import DELTAS, Await, Step
from tests.support.stories import answer, fixed, started, user


def items(steps: list[Step]) -> list[Recorded | Delta]:
    out: list[Recorded | Delta] = []
    for step in steps:
        if isinstance(step, int | float | Await):
            continue
        out.append(step if isinstance(step, DELTAS) else Recorded(len(out) + 1, "2026-12-01T14:00:00Z", step))
    return out


def blocks(steps: list[Step]) -> list[Block]:
    transcript = Transcript()
    transcript.feed(items(steps))
    return transcript.blocks


def test_an_attempt_that_is_kept_stands_once_and_a_rewind_is_said() -> None:
    attempt = Attempt(1, "a cap", "", 1, 1, "same")
    found = blocks(
        [
            started(),
            TurnStarted(1, user("go")),
            AttemptRecorded(attempt),
            AttemptRecorded(replace(attempt, kept=True)),
            Rewound("k1", 0, 0),
            SessionNamed("the cap"),
            OutlineTaken("src/"),
            TurnStarted(2, user("again")),
            AttemptRecorded(attempt),
        ]
    )
    assert [type(of).__name__ for of in found] == ["UserSaid", "AttemptCard", "NoticeLine", "UserSaid", "AttemptCard"]
    assert found[1] == AttemptCard(replace(attempt, kept=True))
    assert isinstance(found[2], NoticeLine) and "checkpoint" in found[2].text


def test_a_turn_as_blocks() -> None:
    kinds = [type(block).__name__ for block in blocks(fixed())]
    assert kinds == [
        "UserSaid", "CheckpointMark", "LocatedCard", "Thought", "ModelSaid", "ToolCard", "ModelSaid", "ChecksCard",
        "ToolCard", "ToolCard", "AttemptCard", "CheckpointMark", "ModelSaid", "TurnEnd",
    ]  # fmt: skip


def test_the_journal_alone_gives_the_same_blocks_but_for_thoughts_that_were_only_streamed() -> None:
    live = blocks(fixed())
    stored = blocks([step for step in fixed() if not isinstance(step, DELTAS)])
    assert stored == [block for block in live if not isinstance(block, Thought)]


def test_one_by_one_is_the_same_as_at_once() -> None:
    transcript = Transcript()
    for item in items(fixed(ask=True)):
        transcript.feed([item])
    assert transcript.blocks == blocks(fixed(ask=True))


def test_only_what_changed_is_named() -> None:
    transcript = Transcript()
    assert transcript.feed(items([TurnStarted(1, user("x")), ModelAsked(1, "fast", "m")])) == [0]
    assert transcript.feed([TextDelta("a")]) == [1]
    assert transcript.feed([TextDelta("b"), TextDelta("c")]) == [1]
    assert transcript.feed(items([ModelAsked(2, "fast", "m")])) == [1]
    assert transcript.feed([]) == []


def test_a_retry_drops_what_was_streamed() -> None:
    got = blocks(
        [ModelAsked(1, "fast", "m"), TextDelta("half"), RetryDelta("network", "reset", 2.0, 1), answer(1, "all")]
    )
    assert got == [ModelSaid(""), NoticeLine("warning", "retry", "reset, again in 2 s (attempt 1)"), ModelSaid("all")]


def test_an_aside_is_a_thought() -> None:
    got = blocks(
        [ModelAsked(1, "fast", "m", aside=True), TextDelta("draft"), ModelAsked(2, "fast", "m"), TextDelta("x")]
    )
    assert got == [Thought("", aside=True), ModelSaid("x", open=True)]


def test_reasoning_is_closed_by_text() -> None:
    got = blocks([ModelAsked(1, "fast", "m"), ReasoningDelta("hm"), TextDelta("so")])
    assert got == [Thought("hm"), ModelSaid("so", open=True)]


def test_a_failure_keeps_what_had_arrived() -> None:
    got = blocks([ModelAsked(1, "fast", "m"), TextDelta("ha"), ModelFailed(1, "network", "reset", "wait", "ha")])
    assert got[-1] == ErrorCard("network", "reset", "wait", "ha")


def test_tool_cards_gather_patch_report_and_output() -> None:
    cards = [block for block in blocks(fixed(ask=True)) if isinstance(block, ToolCard)]
    assert [(card.name, card.state) for card in cards] == [
        ("read", "ok"),
        ("edit", "ok"),
        ("test", "ok"),
        ("shell", "ok"),
    ]
    assert cards[1].patch is not None and cards[1].patch.insertions == 2
    assert cards[2].report is not None and cards[2].report.ok
    assert cards[3].question is not None


def test_checks_outside_a_test_call_are_a_card_of_their_own() -> None:
    assert any(isinstance(block, ChecksCard) and block.phase == "baseline" for block in blocks(fixed()))


def test_a_steered_message_appears_when_it_is_delivered() -> None:
    queued: list[Step] = [MessageQueued("m1", "also b", True), MessageQueued("m2", "later", False)]
    assert blocks(queued) == []
    assert [block.text for block in blocks([*queued, MessageUnqueued("m1", True)]) if isinstance(block, UserSaid)] == [
        "also b"
    ]


def test_an_answer_that_was_not_said_is_shown_at_the_end() -> None:
    got = blocks(fixed())
    assert isinstance(got[-1], TurnEnd) and isinstance(got[-2], ModelSaid)
    assert sum(isinstance(block, ModelSaid) and block.text.startswith("Fixed") for block in got) == 1


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ([TextDelta("a"), TextDelta("b"), ReasoningDelta("c")], [TextDelta("ab"), ReasoningDelta("c")]),
        ([OutputDelta("1", "a"), OutputDelta("2", "b"), OutputDelta("2", "c")], [OutputDelta("1", "a"), OutputDelta("2", "bc")]),
        ([TextDelta("a"), RetryDelta("network", "x", 0, 1), TextDelta("b")], [TextDelta("a"), RetryDelta("network", "x", 0, 1), TextDelta("b")]),
        ([], []),
    ],
)  # fmt: skip
def test_merged(given: list[Delta], expected: list[Delta]) -> None:
    assert list(merged(given)) == expected


def test_the_view_follows() -> None:
    view = View()
    for item in items(fixed(ask=True)):
        view = fold(view, item)
        if view.questions:
            assert view.activity == "asking" and view.questions[0].always == "make *"
    assert (view.running, view.turn, view.stop, view.model) == (False, 1, "standard", "openai/gpt-x")
    assert len(view.attempts) == 1 and len(view.checkpoints) == 2 and all(step.state == "done" for step in view.plan)
    assert view.usage.calls == 5 and view.context == 9310
    assert view.tokens_per_s == pytest.approx(150)


def test_an_unchanged_view_is_the_same_object() -> None:
    view = fold(View(), Recorded(1, "", started()))
    assert fold(view, OutputDelta("c", "x")) is view


@pytest.mark.parametrize(
    ("arguments", "lines"),
    [
        ('{"path": "a", "old": "x=1", "new": "x=2\\ny=3"}', ["  − x=1", "  + x=2", "  + y=3"]),
        ('{"path": "a", "content": "one\\n"}', ["  + one"]),
        ('{"patch": "+a\\n-b"}', ["  +a", "  -b"]),
        ('{"command": "ls"}', []),
        ('{"old": 1}', []),
        ("{not json", []),
    ],
)
def test_what_an_asked_edit_would_do(arguments: str, lines: list[str]) -> None:
    assert [plain(row.line) for row in proposed(arguments)] == lines


def _read(number: int) -> list[Recorded | Delta]:
    call = ToolCall(f"c{number}", "read", "{}")
    events = (ToolStarted(call, f"file{number}.py"), ToolFinished(call.id, "read", ToolResult(call.id, "text"), 0.1))
    return [Recorded(0, "", event) for event in events]


@pytest.mark.parametrize(("reads", "shown"), [(3, 3), (4, 1), (9, 1)])
def test_many_reads_in_a_row_are_one_line(reads: int, shown: int) -> None:
    transcript = Transcript()
    for number in range(reads):
        transcript.feed(_read(number))
    drawn = [row for block in transcript.blocks for row in rows(block)]
    assert len(drawn) == shown
    assert (f"{reads} files" in plain(drawn[-1].line)) is (shown == 1)
    assert len([row for block in transcript.blocks for row in rows(block, "open")[:1]]) == reads


def test_a_call_for_attention_is_no_text() -> None:
    item = Recorded(1, "", Notice("info", "attention", "done after 30 s"))
    transcript = Transcript()
    assert transcript.feed([item]) == []
    assert fold(View(), item).attention == "done after 30 s"


def test_lines_that_look_like_file_headers_are_lines_of_their_hunk() -> None:
    shown = [
        plain(row.line).strip() for row in diff_rows("--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n--- old\n+++ new\n same\n")
    ]
    assert shown == ["1 − -- old", "1 + ++ new", "2   same"]


def test_a_fork_of_an_ended_session_is_alive() -> None:
    view = View()
    for item in items([started(), SessionEnded("quit"), started()]):
        view = fold(view, item)
    assert view.ended == ""
