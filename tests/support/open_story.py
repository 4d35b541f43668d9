"""Stories by name, as something that a front end can connect to."""

from collections.abc import Callable

from msgspec import structs

from tcoder.protocol.events import (
    ApprovalChanged,
    MessageQueued,
    MessageUnqueued,
    Notice,
    PlanChanged,
    Progress,
    ToolFinished,
    ToolStarted,
    TurnFinished,
    VariantChanged,
)
from tcoder.protocol.handles import Connect, SessionHandle
from tcoder.protocol.messages import ToolCall, ToolResult, ToolSpec
from tcoder.protocol.ops import (
    CommitAccepted,
    Interrupt,
    JudgeHunks,
    Op,
    Rollback,
    RunShell,
    SetApproval,
    SetPlan,
    SetVariant,
    Submit,
    TakeBack,
)
from tcoder.protocol.outcome import Outcome
from tcoder.protocol.permissions import Rule
from tcoder.protocol.queries import (
    ChangePreview,
    CompletePaths,
    ContextLayer,
    ContextReport,
    ExplainVariant,
    ListModels,
    ListRules,
    ListSessions,
    ListTools,
    ModelChoice,
    ModelList,
    PathMatches,
    PreviewChange,
    ReadContext,
    ReadReview,
    ReadTimeline,
    Reply,
    ReviewFile,
    ReviewHunk,
    ReviewState,
    RuleList,
    SessionChoice,
    SessionList,
    SessionSummary,
    Timeline,
    TimelineEntry,
    ToolList,
    VariantReport,
    VariantStats,
)
from tests.support import stories
from tests.support.scripted_session import ScriptedSession, Step

REVIEW = ReviewState(
    (
        ReviewFile(
            "src/retry.py",
            "modified",
            (
                ReviewHunk(
                    "h1",
                    "@@ -38,3 +38,4 @@ def backoff",
                    (
                        " for attempt in range(n):",
                        "-    delay = base * attempt",
                        "+    delay = min(cap, base * 2 ** attempt)",
                        '+    log.debug("retry %s", delay)',
                        " yield delay",
                    ),
                    why="call 12",
                    warning="new debug line",
                ),
                ReviewHunk("h2", "@@ -60,1 +61,2 @@ def wait", (" return", "+# done"), state="accepted"),
            ),
        ),
        ReviewFile(
            "README.md",
            "modified",
            (
                ReviewHunk("h3", "@@ -1 +1 @@", ("-old", "+mine"), "person"),
                ReviewHunk("h4", "@@ -9 +9 @@", ("+late",), stale=True),
            ),
        ),
        ReviewFile("logo.png", "modified", (), "binary, 4.1 KB → 4.3 KB"),
    ),
    "checkpoint 14:02",
    "1 failed",
    "fix(retry): cap exponential backoff\n\nThe delay had no upper bound.\n",
)
ANSWERS: dict[type, Reply] = {
    CompletePaths: PathMatches(("src/retry.py", "src/login.py", "src/", "tests/test_login.py")),
    PreviewChange: ChangePreview(stories.DIFF, ("src/retry.py",), ("notes.txt",)),
    ReadReview: REVIEW,
    ReadTimeline: Timeline(
        (
            TimelineEntry("k1", "2026-12-01T14:00:02Z", "checkpoint", "before turn 1", 1),
            TimelineEntry(
                "p1", "2026-12-01T14:00:09Z", "patch", "edit src/retry.py", 1, 0, ("src/retry.py",), 2, 1, "ok"
            ),
            TimelineEntry("k2", "2026-12-01T14:00:20Z", "checkpoint", "attempt 1", 1, 1),
        )
    ),
    ReadContext: ContextReport(
        (
            ContextLayer("system + tools", 9100, True, 1.0, "stable"),
            ContextLayer("project rules", 7400, True, 1.0, "stable"),
            ContextLayer("conversation", 18000, False, 0.61),
            ContextLayer("tool results", 21400, False, 0.0, "", "pytest output 6.1k"),
        ),
        128_000,
        True,
        102_000,
    ),
    ListSessions: SessionList(
        (
            SessionSummary("s-1", "make the login retry test pass", "2026-12-01T14:00:00Z", 3, stories.USAGE),
            SessionSummary("s-0", "explain the cache", "2026-11-30T09:12:00Z", 1, stories.USAGE, busy=True),
        )
    ),
    ListRules: RuleList((Rule("allow", "shell", "pytest *"), Rule("ask", "shell", "*"))),
    ListModels: ModelList(
        (ModelChoice("openai/gpt-x", True, "$1.25 / $10"), ModelChoice("local/qwen2.5-coder-1.5b", True, "1.1 GB"))
    ),
    ListTools: ToolList((ToolSpec("read", "Read a file.", {}), ToolSpec("edit", "Change a file.", {}))),
    ExplainVariant: VariantReport(
        "standard",
        True,
        "2 fails",
        ("read-only step → fast", "2 failed attempts → standard"),
        1,
        (VariantStats("fast", "gpt-x-mini", 12, 0.3, 210.0, 0.004, 3, 1), VariantStats("standard", "gpt-x", 2)),
        41000,
        0.012,
    ),
}


def judge(op: JudgeHunks, session: ScriptedSession) -> None:
    """Answer the next query with the judgement."""
    state = session.answers[ReadReview]
    assert isinstance(state, ReviewState)
    files = tuple(
        structs.replace(
            file,
            hunks=tuple(structs.replace(hunk, state=op.verdict) if hunk.id in op.ids else hunk for hunk in file.hunks),
        )
        for file in state.files
    )
    session.answers[ReadReview] = structs.replace(state, files=files)


def respond(op: Op, session: ScriptedSession) -> None:
    """What a session does at once; the script does the rest."""
    match op:
        case SetVariant():
            why, by = ("chosen by the person", "person") if op.name else ("2 fails", "rules")
            session.send(VariantChanged(op.name or "standard", op.name is None, op.sticky, why, by))  # type: ignore[arg-type]  a literal
        case SetApproval():
            session.send(ApprovalChanged(op.approval))
        case SetPlan():
            session.send(PlanChanged(op.steps, "person"))
        case JudgeHunks():
            judge(op, session)
            session.send(Progress(""))
        case CommitAccepted():
            session.send(Notice("info", "commit", "committed 1234567"))
            session.send(Progress(""))
        case Rollback():
            session.send(Progress(""))
        case RunShell():
            call = ToolCall(f"u{len(session.ops)}", "shell", "{}")
            session.send(ToolStarted(call, op.command))
            session.send(ToolFinished(call.id, "shell", ToolResult(call.id, "hello\n"), 0.02))
        case Submit() if sum(isinstance(other, Submit) for other in session.ops) > 1:
            session.send(MessageQueued(f"m{len(session.ops)}", op.text, op.steer))
        case TakeBack():
            session.send(MessageUnqueued(op.id, False))
        case Interrupt():
            session.stop()
            session.send(TurnFinished(1, Outcome("interrupted", 130, "", reason="interrupted")))
        case _:
            return


STARTUP = SessionChoice()
STORIES: dict[str, Callable[[float], list[Step]]] = {
    "fixed": stories.fixed,
    "ask": lambda pause: stories.fixed(pause, ask=True),
    "stream": stories.streaming,
    "long": stories.long,
    "evil": stories.evil,
}


def open_story(name: str, pause: float = 0.0) -> Connect:
    """Connects to the story, or for another choice of session to one that only waits."""

    async def connect(choice: SessionChoice = STARTUP) -> SessionHandle:
        steps = STORIES[name](pause) if choice.kind == "startup" else [stories.started()]
        return ScriptedSession(steps, answers=dict(ANSWERS), respond=respond)

    return connect
