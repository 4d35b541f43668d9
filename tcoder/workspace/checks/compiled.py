"""`go test` by its JSON events, `cargo test` by what it prints, Maven and Gradle by the JUnit files they leave."""

import re

import msgspec
from msgspec import Struct

from tcoder.protocol.checks import CheckCommand, Frame, TestOutcome, TestResult
from tcoder.workspace.checks.junit import parse_junit
from tcoder.workspace.checks.runner import Invocation, Parsed, Runner, RunnerOutput, quote

MESSAGE = 4000
_GO_TEST = re.compile(r"\bgo test\b(?! -json)")
_GO_PLACE = re.compile(r"^\s*([\w./-]+_test\.go|[\w./-]+\.go):(\d+):", re.M)


def invoke_go(command: CheckCommand, select: tuple[str, ...]) -> Invocation:
    told = _GO_TEST.sub("go test -json", command.command, count=1)
    names = sorted({re.escape(item.rpartition("::")[2].split("/")[0]) for item in select if "::" in item})
    chosen = f" -run {quote('^(' + '|'.join(names) + ')$')}" if names else ""
    return Invocation(f'{told}{chosen} >"$TCODER_CHECKS/go.jsonl"', {}, {}, ("go.jsonl",))


class _GoEvent(Struct):
    Action: str = ""
    Package: str = ""
    Test: str = ""
    Output: str = ""
    Elapsed: float = 0.0


_GO_OUTCOMES: dict[str, TestOutcome] = {"pass": "passed", "fail": "failed", "skip": "skipped"}


def parse_go(output: RunnerOutput) -> Parsed:
    data = output.reports.get("go.jsonl", b"")
    printed: dict[tuple[str, str], list[str]] = {}
    ended: dict[tuple[str, str], tuple[TestOutcome, float]] = {}
    unread = 0
    for line in data.split(b"\n"):
        if not line.strip():
            continue
        try:
            event = msgspec.json.decode(line, type=_GoEvent)
        except msgspec.MsgspecError:
            unread += 1
            continue
        key = (event.Package, event.Test)
        if event.Action == "output":
            printed.setdefault(key, []).append(event.Output)
        elif event.Action in _GO_OUTCOMES:
            ended[key] = (_GO_OUTCOMES[event.Action], event.Elapsed)
    packages_with_tests = {package for package, test in ended if test}
    tests: list[TestResult] = []
    for (package, test), (outcome, seconds) in ended.items():
        if not test and (outcome != "failed" or package in packages_with_tests):
            continue
        said = "".join(printed.get((package, test), []))
        lines = [
            text for text in said.split("\n") if text.strip() and not text.startswith(("=== ", "--- ", "    --- "))
        ]
        frames = tuple(Frame(path, int(line)) for path, line in _GO_PLACE.findall(said))
        name = f"{package}::{test}" if test else package
        shown = "\n".join(text.strip() for text in lines)[:MESSAGE] if outcome == "failed" else ""
        tests.append(TestResult(name, outcome if test else "error", seconds, shown, frames=frames))
    if unread and not tests:
        return Parsed((), f"the JSON events of go test could not be read (exit code {output.exit_code})")
    problem = f"{unread} lines were no JSON" if unread else "" if tests else "no tests were found"
    if not tests and output.exit_code in (126, 127):
        problem = f"the command could not be run (exit code {output.exit_code})"
    return Parsed(tuple(tests), problem)


def invoke_cargo(command: CheckCommand, select: tuple[str, ...]) -> Invocation:
    names = [quote(item.rpartition(" ")[2]) for item in select]
    chosen = f" -- --exact {' '.join(names)}" if names else ""
    environment = {
        "CARGO_TERM_COLOR": "never",
        "RUST_BACKTRACE": "0",
        "CARGO_TARGET_DIR": "${CARGO_TARGET_DIR:-target}",
    }
    return Invocation(f"{command.command}{chosen}", environment)


_RUNNING = re.compile(r"^\s+(?:Running (?:unittests )?(\S+)|Doc-tests (\S+))", re.M)
_RUST_TEST = re.compile(r"^test (\S.*?)(?: - should panic)? \.\.\. (ok|FAILED|ignored)", re.M)
_RUST_SAID = re.compile(r"^---- (\S.*?) stdout ----\n(.*?)(?=^---- |^failures:|\Z)", re.M | re.S)
_RUST_PLACE = re.compile(r"panicked at (?:'.*?', )?([\w./-]+\.rs):(\d+)")
_RUST_SIDES = re.compile(r"^\s*(left|right): (.+)$", re.M)
_RUST_OUTCOMES: dict[str, TestOutcome] = {"ok": "passed", "FAILED": "failed", "ignored": "skipped"}
_RUST_ERROR = re.compile(r"^error(?:\[E\d+\])?: (.+)\n\s+--> ([\w./-]+):(\d+)", re.M)


def parse_cargo(output: RunnerOutput) -> Parsed:
    """The text of `cargo test`: stable Rust has no other."""
    tests: list[TestResult] = []
    seen: dict[str, int] = {}
    said = {name: text for name, text in _RUST_SAID.findall(output.text)}  # noqa: C416 - pairs, named
    for name, how in _RUST_TEST.findall(output.text):
        seen[name] = seen.get(name, 0) + 1
        text = said.get(name, "") if how == "FAILED" else ""
        sides = dict(_RUST_SIDES.findall(text))
        frames = tuple(Frame(path, int(line)) for path, line in _RUST_PLACE.findall(text))
        message = "\n".join(line for line in text.strip().split("\n") if not line.startswith("note: run with"))
        unique = name if seen[name] == 1 else f"{name} ({seen[name]})"
        tests.append(
            TestResult(
                unique,
                _RUST_OUTCOMES[how],
                0.0,
                message[:MESSAGE],
                sides.get("right", ""),
                sides.get("left", ""),
                frames,
            )
        )
    if not tests:
        for message, path, line in _RUST_ERROR.findall(output.text)[:5]:
            tests.append(
                TestResult(f"{path}:{line}", "error", 0.0, message, frames=(Frame(path, int(line)),), path=path)
            )
    if not tests:
        if output.exit_code in (126, 127):
            return Parsed((), f"the command could not be run (exit code {output.exit_code})")
        return Parsed((), f"no tests could be read (exit code {output.exit_code})")
    return Parsed(tuple(tests))


def invoke_junit(command: CheckCommand, select: tuple[str, ...]) -> Invocation:
    """Maven and Gradle write their reports into the build folder anyway: those written by this run are copied."""
    names = ",".join(item.replace(" > ", "#") for item in select)
    chosen = ""
    if names:
        chosen = f" --tests {quote(names)}" if "gradle" in command.command else f" -Dtest={quote(names)}"
    copy = (
        'find . -newer "$TCODER_CHECKS/began" \\( -path "*/surefire-reports/*.xml" -o -path "*/test-results/*.xml" \\)'
        ' -exec cp {} "$TCODER_CHECKS" \\;'
    )
    return Invocation(
        f'touch "$TCODER_CHECKS/began"; sleep 0.01; {command.command}{chosen}; code=$?; {copy}; exit $code',
        {},
        {},
        ("*.xml",),
    )


def parse_xml(output: RunnerOutput) -> Parsed:
    files = [data for name, data in output.reports.items() if name.endswith(".xml")]
    if not files:
        return Parsed((), f"no report was written (exit code {output.exit_code})")
    return parse_junit(files, output)


def invoke_phpunit(command: CheckCommand, select: tuple[str, ...]) -> Invocation:
    chosen = f" --filter {quote('|'.join(re.escape(item.rpartition(' > ')[2]) for item in select))}" if select else ""
    return Invocation(f'{command.command} --log-junit "$TCODER_CHECKS/phpunit.xml"{chosen}', {}, {}, ("*.xml",))


def invoke_ctest(command: CheckCommand, select: tuple[str, ...]) -> Invocation:
    chosen = f" -R {quote('^(' + '|'.join(re.escape(item) for item in select) + ')$')}" if select else ""
    return Invocation(f'{command.command} --output-junit "$TCODER_CHECKS/ctest.xml"{chosen}', {}, {}, ("*.xml",))


def invoke_rspec(command: CheckCommand, select: tuple[str, ...]) -> Invocation:
    """RSpec's own JSON; the id of an example is its place."""
    options = '--format progress --format json --out "$TCODER_CHECKS/rspec.json"'
    return Invocation(
        f"{command.command} {options} {' '.join(quote(item) for item in select)}", {}, {}, ("rspec.json",)
    )


class _Example(Struct):
    id: str = ""
    full_description: str = ""
    status: str = ""
    file_path: str = ""
    line_number: int = 0
    run_time: float | None = 0.0
    exception: dict[str, object] | None = None


class _RspecReport(Struct):
    examples: list[_Example] = []


def parse_rspec(output: RunnerOutput) -> Parsed:
    try:
        report = msgspec.json.decode(output.reports.get("rspec.json", b""), type=_RspecReport)
    except msgspec.MsgspecError:
        return Parsed((), f"the JSON report could not be read (exit code {output.exit_code})")
    outcomes: dict[str, TestOutcome] = {"passed": "passed", "failed": "failed", "pending": "skipped"}
    tests = tuple(
        TestResult(
            f"{one.file_path.removeprefix('./')}:{one.line_number}",
            outcomes.get(one.status, "error"),
            one.run_time or 0.0,
            str((one.exception or {}).get("message", ""))[:MESSAGE],
            path=one.file_path.removeprefix("./"),
        )
        for one in report.examples
    )
    return Parsed(tests, "" if tests else "no tests were found")


GO = Runner("go", invoke_go, parse_go)
CARGO = Runner("cargo", invoke_cargo, parse_cargo)
JUNIT = Runner("junit", invoke_junit, parse_xml)
PHPUNIT = Runner("phpunit", invoke_phpunit, parse_xml)
CTEST = Runner("ctest", invoke_ctest, parse_xml)
RSPEC = Runner("rspec", invoke_rspec, parse_rspec)
