"""What to show of the protocol's values: pure functions to lines of spans, shared by every front end.

All foreign text is made harmless here, so that a front end can draw a line as it is.
"""

from tcoder.frontends.figures import cost, duration, plural, tokens
from tcoder.frontends.lines import Line, Role, Span, line
from tcoder.frontends.sanitise import clean, clean_line
from tcoder.protocol.attempt import Attempt
from tcoder.protocol.checks import CheckReport, TestResult
from tcoder.protocol.edits import Patch
from tcoder.protocol.location import Location
from tcoder.protocol.messages import ResultStatus
from tcoder.protocol.outcome import Outcome
from tcoder.protocol.permissions import Question
from tcoder.protocol.plan import PlanStep, StepState

REWOUND = "the conversation goes on from the checkpoint; what was said since is no longer part of it"
VERBS: dict[str, str] = {"shell": "run", "outline": "locate"}
STEP_GLYPHS: dict[StepState, str] = {"open": "·", "active": "▸", "done": "✓", "failed": "✗", "dropped": "⊘"}
STEP_ROLES: dict[StepState, Role] = {
    "open": "text",
    "active": "accent",
    "done": "ok",
    "failed": "bad",
    "dropped": "dim",
}
STATUS_WORDS: dict[ResultStatus, str] = {"ok": "", "error": "failed", "denied": "declined", "cancelled": "stopped"}
VERDICT_GLYPHS = {"solved": "✓", "better": "↑", "same": "=", "worse": "↓", "invalid": "✗", "repeated": "≡"}


def diff_line(text: str) -> Line:
    """One line of a unified diff."""
    role: Role = "text"
    if text.startswith(("+++", "---", "diff ", "index ", "new file", "deleted file", "rename ", "similarity ")):
        role = "dim"
    elif text.startswith("@@"):
        role = "hunk"
    elif text.startswith("+"):
        role = "added"
    elif text.startswith("-"):
        role = "removed"
    return line((text.expandtabs(4), role))


def diff_lines(diff: str) -> tuple[Line, ...]:
    """A unified diff, line by line."""
    return tuple(diff_line(text) for text in clean(diff).split("\n")[: None if not diff.endswith("\n") else -1])


def changed(insertions: int, deletions: int) -> tuple[Span, ...]:
    """`+6 −2`."""
    return (Span(f"+{insertions}", "added"), Span(" "), Span(f"−{deletions}", "removed"))


def counts(report: CheckReport) -> str:
    """`1 failed, 5 passed`, or why the run says nothing."""
    if report.problem:
        return clean_line(report.problem, 160)
    if not report.tests:
        return "passed" if report.exit_code == 0 else f"exit {report.exit_code}"
    failed, passed, skipped = len(report.failing), report.passed, report.count("skipped")
    parts = ((failed, "failed"), (passed, "passed"), (skipped, "skipped"))
    return ", ".join(f"{count} {word}" for count, word in parts if count) or "no tests"


def failing_test(test: TestResult) -> tuple[Line, ...]:
    """A failing test with the first lines of its message and the innermost place."""
    message = [Span("  E ", "bad")]
    lines = [line(("✗ ", "bad"), clean_line(test.id, 200))]
    texts = clean(test.message).split("\n")[:4]
    lines += [line(*message, text.expandtabs(4)[:300]) for text in texts if text.strip()]
    if test.frames:
        place = test.frames[-1]
        lines.append(line(("    ", "dim"), (clean_line(f"{place.path}:{place.line} {place.function}"), "path")))
    return tuple(lines)


def located(location: Location) -> str:
    """The best files in one line."""
    names = [clean_line(file.path, 80) for file in location.files[:3]]
    more = len(location.files) - len(names)
    return (", ".join(names) + (f" and {more} more" if more > 0 else "")) or "nothing found"


def verb(tool: str) -> str:
    """The word of a tool line."""
    return VERBS.get(tool) or clean_line(tool, 30)


def patch_files(patch: Patch) -> str:
    names = [clean_line(file.path, 80) for file in patch.files]
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")


def attempt_line(attempt: Attempt) -> Line:
    """`attempt 2 ✗ off by one: 3 failing → 1 (better)`."""
    before = "?" if attempt.failing_before < 0 else str(attempt.failing_before)
    after = "?" if attempt.failing_after < 0 else str(attempt.failing_after)
    role: Role = "ok" if attempt.verdict in ("solved", "better") else "bad"
    return line(
        ("attempt ", "dim"),
        f"{attempt.number} ",
        (VERDICT_GLYPHS[attempt.verdict] + " ", role),
        clean_line(attempt.hypothesis, 120),
        (f"  {before} failing → {after} ({attempt.verdict})", "dim"),
    )


def plan_step(step: PlanStep) -> Line:
    role: Role = STEP_ROLES[step.state]
    return line(
        (STEP_GLYPHS[step.state] + " ", role), (clean_line(step.text), "dim" if step.state == "dropped" else "text")
    )


def question_lines(question: Question) -> tuple[Line, ...]:
    """What runs, exactly and in full; where; what it may touch; why it was asked."""
    facts = [f"in {clean_line(question.cwd or '.')}"]
    if question.writes:
        facts.append("writes: " + ", ".join(clean_line(path, 80) for path in question.writes))
    facts.append(f"network: {'yes' if question.network else 'no'}")
    facts.append(f"sandbox: {'on' if question.sandboxed else 'off'}")
    targets = (line(("     leads to: ", "warn"), clean_line(target, 8_000)) for target in question.targets)
    action = clean(question.action).split("\n")
    return (
        line((f"{verb(question.tool)}  ", "title"), action[0].expandtabs(4)),
        *(line("     ", text.expandtabs(4)) for text in action[1:]),
        *targets,
        line(("  ".join(facts), "dim")),
        line(("asked because ", "dim"), (clean_line(question.reason), "dim")),
    )


def outcome_line(outcome: Outcome) -> Line:
    """The verdict in one line."""
    words: dict[str, tuple[str, Role]] = {
        "done": ("✓ done", "ok"),
        "checks_fail": ("✗ checks still fail", "bad"),
        "denied": ("⊘ something was denied", "warn"),
        "budget": ("✗ a budget is spent", "warn"),
        "model_unusable": ("✗ the model cannot be used", "bad"),
        "no_progress": ("✗ stopped without progress", "warn"),
        "retry_later": ("✗ the provider failed, try later", "bad"),
        "interrupted": ("⊘ interrupted", "warn"),
        "error": ("✗ error", "bad"),
    }
    proof: dict[bool | None, tuple[str, Role]] = {
        True: ("  verified" if "as before" in outcome.reason else "  verified: the tests pass", "ok"),
        False: ("  not verified", "bad"),
        None: ("  not verified", "dim") if outcome.reason else ("", "dim"),  # no reason = there was nothing to verify
    }
    reason = f": {clean_line(outcome.reason)}" if outcome.reason else ""
    return line(
        words[outcome.status],
        reason,
        *((proof[outcome.verified],) if outcome.status in ("done", "checks_fail") else ()),
    )


def usage_line(outcome: Outcome) -> Line:
    """Time, tokens and money of a turn."""
    usage = outcome.usage
    return line(
        (
            f"{duration(outcome.duration_s.total)} · {plural(usage.calls, 'model call')} · "
            f"{tokens(usage.prompt)} in, {tokens(usage.output)} out · {cost(usage.cost)}",
            "dim",
        )
    )
