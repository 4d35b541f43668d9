"""What failing tests say, in as few words as a small model can read quickly."""

import ast
from collections.abc import Mapping, Sequence

from tcoder.protocol.checks import SeenCall, TestResult

MAX_TESTS, MAX_LINES, MAX_MESSAGE, MAX_LINE = 2, 8, 300, 110


def representative(failing: Sequence[TestResult], limit: int = MAX_TESTS) -> tuple[TestResult, ...]:
    """The failing tests that say the most in the fewest words: short messages with both values first, and not two
    cases of one parametrised test before another had its turn."""
    ordered = sorted(failing, key=lambda test: (not test.frames, not test.expected, len(test.message), test.id))
    first: list[TestResult] = []
    others: list[TestResult] = []
    seen: set[str] = set()
    for test in ordered:
        name = test.id.split("[")[0]
        (others if name in seen else first).append(test)
        seen.add(name)
    return tuple((first + others)[:limit])


def describe(test: TestResult, sources: Mapping[str, str]) -> str:
    """The statement of the test that failed with what leads to it, and what it said."""
    lines: list[str] = []
    frame = next((frame for frame in reversed(test.frames) if frame.path == test.path), None)
    if frame is not None and frame.path in sources:
        lines = excerpt(sources[frame.path], frame.line)
    said = message(test)
    return "\n".join([*lines, said]) if said else "\n".join(lines)


def message(test: TestResult) -> str:
    """The error in a line or two: got and expected where they are known."""
    if test.expected and test.actual and len(test.expected) + len(test.actual) < MAX_MESSAGE:
        return f"got {test.actual}, expected {test.expected}"
    kept = [line.strip() for line in test.message.strip().split("\n") if line.strip()]
    return "\n".join(line[:MAX_LINE] for line in kept[:3])[:MAX_MESSAGE]


def excerpt(source: str, line: int) -> list[str]:
    """The statement at a line of a test, with the statements of the same function before it, dedented, at most
    `MAX_LINES`; what does not fit is left out from the front."""
    lines = source.split("\n")
    first = last = line
    start = 1
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError):
        tree = None
    for node in ast.walk(tree) if tree else ():
        end = getattr(node, "end_lineno", None)
        begin = getattr(node, "lineno", None)
        if begin is None or end is None or not begin <= line <= end:
            continue
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            start = max(start, node.body[0].lineno)
        elif isinstance(node, ast.Assert | ast.Assign | ast.Expr | ast.Return):
            first, last = min(first, begin), max(last, end)
    begin = max(start, last - MAX_LINES + 1) if start <= first else first
    shown = lines[begin - 1 : min(last, begin + MAX_LINES + 4)]
    indent = min((len(text) - len(text.lstrip()) for text in shown if text.strip()), default=0)
    return [text[indent:][:MAX_LINE] for text in shown if text.strip()]


def describe_calls(calls: Sequence[SeenCall], limit: int = 3) -> list[str]:
    """`parse(text='1h') -> 60`, each once."""
    shown: dict[str, None] = {}
    for call in calls:
        result = call.result if call.result.startswith("raises ") else f"-> {call.result}"
        text = f"{call.function}({call.arguments}) {result}"
        if len(text) <= 2 * MAX_LINE:
            shown.setdefault(text)
    return list(shown)[:limit]
