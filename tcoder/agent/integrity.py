"""Notices when tests pass for the wrong reason: weakened tests, changed configuration, answers made for the tests."""

import ast
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import PurePosixPath

from msgspec import Struct

CONFIGURATION = frozenset(
    {
        "conftest.py", "pytest.ini", "tox.ini", "setup.cfg", "noxfile.py", "jest.config.js", "jest.config.ts",
        "vitest.config.ts", "vitest.config.js", ".mocharc.json", ".mocharc.js", "phpunit.xml", ".rspec",
    }
)  # fmt: skip
_SECTIONS = re.compile(r"^[-+].*(?:\[tool\.pytest|testpaths|addopts|norecursedirs|\"test\"\s*:)", re.M)
_SKIPS = re.compile(
    r"\b(?:pytest\.(?:mark\.)?(?:skip|skipif|xfail|importorskip)|unittest\.(?:skip\w*|expectedFailure)|self\.skipTest"
    r"|(?:it|test|describe)\.(?:skip|only|todo)|xit|xdescribe|t\.Skip(?:Now|f)?|@(?:Disabled|Ignore))\b|#\[ignore"
)
_UNDER_TEST = re.compile(
    r"PYTEST_CURRENT_TEST|[\"'](?:pytest|unittest|_pytest)[\"']\s+in\s+sys\.(?:modules|argv)|JEST_WORKER_ID"
    r"|NODE_ENV['\"\]]*\s*===?\s*['\"]test['\"]|sys\.exit\(0\)|os\._exit\(0\)"
)
_ASSERTION = re.compile(r"\bassert\w*\b|\bexpect\(|\.should\b|\bt\.(?:Error|Fatal)f?\(")


class FileEdit(Struct, frozen=True):
    """A file before and after a turn; None = it was not there."""

    path: str
    old: str | None
    new: str | None


class Finding(Struct, frozen=True):
    """`kind` groups findings; `text` is one sentence for people, with the place."""

    kind: str
    path: str
    text: str


def is_test_file(path: str) -> bool:
    """Whether a path is that of a test by the customs of its language."""
    parts = PurePosixPath(path).parts
    name = parts[-1] if parts else ""
    stem = name.partition(".")[0]
    named = stem.startswith("test_") or stem.endswith(("_test", "_spec", "Test", "Tests")) or stem == "tests"
    return (
        named
        or bool(re.search(r"\.(?:test|spec)\.\w+$", name))
        or bool({"tests", "test", "__tests__", "spec"} & set(parts[:-1]))
    )


def inspect(edits: Iterable[FileEdit], tested_values: Iterable[str] = ()) -> tuple[Finding, ...]:
    """What in these edits makes passing tests prove less than they seem to. `tested_values` are literals of the
    failing tests, as source text: code that compares with one and returns another was made for them."""
    values = frozenset(tested_values)
    found: list[Finding] = []
    for edit in edits:
        if PurePosixPath(edit.path).name in CONFIGURATION:
            found.append(Finding("configuration", edit.path, f"{edit.path}: the tests' configuration was changed"))
        elif PurePosixPath(edit.path).name in ("pyproject.toml", "package.json") and _touches_section(edit):
            found.append(Finding("configuration", edit.path, f"{edit.path}: how the tests run was changed"))
        if is_test_file(edit.path):
            found += _in_test(edit)
        elif edit.new is not None:
            found += _in_code(edit, values)
    return tuple(found)


def _touches_section(edit: FileEdit) -> bool:
    old, new = (edit.old or "").splitlines(), (edit.new or "").splitlines()
    changed = [f"-{line}" for line in old if line not in new] + [f"+{line}" for line in new if line not in old]
    return bool(_SECTIONS.search("\n".join(changed)))


def _in_test(edit: FileEdit) -> Iterator[Finding]:
    path = edit.path
    if edit.old is None:
        return
    if edit.new is None:
        yield Finding("deleted", path, f"{path}: a test file was deleted")
        return
    if len(_SKIPS.findall(edit.new)) > len(_SKIPS.findall(edit.old)):
        yield Finding("skipped", path, f"{path}: a test is skipped or expected to fail now")
    before, after = _tests(edit.old), _tests(edit.new)
    if gone := sorted(before.keys() - after.keys()):
        yield Finding("deleted", path, f"{path}: tests were removed: {', '.join(gone[:5])}")
    for name in sorted(before.keys() & after.keys()):
        yield from _compare_test(path, name, before[name], after[name])
    if not before and len(_ASSERTION.findall(edit.new)) < len(_ASSERTION.findall(edit.old)):
        yield Finding("loosened", path, f"{path}: assertions were removed")


def _compare_test(path: str, name: str, old: ast.AST, new: ast.AST) -> Iterator[Finding]:
    asserts_before, asserts_after = _asserts(old), _asserts(new)
    if len(asserts_after) < len(asserts_before):
        yield Finding("loosened", path, f"{path}: {name} has fewer assertions than before")
        return
    changed = [pair for pair in zip(asserts_before, asserts_after, strict=False) if pair[0] != pair[1]]
    if changed:
        yield Finding("loosened", path, f"{path}: what {name} expects was changed")


def _tests(source: str) -> dict[str, ast.AST]:
    """Test functions of a Python file by their qualified name; of anything else none."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError):
        return {}
    found: dict[str, ast.AST] = {}
    for node in tree.body:
        for owner, inner in [
            ("", node),
            *((f"{node.name}.", one) for one in getattr(node, "body", []) if isinstance(node, ast.ClassDef)),
        ]:
            if isinstance(inner, ast.FunctionDef | ast.AsyncFunctionDef) and inner.name.startswith("test"):
                found[f"{owner}{inner.name}"] = inner
    return found


def _asserts(function: ast.AST) -> list[str]:
    found: list[str] = []
    for node in ast.walk(function):
        match node:
            case ast.Assert() | ast.Call(func=ast.Attribute(attr="raises")) | ast.Call(func=ast.Name(id="raises")):
                found.append(ast.dump(node))
            case ast.Call(func=ast.Attribute(attr=attr)) if attr.startswith("assert"):
                found.append(ast.dump(node))
            case _:
                continue
    return found


def _in_code(edit: FileEdit, values: frozenset[str]) -> Iterator[Finding]:
    new, old = edit.new or "", edit.old or ""
    if len(_UNDER_TEST.findall(new)) > len(_UNDER_TEST.findall(old)):
        yield Finding("detects", edit.path, f"{edit.path}: code asks whether it is under test, or ends the process")
    if answers := sorted(_answers(new) - _answers(old)):
        made_for = [answer for answer in answers if not values or set(answer) <= values]
        if made_for:
            question, answer = made_for[0]
            yield Finding("hard-coded", edit.path, f"{edit.path}: answers {answer} when asked for {question}")


def _answers(source: str) -> set[tuple[str, str]]:
    """(compared literal, returned literal) of every `if x == literal: return literal`."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError):
        return set()
    found: set[tuple[str, str]] = set()
    for node in ast.walk(tree):
        match node:
            case ast.If(
                test=ast.Compare(ops=[ast.Eq()], comparators=[ast.Constant(value=asked)]),
                body=[ast.Return(value=ast.Constant(value=answer))],
            ):
                found.add((repr(asked), repr(answer)))
            case ast.IfExp(
                test=ast.Compare(ops=[ast.Eq()], comparators=[ast.Constant(value=asked)]),
                body=ast.Constant(value=answer),
            ):
                found.add((repr(asked), repr(answer)))
            case _:
                continue
    return found


def literals_of(sources: Sequence[str]) -> frozenset[str]:
    """The literals in the text of tests, for `inspect`."""
    found: set[str] = set()
    for source in sources:
        try:
            tree = ast.parse(source)
        except (SyntaxError, ValueError, RecursionError):
            continue
        found |= {repr(node.value) for node in ast.walk(tree) if isinstance(node, ast.Constant)}
    return frozenset(found)
