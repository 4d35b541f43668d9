"""JUnit XML, which many runners can write: Maven, Gradle, PHPUnit, `node --test`, ctest, nextest."""

import io
import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterable

from tcoder.protocol.checks import Frame, TestOutcome, TestResult
from tcoder.workspace.checks.runner import Parsed, RunnerOutput

MESSAGE = 4000
_OUTCOMES: dict[str, TestOutcome] = {"failure": "failed", "error": "error", "skipped": "skipped"}
_BAD = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1f]|&#(?:x0?[0-8bBcCeEfF]|x1[0-9a-fA-F]|[0-8]|1[124-9]|2[0-9]|3[01]);")
_PLACE = re.compile(r"((?:file://)?/?[\w./@+-]+\.\w{1,5}):(\d+)")
_DOCTYPE = re.compile(rb"<!(?:DOCTYPE|ENTITY)", re.I)


def parse_junit(files: Iterable[bytes], output: RunnerOutput) -> Parsed:
    """The tests of some files. A file that was cut off gives what stands before the cut, and that is said."""
    tests: list[TestResult] = []
    problems: list[str] = []
    for data in files:
        found, problem = _read(data, output)
        tests += found
        if problem:
            problems.append(problem)
    if not tests and not problems:
        problems.append("no tests were found")
    return Parsed(tuple(tests), "; ".join(dict.fromkeys(problems)))


def _read(data: bytes, output: RunnerOutput) -> tuple[list[TestResult], str]:
    if _DOCTYPE.search(data[:4096]):
        return [], "the junit report declares entities and was not read"
    tests: list[TestResult] = []
    suites: list[str] = []
    try:
        for event, element in ElementTree.iterparse(io.BytesIO(_BAD.sub(b"", data)), ("start", "end")):
            if element.tag == "testsuite":
                suites.append(element.get("name", "")) if event == "start" else suites.pop()
            elif element.tag == "testcase" and event == "end":
                tests.append(_case(element, suites, output))
    except ElementTree.ParseError as error:
        return tests, f"the junit report could not be read to its end: {error}"
    return tests, ""


def _case(element: ElementTree.Element, suites: list[str], output: RunnerOutput) -> TestResult:
    outcome: TestOutcome = "passed"
    said = shown = ""
    for child in element:
        if child.tag in _OUTCOMES:
            outcome = _OUTCOMES[child.tag]
            said = "\n".join(part for part in (child.get("message", ""), (child.text or "").strip()) if part)
            shown = child.get("message", "") or said
            break
    owner = element.get("classname", "")
    path = _relative(element.get("file", ""), output)
    if owner in ("", "test") and suites:
        owner = " > ".join(name for name in suites if name)
    name = " > ".join(part for part in (path, owner, element.get("name", "")) if part)
    frames = tuple(
        Frame(place, int(line))
        for found, line in reversed(_PLACE.findall(said))
        if (place := _relative(found, output)) and not place.startswith("/") and "node_modules" not in place
    )
    try:
        seconds = float(element.get("time") or 0.0)
    except ValueError:
        seconds = 0.0
    return TestResult(name, outcome, seconds, shown[:MESSAGE] or said[:MESSAGE], "", "", frames, path)


def _relative(path: str, output: RunnerOutput) -> str:
    path = path.removeprefix("file://")
    base = f"{output.root}/"
    return path[len(base) :] if path.startswith(base) else path
