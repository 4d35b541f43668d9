"""pytest and unittest, run for real in small projects."""

import sys
from pathlib import Path

import pytest
from support.plain_runner import PlainRunner

from tcoder.protocol.checks import CheckCommand, CheckReport
from tcoder.workspace import checks

CALC = """
def add(a, b):
    return a - b


def parse(text):
    try:
        return int(text)
    except ValueError as error:
        raise RuntimeError("bad") from error
"""
PYTEST_TESTS = """
import pytest
from calc import add, parse

@pytest.mark.parametrize("a,b,c", [(1, 2, 3), (1, 0, 1)])
def test_add(a, b, c):
    assert add(a, b) == c

def test_parse():
    parse("x")

@pytest.mark.skip(reason="later")
def test_skip(): ...

@pytest.mark.xfail
def test_xfail():
    assert 0

@pytest.fixture
def broken():
    raise RuntimeError("fixture")

def test_fixture(broken): ...
"""
UNITTEST_TESTS = """
import unittest
from calc import add, parse

class CalcTest(unittest.TestCase):
    def test_add(self):
        self.assertEqual(add(1, 2), 3)
    def test_zero(self):
        self.assertEqual(add(1, 0), 1)
    def test_parse(self):
        parse("x")
    @unittest.skip("later")
    def test_skip(self): ...
    @unittest.expectedFailure
    def test_expected(self):
        self.fail()
    def test_parts(self):
        for n in range(3):
            with self.subTest(n=n):
                self.assertEqual(add(n, 0), n if n < 2 else 5)
"""
PYTHON = sys.executable
PYTEST = CheckCommand(f"PYTEST_DISABLE_PLUGIN_AUTOLOAD=1 {PYTHON} -m pytest -q", "pytest")
UNITTEST = CheckCommand(f"{PYTHON} -m unittest discover -s tests", "unittest")


def project(root: Path, tests: str, name: str = "tests/test_calc.py") -> Path:
    (root / "tests").mkdir()
    (root / "calc.py").write_text(CALC)
    (root / "conftest.py").write_text("")
    (root / name).write_text(tests)
    return root


async def run(root: Path, command: CheckCommand, *select: str, timeout_s: float = 30) -> CheckReport:
    return await checks.run(command, PlainRunner(root), select=select, timeout_s=timeout_s, root=root)


async def test_pytest_tells_everything_and_leaves_nothing(tmp_path: Path) -> None:
    report = await run(project(tmp_path, PYTEST_TESTS), PYTEST)
    outcomes = {test.id.partition("::")[2]: test.outcome for test in report.tests}
    assert outcomes == {
        "test_add[1-2-3]": "failed",
        "test_add[1-0-1]": "passed",
        "test_parse": "failed",
        "test_skip": "skipped",
        "test_xfail": "xfailed",
        "test_fixture": "error",
    }
    assert (report.problem, report.exit_code, report.passed, report.partial) == ("", 1, 2, False)
    add, parse, _ = report.failing
    assert add.message.startswith("AssertionError: assert -1 == 3")
    assert (add.expected, add.actual, add.path) == ("3", "-1", "tests/test_calc.py")
    assert [(frame.path, frame.function) for frame in parse.frames] == [
        ("tests/test_calc.py", "test_parse"),
        ("calc.py", "parse"),
        ("calc.py", "parse"),
    ]
    assert parse.frames[-1].source == "return int(text)"
    left = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()}
    assert left == {"calc.py", "conftest.py", "tests/test_calc.py"}


@pytest.mark.parametrize(
    ("select", "ids"),
    [
        (["tests/test_calc.py::test_add"], ["test_add[1-2-3]", "test_add[1-0-1]"]),
        (["tests/test_calc.py::test_parse", "tests/test_calc.py::test_add[1-0-1]"], ["test_add[1-0-1]", "test_parse"]),
        (["tests/test_calc.py"], None),
    ],
)
async def test_pytest_runs_a_selection(tmp_path: Path, select: list[str], ids: list[str] | None) -> None:
    report = await run(project(tmp_path, PYTEST_TESTS), PYTEST, *select)
    assert report.partial
    ran = [test.id.partition("::")[2] for test in report.tests]
    assert ran == ids if ids else len(ran) == 6


async def test_collection_error_is_a_failing_test(tmp_path: Path) -> None:
    report = await run(project(tmp_path, "import nowhere\n"), PYTEST)
    (test,) = report.failing
    assert test.id == "tests/test_calc.py"
    assert "No module named 'nowhere'" in test.message
    assert not report.ok


async def test_no_tests(tmp_path: Path) -> None:
    report = await run(project(tmp_path, ""), PYTEST)
    assert report.problem == "no tests were found"


@pytest.mark.parametrize("body", ["import time; time.sleep(60)", "while True: pass"])
async def test_a_test_that_hangs_is_named(tmp_path: Path, body: str) -> None:
    project(tmp_path, f"def test_ok(): ...\ndef test_hangs():\n    {body}\n")
    report = await run(tmp_path, PYTEST, timeout_s=2)
    assert report.exit_code is None
    assert report.problem.startswith("timed out after 2 s")
    assert [test.outcome for test in report.tests][:1] == ["passed"]


async def test_a_crash_names_the_running_test(tmp_path: Path) -> None:
    project(tmp_path, "import os\ndef test_ok(): ...\ndef test_dies(): os._exit(9)\n")
    report = await run(tmp_path, PYTEST)
    assert report.problem == (
        "the test run ended with exit code 9 while tests/test_calc.py::test_dies ran, after 1 tests"
    )


async def test_unittest_tells_everything(tmp_path: Path) -> None:
    report = await run(project(tmp_path, UNITTEST_TESTS), UNITTEST)
    outcomes = {test.id.partition(".CalcTest.")[2]: test.outcome for test in report.tests}
    assert outcomes == {
        "test_add": "failed",
        "test_zero": "passed",
        "test_parse": "failed",
        "test_skip": "skipped",
        "test_expected": "xfailed",
        "test_parts": "failed",
        "test_parts (n=2)": "failed",
    }
    assert (report.problem, report.exit_code) == ("", 1)
    add = next(test for test in report.failing if test.id.endswith("test_add"))
    assert (add.message, add.path) == ("AssertionError: -1 != 3", "tests/test_calc.py")
    assert [frame.function for frame in add.frames] == ["test_add"]
    selected = await run(tmp_path, UNITTEST, "test_calc.CalcTest.test_zero")
    assert [test.outcome for test in selected.tests] == ["passed"]


async def test_unittest_that_cannot_be_imported(tmp_path: Path) -> None:
    report = await run(project(tmp_path, "import nowhere\n"), UNITTEST)
    (test,) = report.failing
    assert "No module named 'nowhere'" in test.message


async def test_pytest_below_another_command_still_tells(tmp_path: Path) -> None:
    project(tmp_path, PYTEST_TESTS)
    (tmp_path / "Makefile").write_text(f"test:\n\t{PYTHON} -m pytest -q\n")
    report = await run(tmp_path, CheckCommand("make test", "generic"))
    assert len(report.failing) == 3


@pytest.mark.parametrize("how", ["PYTHONPATH=. {}", 'export PYTHONPATH="lib:."; {}'])
async def test_a_command_with_its_own_path_still_tells(tmp_path: Path, how: str) -> None:
    report = await run(project(tmp_path, PYTEST_TESTS), CheckCommand(how.format(PYTEST.command), "pytest"))
    assert len(report.failing) == 3
    assert report.failing[1].frames


async def test_where_the_plugin_gets_lost_the_summary_is_read(tmp_path: Path) -> None:
    project(tmp_path, PYTEST_TESTS)
    (tmp_path / "run.sh").write_text(f"PYTHONPATH=. exec {PYTHON} -m pytest -q\n")
    report = await run(tmp_path, CheckCommand("sh run.sh", "pytest"))
    assert [test.id.partition("::")[2] for test in report.failing] == ["test_add[1-2-3]", "test_parse", "test_fixture"]
    assert (report.problem, report.passed) == ("", 1)


@pytest.mark.parametrize(("command", "problem"), [("true", ""), ("nowhere-to-be-found", "could not be run")])
async def test_any_command_is_judged_by_its_exit_code(tmp_path: Path, command: str, problem: str) -> None:
    report = await run(tmp_path, CheckCommand(command, "generic"))
    assert problem in report.problem
    assert report.ok is (not problem)


@pytest.mark.parametrize("command", [PYTEST, UNITTEST], ids=["pytest", "unittest"])
async def test_a_trace_tells_lines_and_calls_by_test(tmp_path: Path, command: CheckCommand) -> None:
    root = project(tmp_path, UNITTEST_TESTS)
    found = await checks.trace(command, PlainRunner(root), select=(), timeout_s=30, root=root)
    by_name = {trace.id.replace("::", ".").rpartition(".")[2]: trace for trace in found if trace.id}
    assert by_name["test_add"].lines == {"calc.py": (2, 3)}
    (call,) = by_name["test_add"].calls
    assert (call.function, call.arguments, call.result) == ("add", "a=1, b=2", "-1")
    assert by_name["test_parse"].calls[0].result == "raises RuntimeError"


async def test_what_cannot_be_traced_gives_nothing(tmp_path: Path) -> None:
    assert (
        await checks.trace(CheckCommand("go test", "go"), PlainRunner(tmp_path), select=(), timeout_s=5, root=tmp_path)
        == ()
    )
