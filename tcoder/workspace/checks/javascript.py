"""jest, vitest, mocha and `node --test`: by their own machine output, written beside the work tree."""

import re
from typing import Any

import msgspec
from msgspec import Struct

from tcoder.protocol.checks import CheckCommand, Frame, TestOutcome, TestResult
from tcoder.workspace.checks.junit import parse_junit
from tcoder.workspace.checks.runner import Invocation, Parsed, Runner, RunnerOutput, quote

_THROUGH_A_SCRIPT = re.compile(r"^(?:npm|pnpm|yarn|bun)\b")
_STACK = re.compile(r"\(?((?:file://)?/?[^\s():]+\.[cm]?[jt]sx?):(\d+):\d+\)?")
_EXPECTED = re.compile(r"^\s*(?:Expected|expected)[^:\n]*:\s*(.+)$", re.M)
_RECEIVED = re.compile(r"^\s*(?:Received|actual)[^:\n]*:\s*(.+)$", re.M)
_COLOURS = re.compile(r"\x1b\[[0-9;]*m")
_SIDES = re.compile(r"(?:equal|unequal):\s*(.+?) !==? (.+)", re.S)
MESSAGE = 4000


def _with(command: str, *options: str) -> str:
    """A command with more options; those behind a script need the separator that hands them on."""
    between = " --" if command.startswith("npm") and " -- " not in command else ""
    return f"{command}{between} {' '.join(options)}"


def invoke_jest(command: CheckCommand, select: tuple[str, ...]) -> Invocation:
    options = ["--json", '--outputFile="$TCODER_CHECKS/jest.json"', "--testLocationInResults", *_files(select)]
    return Invocation(_with(command.command, *options, *_names("-t", select)), {"CI": "1"}, {}, ("jest.json",))


def invoke_vitest(command: CheckCommand, select: tuple[str, ...]) -> Invocation:
    options = ["--reporter=default", "--reporter=json", '--outputFile="$TCODER_CHECKS/jest.json"', *_files(select)]
    return Invocation(_with(command.command, *options, *_names("-t", select)), {"CI": "1"}, {}, ("jest.json",))


def invoke_mocha(command: CheckCommand, select: tuple[str, ...]) -> Invocation:
    options = ["--reporter", "json", "--reporter-option", 'output="$TCODER_CHECKS/mocha.json"', *_files(select)]
    return Invocation(_with(command.command, *options, *_names("-g", select)), {"CI": "1"}, {}, ("mocha.json",))


def invoke_node(command: CheckCommand, select: tuple[str, ...]) -> Invocation:  # noqa: ARG001 - see below
    """The reporter is handed on through NODE_OPTIONS, so that it also reaches below a script. A selection cannot be
    handed on that way: everything runs, which `node --test` does quickly."""
    reporter = "--test-reporter=junit --test-reporter-destination=$TCODER_CHECKS/node.xml"
    return Invocation(command.command, {"NODE_OPTIONS": f"{reporter} $NODE_OPTIONS", "CI": "1"}, {}, ("node.xml",))


def _files(select: tuple[str, ...]) -> list[str]:
    return [quote(name) for name in dict.fromkeys(item.partition(" > ")[0] for item in select) if name]


def _names(option: str, select: tuple[str, ...]) -> list[str]:
    """The selected tests' full names as one pattern."""
    names = [item.partition(" > ")[2].replace(" > ", " ") for item in select if " > " in item]
    return [option, quote("|".join(re.escape(name).replace("\\ ", " ") for name in names))] if names else []


class _Assertion(Struct):
    title: str = ""
    status: str = ""
    ancestorTitles: list[str] = []  # noqa: N815 - jest's name
    failureMessages: list[str] | None = None  # noqa: N815 - jest's name
    duration: float | None = None


class _File(Struct):
    name: str = ""
    status: str = ""
    message: str | None = ""
    assertionResults: list[_Assertion] = []  # noqa: N815 - jest's name


class _Report(Struct):
    testResults: list[_File] = []  # noqa: N815 - jest's name


_OUTCOMES: dict[str, TestOutcome] = {
    "passed": "passed",
    "failed": "failed",
    "pending": "skipped",
    "skipped": "skipped",
    "todo": "skipped",
    "disabled": "skipped",
    "focused": "passed",
}


def parse_jest(output: RunnerOutput) -> Parsed:
    """The JSON that jest and vitest share."""
    data = output.reports.get("jest.json", b"")
    try:
        report = msgspec.json.decode(data, type=_Report)
    except msgspec.MsgspecError:
        return Parsed((), _unread(output, "the JSON report", data))
    tests: list[TestResult] = []
    for file in report.testResults:
        path = _relative(file.name, output)
        for one in file.assertionResults:
            said = _COLOURS.sub("", "\n".join(one.failureMessages or []))
            name = " > ".join([path, *(title for title in one.ancestorTitles if title), one.title])
            outcome = _OUTCOMES.get(one.status, "error")
            tests.append(_result(name, outcome, said, path, (one.duration or 0.0) / 1000, output))
        if file.status == "failed" and not file.assertionResults:
            said = _COLOURS.sub("", file.message or "")
            tests.append(_result(path, "error", said, path, 0.0, output))
    return Parsed(tuple(tests), "" if tests else "no tests were found")


def parse_mocha(output: RunnerOutput) -> Parsed:
    data = output.reports.get("mocha.json", b"")
    try:
        report: dict[str, Any] = msgspec.json.decode(data, type=dict[str, Any])
        tests = tuple(_of_mocha(one, report, output) for one in report.get("tests", []))
    except (msgspec.MsgspecError, TypeError, AttributeError):
        return Parsed((), _unread(output, "the JSON report", data))
    return Parsed(tests, "" if tests else "no tests were found")


def _of_mocha(one: dict[str, Any], report: dict[str, Any], output: RunnerOutput) -> TestResult:
    error: dict[str, Any] = one.get("err") or {}
    path = _relative(str(one.get("file", "")), output)
    pending = any(other.get("fullTitle") == one.get("fullTitle") for other in report.get("pending", []))
    outcome: TestOutcome = "failed" if error else "skipped" if pending else "passed"
    said = str(error.get("stack") or error.get("message") or "")
    result = _result(
        f"{path} > {one.get('fullTitle', '')}", outcome, said, path, float(one.get("duration") or 0) / 1000, output
    )
    return msgspec.structs.replace(
        result, expected=str(error.get("expected", ""))[:1000], actual=str(error.get("actual", ""))[:1000]
    )


def parse_node(output: RunnerOutput) -> Parsed:
    if "node.xml" not in output.reports:
        return Parsed((), _unread(output, "the junit report", b""))
    parsed = parse_junit([output.reports["node.xml"]], output)
    return Parsed(tuple(_with_sides(test) for test in parsed.tests), parsed.problem)


def _with_sides(test: TestResult) -> TestResult:
    """node's assertions say `actual !== expected` in their text."""
    sides = _SIDES.search(test.message)
    return msgspec.structs.replace(test, actual=sides[1].strip(), expected=sides[2].strip()) if sides else test


def _result(name: str, outcome: TestOutcome, said: str, path: str, seconds: float, output: RunnerOutput) -> TestResult:
    expected, received = _EXPECTED.search(said), _RECEIVED.search(said)
    lines = [line for line in said.split("\n") if line.strip() and not line.strip().startswith("at ")]
    return TestResult(
        id=name,
        outcome=outcome,
        duration_s=round(seconds, 4),
        message="\n".join(lines)[:MESSAGE],
        expected=expected[1].strip()[:1000] if expected else "",
        actual=received[1].strip()[:1000] if received else "",
        frames=frames_of(said, output),
        path=path,
    )


def frames_of(said: str, output: RunnerOutput) -> tuple[Frame, ...]:
    """Frames of a JavaScript stack inside the workspace, from the test inwards."""
    found: list[Frame] = []
    for line in said.split("\n"):
        if not line.strip().startswith("at ") and "❯" not in line:
            continue
        match = _STACK.search(line)
        path = _relative(match[1], output) if match else ""
        if match and path and "node_modules" not in path and not path.startswith("/"):
            function = line.strip().removeprefix("at ").partition(" (")[0] if " (" in line else ""
            found.append(Frame(path, int(match[2]), function.removeprefix("async ")))
    return tuple(reversed(found))


def _relative(path: str, output: RunnerOutput) -> str:
    path = path.removeprefix("file://")
    base = f"{output.root}/"
    return path[len(base) :] if path.startswith(base) else path


def _unread(output: RunnerOutput, what: str, data: bytes) -> str:
    if output.exit_code in (126, 127):
        return f"the command could not be run (exit code {output.exit_code})"
    lacking = "could not be read" if data else "was not written"
    return f"{what} {lacking} (exit code {output.exit_code})"


JEST = Runner("jest", invoke_jest, parse_jest)
VITEST = Runner("vitest", invoke_vitest, parse_jest)
MOCHA = Runner("mocha", invoke_mocha, parse_mocha)
NODE = Runner("node", invoke_node, parse_node)
