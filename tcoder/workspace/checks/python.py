"""pytest and unittest: told in full by a small plugin that runs beside the tests, else read from what was printed."""

import re
from functools import cache
from importlib import resources
from typing import Any

import msgspec

from tcoder.protocol.checks import CheckCommand, Frame, TestOutcome, TestResult
from tcoder.workspace.checks.runner import Invocation, Parsed, Runner, RunnerOutput

OUTCOMES: dict[str, TestOutcome] = {
    "passed": "passed",
    "failed": "failed",
    "error": "error",
    "skipped": "skipped",
    "xfailed": "xfailed",
    "xpassed": "xpassed",
}
NOTHING_COLLECTED = 5
STATUS = {
    2: "the run was interrupted",
    3: "pytest had an internal error",
    4: "pytest was called wrongly",
    NOTHING_COLLECTED: "no tests were found",
}
_UNITTEST = re.compile(r"-m\s+unittest\b")
_OPTIONS = "--continue-on-collection-errors -o cache_dir=$TCODER_CHECKS/cache"
_OWN_PATH = re.compile(r"\bPYTHONPATH=(?=\S)")
_COLOURS = re.compile(r"\x1b\[[0-9;]*m")
_SUMMARY = re.compile(r"^(FAILED|ERROR) (\S.*?)(?: - (.*))?$", re.M)
_COUNTS = re.compile(r"(\d+) (passed|failed|error|skipped|xfailed|xpassed)s?\b")
_NAMED = re.compile(r"^(FAIL|ERROR): (\S+) \(([\w.<>]+)\)", re.M)
_RAN = re.compile(r"^Ran (\d+) tests?\b", re.M)
_FILE = re.compile(r'^\s+File "([^"]+)", line (\d+), in (\S+)', re.M)
_LAST_LINE = re.compile(r"^(\w[\w.]*(?:Error|Exception|Warning|Exit|Interrupt)\b.*)$", re.M)


@cache
def inside(name: str) -> str:
    """The source of a script that runs in the project's interpreter."""
    return resources.files("tcoder.workspace.checks.inside").joinpath(name).read_text(encoding="utf-8")


def pytest_environment(plugins: tuple[str, ...] = ("tcoder_pytest_report",)) -> dict[str, str]:
    """Makes every pytest below the command load the plugins and keep its cache and coverage data out of the tree."""
    options = " ".join(f"-p {plugin}" for plugin in plugins)
    return {
        "PYTEST_ADDOPTS": f"{options} {_OPTIONS} $PYTEST_ADDOPTS",
        "PYTHONPATH": "$TCODER_CHECKS${PYTHONPATH:+:$PYTHONPATH}",
        "PYTHONDONTWRITEBYTECODE": "1",
        "COVERAGE_FILE": "$TCODER_CHECKS/coverage",
        "HYPOTHESIS_STORAGE_DIRECTORY": "$TCODER_CHECKS/hypothesis",
    }


def invoke_pytest(command: CheckCommand, select: tuple[str, ...]) -> Invocation:
    files = {"tcoder_pytest_report.py": inside("tcoder_pytest_report.py")}
    if select:
        files["select.txt"] = "\n".join(select)
    return Invocation(with_path(command.command), pytest_environment(), files, ("report.jsonl",))


def with_path(command: str) -> str:
    """A command that sets `PYTHONPATH` itself must still find the plugin."""
    return _OWN_PATH.sub('PYTHONPATH="$TCODER_CHECKS":', command)


def invoke_unittest(command: CheckCommand, select: tuple[str, ...]) -> Invocation:
    files = {"tcoder_unittest_report.py": inside("tcoder_unittest_report.py")}
    if select:
        files["select.txt"] = "\n".join(select)
    told = _UNITTEST.sub('"$TCODER_CHECKS/tcoder_unittest_report.py"', command.command, count=1)
    return Invocation(told, {"PYTHONDONTWRITEBYTECODE": "1"}, files, ("report.jsonl",))


def traced(invocation: Invocation) -> Invocation:
    """The same run with the tracer beside it."""
    files = {**invocation.files, "tcoder_trace.py": inside("tcoder_trace.py")}
    environment = dict(invocation.environment)
    if "PYTEST_ADDOPTS" in environment:
        environment["PYTEST_ADDOPTS"] = f"-p tcoder_trace {environment['PYTEST_ADDOPTS']}"
    return Invocation(invocation.command, environment, files, (*invocation.reports, "trace.jsonl"))


def parse_pytest(output: RunnerOutput) -> Parsed:
    if "report.jsonl" not in output.reports:
        return parse_pytest_text(output)
    return parse_lines(output.reports["report.jsonl"], output)


def parse_unittest(output: RunnerOutput) -> Parsed:
    if "report.jsonl" not in output.reports:
        return parse_unittest_text(output)
    return parse_lines(output.reports["report.jsonl"], output)


def parse_lines(data: bytes, output: RunnerOutput) -> Parsed:
    """Read the plugin's lines; a line that cannot be read is counted and said."""
    tests: dict[str, TestResult] = {}
    started: dict[str, None] = {}
    collection: list[TestResult] = []
    unreadable = 0
    status: int | None = None
    for line in data.split(b"\n"):
        if not line.strip():
            continue
        record = _decode(line)
        if record is None:
            unreadable += 1
            continue
        match record.get("kind"):
            case "start":
                started[str(record.get("id"))] = None
            case "test":
                test = _test(record)
                tests[test.id] = test  # a run again (a rerun plugin) replaces the earlier result
                started.pop(test.id, None)
            case "collect":
                collection.append(_collected(_test({**record, "outcome": "error"})))
                started.pop(str(record.get("id")), None)
            case "end":
                status = int(record.get("status", 0))
            case _:
                pass  # a kind that a later plugin may write
    results = (*collection, *tests.values())
    return Parsed(results, _problem(results, list(started), status, output, unreadable))


def _decode(line: bytes) -> dict[str, Any] | None:
    try:
        record = msgspec.json.decode(line)
    except msgspec.DecodeError:
        return None
    return record if isinstance(record, dict) else None  # pyright: ignore[reportUnknownVariableType] JSON is untyped


def _test(record: dict[str, Any]) -> TestResult:
    frames = tuple(Frame(str(f[0]), int(f[1]), str(f[2])) for f in record.get("frames") or () if len(f) == 3)
    path = str(record.get("path") or "")
    return TestResult(
        id=str(record.get("id") or path or "?"),
        outcome=OUTCOMES.get(str(record.get("outcome")), "error"),
        duration_s=float(record.get("duration") or 0.0),
        message=_COLOURS.sub("", str(record.get("message") or "")),
        expected=str(record.get("expected") or ""),
        actual=str(record.get("actual") or ""),
        frames=frames,
        path=path,
    )


_COLLECTION_FRAME = re.compile(r"^([^\s:/][^\s:]*):(\d+): in (\S+)$", re.M)
_COLLECTION_ERROR = re.compile(r"^E\s+(.*)$", re.M)


def _collected(test: TestResult) -> TestResult:
    """A test file that could not be imported, as pytest prints it: the error and its frames instead of the text."""
    said = _COLLECTION_ERROR.findall(test.message)
    if not said or test.frames:
        return test
    found = _COLLECTION_FRAME.findall(test.message)
    frames = tuple(Frame(path, int(line), function) for path, line, function in found)
    return msgspec.structs.replace(test, message="\n".join(said), frames=frames)


def _problem(
    tests: tuple[TestResult, ...], running: list[str], status: int | None, output: RunnerOutput, unreadable: int
) -> str:
    if status is None:
        where = f" while {running[-1]} ran" if running else ""
        how = "was ended from outside" if output.exit_code is None else f"ended with exit code {output.exit_code}"
        return f"the test run {how}{where}, after {len(tests)} tests"
    if unreadable:
        return f"{unreadable} lines of the report could not be read"
    if not tests:
        return STATUS.get(status, "no tests were found")
    if status in (3, 4):
        return STATUS[status]
    return ""


def parse_pytest_text(output: RunnerOutput) -> Parsed:
    """What pytest's printed summary still tells: which tests failed, and how many there were."""
    tests = [
        TestResult(name, "failed" if kind == "FAILED" else "error", message=message or "", path=name.split("::")[0])
        for kind, name, message in _SUMMARY.findall(output.text)
    ]
    last = output.text.rstrip().rpartition("\n")[2]
    counts = {kind: int(number) for number, kind in _COUNTS.findall(last)}
    if not counts:
        return Parsed(tuple(tests), f"no summary of pytest could be read (exit code {output.exit_code})")
    told = sum(test.outcome == "failed" for test in tests)
    if counts.get("failed", 0) > told:
        tests += [TestResult(f"failed test {n + 1}, not named", "failed") for n in range(told, counts["failed"])]
    tests += [TestResult(f"passed test {n + 1}, not named", "passed") for n in range(counts.get("passed", 0))]
    return Parsed(tuple(tests))


def parse_unittest_text(output: RunnerOutput) -> Parsed:
    """What unittest prints (also through Django): failures with their tracebacks, and how many ran."""
    ran = _RAN.search(output.text)
    if not ran:
        return Parsed((), f"no summary of unittest could be read (exit code {output.exit_code})")
    tests: list[TestResult] = []
    blocks = re.split(r"^={50,}\n", output.text, flags=re.M)
    for block in blocks[1:]:
        head = _NAMED.match(block)
        if not head:
            continue
        kind, name, owner = head.groups()
        test_id = owner if owner.endswith(f".{name}") else f"{owner}.{name}"
        frames = tuple(
            Frame(path, int(line), function)
            for path, line, function in (
                (_inside(path, output), line, function) for path, line, function in _FILE.findall(block)
            )
            if path
        )
        said = _LAST_LINE.findall(block)
        path = frames[0].path if frames else ""
        tests.append(
            TestResult(
                test_id, "failed" if kind == "FAIL" else "error", 0.0, said[-1] if said else "", "", "", frames, path
            )
        )
    passed = max(0, int(ran[1]) - len(tests))
    tests += [TestResult(f"passed test {n + 1}, not named", "passed") for n in range(passed)]
    return Parsed(tuple(tests))


def _inside(path: str, output: RunnerOutput) -> str:
    base = f"{output.root}/"
    if path.startswith(base):
        return path[len(base) :]
    return "" if path.startswith("/") else path


PYTEST = Runner("pytest", invoke_pytest, parse_pytest)
UNITTEST = Runner("unittest", invoke_unittest, parse_unittest)
DJANGO = Runner("django", lambda command, select: Invocation(" ".join([command.command, *select])), parse_unittest_text)
