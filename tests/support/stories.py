# ruff: noqa: E501  scripts read better one step a line
"""Stories: scripts of whole sessions that tests, snapshots and demonstrations share."""

from decimal import Decimal

from tcoder.protocol.attempt import Attempt
from tcoder.protocol.budget import Usage
from tcoder.protocol.checks import CheckReport, Frame, TestResult
from tcoder.protocol.display import DiffBlock, TerminalBlock, TextBlock
from tcoder.protocol.edits import Cause, Checkpoint, FileChange, Patch
from tcoder.protocol.events import (
    AttemptRecorded,
    CheckpointMade,
    ChecksRan,
    Located,
    ModelAnswered,
    ModelAsked,
    OutputDelta,
    PatchApplied,
    PermissionAnswered,
    PermissionAsked,
    PlanChanged,
    SessionStarted,
    ToolFinished,
    ToolStarted,
    TurnFinished,
    TurnStarted,
)
from tcoder.protocol.location import FileHit, IndexState, Location
from tcoder.protocol.messages import AssistantMessage, TextPart, ToolCall, ToolResult, UserMessage
from tcoder.protocol.ops import Decide, Submit
from tcoder.protocol.outcome import Duration, Outcome
from tcoder.protocol.permissions import Question, Verdict
from tcoder.protocol.plan import PlanStep
from tcoder.protocol.request import ReasoningDelta, TextDelta
from tcoder.protocol.variant import ModelVariant, Served
from tests.support.scripted_session import Await, Step

VARIANT = ModelVariant(
    id="openai/gpt-x", model="gpt-x", provider="openai", base_url="http://127.0.0.1:1", effort="high",
    context_window=128_000,
)  # fmt: skip
USAGE = Usage(input_uncached=900, cache_read=8200, output=210, cost=Decimal("0.0043"), calls=1)
DIFF = """--- a/src/retry.py
+++ b/src/retry.py
@@ -38,5 +38,6 @@ def backoff(attempt, base=1.0, cap=30.0):
     for attempt in range(n):
-        delay = base * attempt
+        delay = min(cap, base * 2 ** attempt)
+        log.debug("retry %s", delay)
         yield delay
"""
FAIL = TestResult(
    "tests/test_login.py::test_retry", "failed", 0.01, "assert 8.0 == 4.0",
    frames=(Frame("src/retry.py", 41, "backoff", "delay = base * attempt"),), path="tests/test_login.py",
)  # fmt: skip


def passed(name: str) -> TestResult:
    return TestResult(f"tests/test_login.py::{name}", "passed", 0.01, path="tests/test_login.py")


RED = CheckReport(
    "pytest -q", "pytest", 1, 3.1, (FAIL, passed("test_ok")), output="E   assert 8.0 == 4.0\n1 failed, 1 passed"
)
GREEN = CheckReport("pytest -q", "pytest", 0, 2.9, (passed("test_retry"), passed("test_ok")), output="2 passed")


def started(strategy: str = "agent", workspace: str = "/src/app") -> SessionStarted:
    return SessionStarted("s-1", workspace, "0.1.0", VARIANT, strategy, "ask", "workspace")  # type: ignore[arg-type]  # a literal


def user(text: str) -> UserMessage:
    return UserMessage((TextPart(text),))


def call(number: int, name: str, arguments: str = "{}") -> ToolCall:
    return ToolCall(f"c{number}", name, arguments)


def answer(number: int, text: str, *calls: ToolCall) -> ModelAnswered:
    stop = "tool_calls" if calls else "end"
    message = AssistantMessage((TextPart(text), *calls), VARIANT.id, stop, USAGE)
    return ModelAnswered(number, message, Served("gpt-x-2026", "default", 0.6, 2.0))


def finished(
    number: int,
    name: str,
    *display: TextBlock | DiffBlock | TerminalBlock,
    status: str = "ok",
    content: str = "done",
    took: float = 0.012,
) -> ToolFinished:
    return ToolFinished(f"c{number}", name, ToolResult(f"c{number}", content, status, tuple(display)), took)  # type: ignore[arg-type]  # a literal


PATCH = Patch("p1", "2026-12-01T14:00:09Z", Cause("edit", "src/retry.py", 1, "c2"), (FileChange("src/retry.py", "modified", 2, 1),), "t0", "t1")  # fmt: skip
PLAN = (PlanStep("find the failing test", "done"), PlanStep("patch backoff", "active"), PlanStep("run the tests"))


def fixed(pause: float = 0.0, *, ask: bool = False) -> list[Step]:
    """A failing test is found, fixed and proven: one turn after the first message. With `ask` the last command needs a
    person."""
    words = ["I'll look at ", "the failing ", "test first."]
    steps: list[Step] = [
        started(),
        Await(Submit),
        TurnStarted(1, user("make the login retry test pass")),
        CheckpointMade(Checkpoint("k1", "2026-12-01T14:00:02Z", "t0", Cause("checkpoint", "before turn 1", 1))),
        ModelAsked(1, "standard", "openai/gpt-x", "multi-file"),
        Located(
            Location(
                (FileHit("src/retry.py", 9.1, ("named",)), FileHit("tests/test_login.py", 5.0)), (), IndexState(1.0, 40)
            ),
            0.012,
        ),
        ReasoningDelta("The retry test "),
        pause,
        ReasoningDelta("mentions backoff."),
        pause,
    ]
    for word in words:
        steps += [TextDelta(word), pause]
    steps += [
        answer(1, "".join(words), call(1, "read", '{"path": "tests/test_login.py"}')),
        PlanChanged(PLAN, "model"),
        ToolStarted(call(1, "read"), "tests/test_login.py"),
        pause,
        finished(1, "read", TextBlock("84 lines"), content="1\tdef test_retry():\n"),
        ModelAsked(2, "standard", "openai/gpt-x"),
        answer(2, "The cap is **missing**; I will add it.", call(2, "edit")),
        ChecksRan("baseline", RED),
        ToolStarted(call(2, "edit"), "src/retry.py"),
        pause,
        finished(2, "edit", DiffBlock("src/retry.py", DIFF, 2, 1)),
        PatchApplied(PATCH, DIFF),
        ModelAsked(3, "standard", "openai/gpt-x"),
        answer(3, "", call(3, "test")),
        ToolStarted(call(3, "test"), "tests/test_login.py"),
        pause,
        OutputDelta("c3", "collecting ...\n"),
        pause,
        OutputDelta("c3", "2 passed\n"),
        ChecksRan("attempt", GREEN),
        finished(3, "test", TerminalBlock("pytest -q", "2 passed", 0, 2.9), took=2.9),
        AttemptRecorded(Attempt(1, "the delay has no cap", DIFF, 1, 0, "solved", patch_id="p1", duration_s=3.0, variant="standard", kept=True)),
        CheckpointMade(Checkpoint("k2", "2026-12-01T14:00:20Z", "t1", Cause("checkpoint", "attempt 1", 1, attempt=1))),
    ]  # fmt: skip
    if ask:
        question = Question(
            "q1", "shell", "rm -rf build && make", "rm is not read-only", "/src/app", ("build/",), False, True, "make *"
        )
        steps += [
            ModelAsked(4, "standard", "openai/gpt-x"),
            answer(4, "Let me rebuild.", call(4, "shell")),
            ToolStarted(call(4, "shell"), "rm -rf build && make"),
            PermissionAsked("c4", question, Verdict("ask", "rm is not read-only")),
            Await(Decide),
            PermissionAnswered("q1", "once", "person"),
            pause,
            finished(4, "shell", TerminalBlock("rm -rf build && make", "ok", 0, 0.8), took=0.8),
        ]
    usage = Usage(3600, 32800, 0, 840, 40, Decimal("0.0172"), 4)
    steps += [
        ModelAsked(5, "fast", "openai/gpt-x-mini", "summary"),
        TextDelta("Fixed: "),
        pause,
        answer(5, "Fixed: the delay is **capped** now.\n\n- `src/retry.py` uses `min(cap, …)`\n- both tests pass\n"),
        PlanChanged(tuple(PlanStep(step.text, "done") for step in PLAN), "model"),
        TurnFinished(1, Outcome("done", 0, "Fixed: the delay is **capped** now.\n\n- `src/retry.py` uses `min(cap, …)`\n- both tests pass\n", True, "", usage, Duration(12.0, 8.0, 3.0, 0.02))),
    ]  # fmt: skip
    return steps


WORDS = [
    "the",
    "quick",
    "brown",
    "fox",
    "jumps",
    "over",
    "the",
    "lazy",
    "dog",
    "and",
    "then",
    "writes",
    "`code`",
    "in",
    "**bold**",
    "letters",
    "while",
    "a",
    "list",
    "",
]


def prose(words: int) -> list[str]:
    """Tokens of an answer: paragraphs, lists and a fence now and then."""
    tokens: list[str] = []
    for at in range(words):
        word = WORDS[at % len(WORDS)] + " "
        if at % 60 == 59:
            word += "\n\n"
        if at % 200 == 120:
            word += "\n- item one\n- item two\n\n"
        if at % 400 == 300:
            word += "\n```python\nfor n in range(3):\n    print(n)\n```\n"
        tokens.append(word)
    return tokens


def earlier(messages: int) -> list[Step]:
    """A history: turns with an answer and two tools each."""
    steps: list[Step] = []
    for turn in range(1, messages // 4 + 1):
        text = "".join(prose(60 + turn % 50))
        steps += [
            TurnStarted(turn, user(f"question {turn}")),
            answer(turn, text, call(turn * 10, "read"), call(turn * 10 + 1, "shell")),
            ToolStarted(call(turn * 10, "read"), f"src/module_{turn}.py"),
            finished(turn * 10, "read", TextBlock("84 lines")),
            ToolStarted(call(turn * 10 + 1, "shell"), f"pytest -q -k test_{turn}"),
            finished(turn * 10 + 1, "shell", TerminalBlock("pytest", "line of output\n" * 60, 0, 0.5)),
            TurnFinished(turn, Outcome("done", 0, text, None)),
        ]
    return steps


def streaming(rate: float = 200.0, *, messages: int = 0, tokens: int = 100_000) -> list[Step]:
    """An answer of many tokens at `rate` a second, after a history."""
    pause = 1 / rate if rate > 0 else 0.0
    steps: list[Step] = [started(), *earlier(messages), Await(Submit), TurnStarted(messages // 4 + 1, user("stream")), ModelAsked(1, "standard", "openai/gpt-x")]  # fmt: skip
    for token in prose(tokens):
        steps += [TextDelta(token), pause]
    return steps


def long(rate: float = 200.0) -> list[Step]:
    """`streaming` after two thousand messages."""
    return streaming(rate, messages=2_000)


EVIL = "\x1b]52;c;QQ==\x07\x1b[2J\x9b31m\u202e[@click=app.quit]x[/] [/ " + "[b" * 50 + "\rApproved"


def evil(pause: float = 0.0) -> list[Step]:
    """Foreign text that would take over a terminal, everywhere where there is any."""
    question = Question("q1", EVIL, EVIL, EVIL, EVIL, (EVIL,), True, False, EVIL)
    return [
        started(workspace=EVIL),
        Await(Submit),
        TurnStarted(1, user(EVIL)),
        ModelAsked(1, "standard", EVIL, EVIL),
        ReasoningDelta(EVIL),
        TextDelta(EVIL),
        pause,
        answer(1, EVIL, call(1, EVIL)),
        PlanChanged((PlanStep(EVIL, "active"),), "model"),
        ToolStarted(call(1, EVIL), EVIL),
        OutputDelta("c1", EVIL),
        PermissionAsked("c1", question, Verdict("ask", EVIL)),
        Await(Decide),
        PermissionAnswered("q1", "once", "person"),
        finished(1, EVIL, TextBlock(EVIL), DiffBlock(EVIL, f"--- {EVIL}\n+++ {EVIL}\n@@ -1 +1 @@\n+{EVIL}\n"), TerminalBlock(EVIL, EVIL, 1), content=EVIL, status="error"),
        AttemptRecorded(Attempt(1, EVIL, EVIL, 1, 1, "same", EVIL)),
        CheckpointMade(Checkpoint("k1", "2026-12-01T14:00:02Z", "t0", Cause("checkpoint", EVIL), (EVIL,))),
        TurnFinished(1, Outcome("error", 1, EVIL, None, EVIL, warnings=(EVIL,))),
    ]  # fmt: skip
