"""What no longer parses is told with its line; what another version or a template may read is not."""

import pytest

from tcoder.index.well_formed import fault, new_fault


@pytest.mark.parametrize(
    ("path", "text", "said"),
    [
        ("a.py", "x = (1,\n", "line 1: '(' was never closed"),
        ("a.py", "def f():\nreturn 1\n", "line 2: expected an indented block after function definition on line 1"),
        ("a.js", "const a = {b: 1;\nfoo()\n", "line 1: '}' is missing"),
        ("a.ts", "let x: number = ;\n", "line 1: cannot be parsed from '=' on"),
        ("a.go", "package a\n\nfunc f() {\n", "line 3: cannot be parsed from '{' on"),
        ("a.rs", "fn f() { let x = ; }\n", "line 1: cannot be parsed from '=' on"),
        ("a.java", "class A { int f() { return 1 } }", "line 1: ';' is missing"),
        ("a.json", '{"a": 1,}', "line 1: Expecting property name enclosed in double quotes"),
        ("a.toml", "x =\n", "Invalid value (at line 1, column 4)"),
        ("a.py", "type X = int\nf'{a['b']}'\n", ""),  # newer than the Python this runs on
        ("a.py", "x = '\\d'\n", ""),
        ("a.tsx", "const a = <b>hi</b>;\n", ""),
        ("tsconfig.json", "{// why\n}", ""),
        ("a.c", "#define X {\nint f() X\n", ""),
        ("notes.md", "((", ""),
        ("a.py", "(" * 600_000, ""),
    ],
)
def test_fault(path: str, text: str, said: str) -> None:
    assert fault(path, text) == said


@pytest.mark.parametrize(
    ("old", "new", "found"),
    [
        ("x = 1\n", "x = (\n", True),
        (None, "x = (\n", True),
        ("{{ x }} y\n", "{{ x }} z\n", False),
        ("x = (", "x", False),
    ],
)
def test_only_a_fault_that_the_change_brings_counts(old: str | None, new: str, found: bool) -> None:
    assert bool(new_fault("a.py", old, new)) is found
