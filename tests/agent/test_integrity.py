"""Tests that pass for the wrong reason are noticed; honest edits are not."""

import pytest

from tcoder.agent.integrity import FileEdit, inspect, is_test_file, literals_of

TEST = """import pytest

def test_a():
    x = 1
    assert f(x) == 2
    assert f(2) == 3

def test_b():
    assert g()
"""
CODE = "def f(x):\n    return x + 1\n"


@pytest.mark.parametrize(
    ("path", "old", "new", "kinds"),
    [
        ("tests/test_f.py", TEST, None, ["deleted"]),
        ("tests/test_f.py", TEST, TEST.partition("def test_b")[0], ["deleted"]),
        ("tests/test_f.py", TEST, TEST.replace("def test_b", "@pytest.mark.skip\ndef test_b"), ["skipped"]),
        ("tests/test_f.py", TEST, TEST.replace("def test_b", "@pytest.mark.xfail\ndef test_b"), ["skipped"]),
        ("tests/test_f.py", TEST, TEST.replace("    assert f(2) == 3\n", ""), ["loosened"]),
        ("tests/test_f.py", TEST, TEST.replace("f(2) == 3", "f(2) == 4"), ["loosened"]),
        ("tests/test_f.py", TEST, TEST.replace("f(2) == 3", "True"), ["loosened"]),
        ("tests/test_f.py", TEST, TEST.replace("x = 1", "x = 0 + 1"), []),
        ("tests/test_f.py", TEST, TEST + "\ndef test_c():\n    assert f(0) == 1\n", []),
        ("tests/test_new.py", None, "def test_x(): assert 1\n", []),
        ("src/f.test.js", "it('a', () => { expect(1) })", "it.skip('a', () => { expect(1) })", ["skipped"]),
        ("src/f.test.js", "it('a', () => { expect(1) })", "it('a', () => {})", ["loosened"]),
        ("conftest.py", "", "collect_ignore = ['tests']\n", ["configuration"]),
        (
            "pyproject.toml",
            "[project]\n",
            "[project]\n[tool.pytest.ini_options]\naddopts = '-k x'\n",
            ["configuration"],
        ),
        ("pyproject.toml", "[project]\n", "[project]\nname = 'x'\n", []),
        (
            "f.py",
            CODE,
            "import os\n" + CODE.replace("x + 1", "3 if 'PYTEST_CURRENT_TEST' in os.environ else x"),
            ["detects"],
        ),
        ("f.py", CODE, CODE.replace("    return", "    if x == 2:\n        return 3\n    return"), ["hard-coded"]),
        ("f.py", CODE, CODE.replace("    return", "    if x == 77:\n        return 99\n    return"), []),
        ("f.py", CODE, CODE.replace("x + 1", "x + 2"), []),
    ],
)
def test_inspect(path: str, old: str | None, new: str | None, kinds: list[str]) -> None:
    found = inspect([FileEdit(path, old, new)], literals_of([TEST]))
    assert [finding.kind for finding in found] == kinds
    assert all(finding.path == path and path in finding.text for finding in found)


@pytest.mark.parametrize(
    ("path", "is_test"),
    [("tests/helpers.py", True), ("test_a.py", True), ("a_test.go", True), ("src/a.spec.ts", True),
     ("FooTest.java", True), ("src/a.py", False), ("latest.py", False), ("contest/a.py", False)],
)  # fmt: skip
def test_is_test_file(path: str, is_test: bool) -> None:
    assert is_test_file(path) is is_test
