"""Run the project's tests."""

from typing import Annotated

from msgspec import Meta, Struct

from tcoder.protocol.checks import CheckReport
from tcoder.protocol.display import TerminalBlock
from tcoder.tools.base import Reply, Tool, ToolContext, Touches

MAX_FAILURES = 5
MAX_MESSAGE = 1_200


class TestArgs(Struct, frozen=True, forbid_unknown_fields=True):
    __test__ = False
    select: Annotated[tuple[str, ...], Meta(description="test files or ids; empty = all")] = ()


class Test(Tool[TestArgs]):
    __test__ = False
    name = "test"
    kind = "shell"
    Args = TestArgs

    def title(self, args: TestArgs) -> str:
        return " ".join(args.select) or "all tests"

    def touches(self, args: TestArgs) -> Touches:
        return Touches()

    async def run(self, args: TestArgs, context: ToolContext) -> Reply:
        report = await context.run_checks(args.select)
        block = TerminalBlock(report.command, report.output, report.exit_code, report.duration_s)
        return Reply(describe(report), (block,), "ok" if report.ok else "error")


def describe(report: CheckReport) -> str:
    """A report for the model: counts first, then the failures with their messages and places."""
    if report.problem:
        return f"{report.command}: {report.problem}\n{report.output[-2000:]}".rstrip()
    head = f"{report.command}: {report.passed} passed, {len(report.failing)} failed"
    if not report.tests:
        return f"{head} (exit {report.exit_code})\n{report.output[-2000:]}".rstrip()
    lines = [head]
    for test in report.failing[:MAX_FAILURES]:
        lines.append(f"\n{test.id}\n{test.message[:MAX_MESSAGE]}".rstrip())
        lines += [f"  {frame.path}:{frame.line} {frame.function}".rstrip() for frame in test.frames[-3:]]
    if len(report.failing) > MAX_FAILURES:
        lines.append(f"\n… and {len(report.failing) - MAX_FAILURES} more failing tests")
    return "\n".join(lines)
