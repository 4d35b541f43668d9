"""Which lines the failing and the passing tests run, and what functions were called with: from one traced run."""

from pathlib import Path
from typing import Any

import msgspec

from tcoder.protocol.checks import CheckCommand, SeenCall, TestTrace
from tcoder.protocol.commands import CommandRunner
from tcoder.workspace.checks import python, runners
from tcoder.workspace.checks.running import execute

TRACEABLE = frozenset({"pytest", "unittest", "generic"})


async def trace(
    command: CheckCommand, runner: CommandRunner, *, select: tuple[str, ...], timeout_s: float, root: Path
) -> tuple[TestTrace, ...]:
    """Run the selected tests once more under a tracer. Empty where the runner cannot be traced or nothing came back;
    the traces of the tests that were finished when the time was up."""
    if command.runner not in TRACEABLE:
        return ()
    invocation = python.traced(runners.of(command.runner).invoke(command, select))
    _, reports, _, _ = await execute(invocation, command, runner, timeout_s, root)
    lines = reports.get("trace.jsonl", b"").split(b"\n")
    return tuple(found for line in lines if (found := _read(line)) is not None)


def _read(line: bytes) -> TestTrace | None:
    try:
        record: dict[str, Any] = msgspec.json.decode(line, type=dict[str, Any])
        calls = tuple(SeenCall(*call) for call in record["calls"])
        return TestTrace(record["id"], {path: tuple(numbers) for path, numbers in record["lines"].items()}, calls)
    except (msgspec.MsgspecError, KeyError, TypeError, AttributeError):
        return None
