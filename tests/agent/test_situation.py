"""What the slider's rules are told of a session, and which of them speaks then."""

import pytest

from tcoder.agent.situation import samples, situation
from tcoder.agent.state import replay
from tcoder.models.routing import RULES, Situation
from tcoder.protocol.attempt import Attempt
from tcoder.protocol.budget import Usage
from tcoder.protocol.checks import CheckReport, TestResult
from tcoder.protocol.edits import Cause, FileChange, Patch
from tcoder.protocol.events import (
    AttemptRecorded,
    ChecksRan,
    Event,
    ModelAnswered,
    ModelAsked,
    NoteAdded,
    PatchApplied,
    Recorded,
    ToolFinished,
    TurnStarted,
    VariantChanged,
)
from tcoder.protocol.messages import AssistantMessage, TextPart, ToolCall, ToolResult, UserMessage
from tcoder.protocol.variant import Served

ASKED = TurnStarted(1, UserMessage((TextPart("fix it"),)))
FAILING = CheckReport("pytest", "pytest", 1, 0.1, (TestResult("test_a", "failed"),))


def called(*names: str) -> list[Event]:
    calls = tuple(ToolCall(f"c{at}", name, "{}") for at, name in enumerate(names))
    usage = Usage(input_uncached=900, cache_read=100, output=5, calls=1)
    answered = ModelAnswered(1, AssistantMessage(calls, "x/m", "tool_calls", usage), Served())
    return [answered, *(ToolFinished(call.id, call.name, ToolResult(call.id, "ok"), 0.1) for call in calls)]


def patched(*paths: str, cause: str = "edit") -> PatchApplied:
    files = tuple(FileChange(path, "modified", 1, 1) for path in paths)
    return PatchApplied(Patch(f"p{paths}", "t", Cause(cause, turn=1), files))  # type: ignore[arg-type]  # a table


def failed(number: int, signature: str) -> AttemptRecorded:
    return AttemptRecorded(Attempt(number, "h", "", 1, 1, "same", signature=signature))


DISPROVEN: list[Event] = [patched("a.py"), ChecksRan("final", FAILING), NoteAdded("tests", "they fail")]


@pytest.mark.parametrize(
    ("events", "expected", "rule"),
    [
        ([], Situation(), ""),
        (called("read", "search"), Situation(phase="explore", prompt_tokens=1000), "exploring → fast"),
        (called("plan", "read"), Situation(phase="plan", prompt_tokens=1000), "planning → standard"),
        (
            [*called("edit"), patched("a.py")],
            Situation(phase="edit", files=1, prompt_tokens=1000),
            "the first edit, of one file → fast",
        ),
        (
            [*called("edit"), patched("a.py", "b.py"), patched("c.py", cause="user")],
            Situation(phase="edit", files=2, prompt_tokens=1000),
            "an edit of several files → standard",
        ),
        ([*called("edit"), *DISPROVEN], Situation(phase="review", files=1, prompt_tokens=1000), "review → standard"),
        ([ChecksRan("baseline", FAILING)], Situation(), ""),  # what failed before is nobody's attempt
        (
            [*called("edit"), *DISPROVEN, failed(1, "x"), failed(2, "y"), failed(3, "y")],
            Situation(phase="review", files=1, attempts=3, failed=2, prompt_tokens=1000),
            "two failed attempts on one hypothesis → standard",
        ),
    ],
)
def test_situations(events: list[Event], expected: Situation, rule: str) -> None:
    found = situation(replay([ASKED, *events]))
    assert found == expected
    assert next((one.text for one in RULES if one.applies(found)), "") == rule


def test_calls_are_counted_since_the_slider_moved() -> None:
    moved = VariantChanged("fast", auto=True, sticky=True, reason="r", by="rules")
    state = replay([ASKED, ModelAsked(1, "standard", "x/m"), moved, ModelAsked(2, "fast", "x/s")])
    assert situation(state).calls_on_stop == 1


def test_each_answer_is_a_sample_of_the_stop_that_was_asked() -> None:
    log = [
        Recorded(at, "t", event)
        for at, event in enumerate(
            [ASKED, ModelAsked(1, "fast", "x/s"), *called("read"), ModelAsked(2, "standard", "x")]
        )
    ]
    assert [sample.stop for sample in samples(log)] == ["fast"]
