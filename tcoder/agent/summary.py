"""A run as Markdown for the page of a CI job: pure."""

from tcoder.agent.state import SessionState

MAX_DIFF = 40_000


def markdown(state: SessionState, diff: str) -> str:
    """What was asked, what came of it, what the tests said, and the patch."""
    outcome = state.outcome
    if outcome is None:
        return "## tcoder\n\nThe run did not finish.\n"
    verified = {True: "verified by the tests", False: "**the tests still fail**", None: "not verified"}
    lines = [f"## tcoder: {outcome.status.replace('_', ' ')}, {verified[outcome.verified]}", ""]
    if outcome.reason:
        lines += [outcome.reason, ""]
    if outcome.answer.strip():
        lines += [outcome.answer.strip(), ""]
    for name, report in (("before", state.baseline), ("after", state.checks)):
        if report is not None:
            said = report.problem or f"{report.passed} passed, {len(report.failing)} failed"
            lines.append(f"- {name}: `{report.command}`: {said}")
    usage = outcome.usage
    cost = f", ${usage.cost}" if usage.cost is not None else ""
    lines.append(f"- {usage.calls} model calls, {usage.total} tokens{cost}, {outcome.duration_s.total:.0f} s")
    lines += [f"- warning: {warning}" for warning in outcome.warnings]
    if diff:
        cut = diff if len(diff) <= MAX_DIFF else f"{diff[:MAX_DIFF]}\n… {len(diff) - MAX_DIFF} more characters\n"
        lines += ["", "<details><summary>the patch</summary>", "", f"````diff\n{cut.rstrip()}\n````", "", "</details>"]
    return "\n".join(lines) + "\n"
