"""Runners of other languages: live where their toolchains are, else from what they wrote; garbled reports of each."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from support.plain_runner import PlainRunner

from tcoder.protocol.checks import CheckCommand, CheckReport
from tcoder.workspace import checks
from tcoder.workspace.checks import compiled, javascript, python, runners
from tcoder.workspace.checks.junit import parse_junit
from tcoder.workspace.checks.runner import Parsed, RunnerOutput
from tcoder.workspace.checks.running import unpack

DATA = Path(__file__).parent / "data"
ROOT = Path("/project")


def output(text: str = "", *, exit_code: int | None = 1, root: Path = ROOT, **reports: bytes) -> RunnerOutput:
    named = {name.replace("_", "."): data for name, data in reports.items()}
    return RunnerOutput(named, text, exit_code, root)


async def run(root: Path, files: dict[str, str], command: str, runner: str) -> CheckReport:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return await checks.run(CheckCommand(command, runner), PlainRunner(root), timeout_s=50, root=root)


NODE_FILES = {
    "package.json": '{"name": "x", "scripts": {"test": "node --test"}}',
    "src/calc.js": "exports.add = (a, b) => a - b;\nexports.boom = () => { throw new Error('no luck'); };\n",
    "test/calc.test.js": """const test = require('node:test');
const assert = require('node:assert');
const { add, boom } = require('../src/calc');
test('adds', () => { assert.strictEqual(add(1, 2), 3); });
test('zero', () => { assert.strictEqual(add(1, 0), 1); });
test('booms', () => { boom(); });
test('later', { skip: true }, () => {});
""",
}
CARGO_FILES = {
    "Cargo.toml": '[package]\nname = "calc"\nversion = "0.1.0"\nedition = "2021"\n',
    "src/lib.rs": """pub fn add(a: i32, b: i32) -> i32 { a - b }
#[cfg(test)]
mod tests {
    use super::*;
    #[test]
    fn adds() { assert_eq!(add(1, 2), 3); }
    #[test]
    fn zero() { assert_eq!(add(1, 0), 1); }
    #[test]
    #[ignore]
    fn later() {}
}
""",
}
LIVE = [
    (
        "node",
        NODE_FILES,
        "npm test",
        "node",
        {"adds": "failed", "zero": "passed", "booms": "failed", "later": "skipped"},
    ),
    ("cargo", CARGO_FILES, "cargo test --offline", "cargo", {"adds": "failed", "zero": "passed", "later": "skipped"}),
]


@pytest.mark.parametrize(
    ("files", "command", "runner", "outcomes"), [case[1:] for case in LIVE if shutil.which(case[0])]
)
async def test_live(tmp_path: Path, files: dict[str, str], command: str, runner: str, outcomes: dict[str, str]) -> None:
    report = await run(tmp_path, files, command, runner)
    assert (report.problem, report.exit_code != 0) == ("", True)
    assert {test.id.replace("::", " ").split()[-1]: test.outcome for test in report.tests} == outcomes
    adds = next(test for test in report.failing if test.id.endswith("adds"))
    assert (adds.actual, adds.expected) == ("-1", "3")
    assert adds.frames[0].source


READERS: dict[str, tuple[str, Callable[[RunnerOutput], Parsed]]] = {
    "jest": ("jest_json", javascript.parse_jest),
    "vitest": ("jest_json", javascript.parse_jest),
    "mocha": ("mocha_json", javascript.parse_mocha),
}


@pytest.mark.parametrize("name", READERS)
def test_recorded(name: str) -> None:
    report, parse = READERS[name]
    parsed = parse(output(**{report: (DATA / f"{name}.json").read_bytes()}))
    assert parsed.problem == ""
    assert {test.id.split(" ")[-1]: test.outcome for test in parsed.tests} == {
        "adds": "failed",
        "zero": "passed",
        "booms": "failed",
        "later": "skipped",
    }
    adds, booms = (test for test in parsed.tests if test.outcome == "failed")
    assert adds.path.startswith(name) and adds.id.startswith(f"{adds.path} > calc")
    assert (adds.expected, adds.actual) == ("3", "-1") or "expected -1 to be 3" in adds.message
    assert "no luck" in booms.message
    assert [frame.path for frame in booms.frames][-1] == "src/calc.js"


GO = b"""{"Action":"run","Package":"x/calc","Test":"TestAdd"}
{"Action":"output","Package":"x/calc","Test":"TestAdd","Output":"    calc_test.go:7: got -1, want 3\\n"}
{"Action":"fail","Package":"x/calc","Test":"TestAdd","Elapsed":0.01}
{"Action":"pass","Package":"x/calc","Test":"TestZero","Elapsed":0}
{"Action":"fail","Package":"x/calc","Elapsed":0.2}
{"Action":"output","Package":"x/broken","Output":"./b.go:3:2: undefined: y\\n"}
{"Action":"fail","Package":"x/broken","Elapsed":0}
"""


def test_go_events() -> None:
    parsed = compiled.parse_go(output(go_jsonl=GO))
    assert [(test.id, test.outcome) for test in parsed.tests] == [
        ("x/calc::TestAdd", "failed"),
        ("x/calc::TestZero", "passed"),
        ("x/broken", "error"),
    ]
    assert parsed.tests[0].message == "calc_test.go:7: got -1, want 3"
    assert (parsed.tests[0].frames[0].path, parsed.tests[0].frames[0].line) == ("calc_test.go", 7)


def test_a_crate_that_does_not_compile_names_the_place() -> None:
    text = "error[E0425]: cannot find value `x` in this scope\n  --> src/lib.rs:3:9\n   |\n"
    (test,) = compiled.parse_cargo(output(text, exit_code=101)).tests
    assert (test.outcome, test.message, test.frames[0].line) == ("error", "cannot find value `x` in this scope", 3)


JUNIT = b"""<?xml version="1.0"?><testsuites><testsuite name="S">
<testcase classname="a.B" name="ok" time="0.5"/>
<testcase classname="a.B" name="bad"><failure message="expected 3">at src/B.java:12
</failure></testcase><testcase classname="a.B" name="off"><skipped/></testcase>
</testsuite></testsuites>"""


def test_junit() -> None:
    parsed = parse_junit([JUNIT], output())
    assert [(test.id, test.outcome, test.duration_s) for test in parsed.tests] == [
        ("a.B > ok", "passed", 0.5),
        ("a.B > bad", "failed", 0.0),
        ("a.B > off", "skipped", 0.0),
    ]
    assert parsed.tests[1].message == "expected 3"


def test_a_junit_report_that_was_cut_off_gives_what_is_there_and_says_so() -> None:
    parsed = parse_junit([JUNIT[:170]], output())
    assert [test.id for test in parsed.tests] == ["a.B > ok"]
    assert "could not be read to its end" in parsed.problem


def test_a_junit_report_with_entities_is_not_read() -> None:
    bomb = b'<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "aaaa">]><testsuite><testcase name="&a;"/></testsuite>'
    assert parse_junit([bomb], output()) == Parsed((), "the junit report declares entities and was not read")


GARBLED = [
    b"",
    b"\xff\xfe\x00garbage",
    b"{",
    b"[1, 2",
    b'{"testResults": 5}',
    b"null",
    b"\x1b[31m{}\x1b[0m",
    b"<x",
    b'{"tests": [1]}',
]
NAMES = ("report_jsonl", "jest_json", "mocha_json", "node_xml", "go_jsonl", "rspec_json", "x_xml")


@pytest.mark.parametrize("runner", sorted(runners._ALL))
@pytest.mark.parametrize(
    "text", ["", "\x1b[31mFAILED\x1b[0m a::b - x\n", "Ran 3 tests in 1s\n\nOK\n" * 2, "\udcff\x00"]
)
def test_garbled_reports_break_no_parser(runner: str, text: str) -> None:
    parse = runners.of(runner).parse
    for data in GARBLED:
        for exit_code in (0, 1, 127, None):
            parsed = parse(output(text, exit_code=exit_code, **dict.fromkeys(NAMES, data)))
            assert parsed.tests or parsed.problem or runner == "generic"


def test_lines_between_that_cannot_be_read_are_counted() -> None:
    good = b'{"kind": "test", "id": "a", "outcome": "passed"}\n'
    end = b'{"kind": "end", "status": 0}\n'
    parsed = python.parse_lines(good + b"\xff{\n" + end, output(exit_code=0))
    assert (len(parsed.tests), parsed.problem) == (1, "1 lines of the report could not be read")


def test_fifty_megabytes_of_noise_are_read_past() -> None:
    noise = "x\x1b[0m\n" * 8_000_000
    assert (
        python.parse_pytest_text(output(noise + "FAILED a.py::b - no\n1 failed, 2 passed in 1s\n")).tests[0].id
        == "a.py::b"
    )


def test_unpack_finds_reports_between_the_marks_only() -> None:
    printed = "hello\nnonce file fake\nAAAA\n\nword file r.json\nH4sIAAAAAAAAAwMAAAAAAAAAAAA=\n\nword end 3\n"
    reports, text, code = unpack(printed, "word")
    assert (dict(reports), code) == ({"r.json": b""}, 3)
    assert text.startswith("hello\nnonce file fake")
    assert unpack("cut off in the midd", "word") == ({}, "cut off in the midd", None)
