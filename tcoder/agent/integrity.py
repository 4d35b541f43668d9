"""Notices when tests pass for the wrong reason: weakened tests, changed configuration, answers made for the tests."""

import configparser
import json
import re
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import PurePosixPath
from typing import Any, cast

from msgspec import Struct

from tcoder.agent import integrity_python, integrity_syntax
from tcoder.agent.integrity_shape import TestShape, compare

CONFIGURATION = re.compile(
    r"^(?:conftest\.py|sitecustomize\.py|usercustomize\.py|\.?pytest\.(?:ini|toml)|noxfile\.py|nextest\.toml|\.rspec"
    r"|(?:jest|vitest|karma|playwright|cypress|ava)\.config\.[cm]?[jt]s|jest\.config\.json|\.mocharc(?:\.\w+)?"
    r"|(?:jest|vitest|test)[.-]setup\.[cm]?[jt]s|setup[.-]?[tT]ests?\.[cm]?[jt]s|phpunit\.xml(?:\.dist)?"
    r"|spec_helper\.rb|test_helper\.(?:rb|exs))$"
)
_SKIPS = re.compile(
    r"\b(?:it|test|describe|context)\.(?:skip|todo|fails|failing)\b|\bx(?:it|describe|test)\s*\(|\bt\.Skip(?:Now|f)?\("
    r"|@(?:Disabled|Ignore)\b|#\[ignore|#\[should_panic|\bmarkTestSkipped\(|@tag\s+:skip|\bskip\s+[\"']|\[Ignore\b|Skip\s*="
)
_ASSERTION = re.compile(
    r"\bassert\w*!?\b|\bexpect\(|\.should\b|\bt\.(?:Error|Fatal)f?\(|\brefute\w*\b|\bAssert\.\w+|\bto (?:eq|be)\b"
)
_DATA = frozenset({"", ".json", ".txt", ".snap", ".golden", ".yaml", ".yml", ".csv", ".xml", ".html", ".out", ".toml"})
TRIVIAL = frozenset({"0", "1", "-1", "None", "True", "False", "''", "()", "[]", "{}", "true", "false", "null", "nil"})


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
        or bool({"tests", "test", "__tests__", "spec", "__snapshots__"} & set(parts[:-1]))
    )


def is_configuration(edit: FileEdit) -> bool:
    """Whether an edit changes how tests are run."""
    name = PurePosixPath(edit.path).name
    if CONFIGURATION.match(name):
        return edit.old != edit.new
    read = _SETTINGS.get(name)
    return read is not None and read(edit.old or "") != read(edit.new or "")


def inspect(edits: Iterable[FileEdit], tested_values: Iterable[str] = ()) -> tuple[Finding, ...]:
    """What in these edits makes passing tests prove less than they seem to. `tested_values` are literals of the
    failing tests, as `literals_of` gives them: code that asks for one and answers another was made for them."""
    values = frozenset(tested_values)
    found: list[Finding] = []
    for edit in edits:
        if edit.old == edit.new:
            continue
        if is_configuration(edit):
            found.append(Finding("configuration", edit.path, f"{edit.path}: how the tests are run was changed"))
        elif is_test_file(edit.path):
            found += _in_test(edit)
        else:
            if edit.path.endswith(".rs") and edit.old and "#[test]" in edit.old:
                found += _in_test(edit)  # Rust's tests live beside the code
            if edit.new is not None:
                found += _in_code(edit, values)
    return tuple(found)


# -- tests


def _in_test(edit: FileEdit) -> Iterator[Finding]:
    path = edit.path
    if edit.old is None:
        return
    if edit.new is None:
        yield Finding("deleted", path, f"{path}: a test file was deleted")
        return
    if PurePosixPath(path).suffix in _DATA:
        yield Finding("loosened", path, f"{path}: what the tests expect was rewritten")
        return
    before, after = _shapes(path, edit.old), _shapes(path, edit.new)
    if before is None or after is None:
        yield from _by_text(edit)
        return
    if gone := sorted(before.keys() - after.keys()):
        yield Finding("deleted", path, f"{path}: tests were removed: {', '.join(gone[:5])}")
    said: set[str] = set()
    for name in sorted(before.keys() & after.keys()):
        for kind, sentence in compare(name, before[name], after[name]):
            said.add(kind)
            yield Finding(kind, path, f"{path}: {sentence}")
    if "skipped" not in said and _skips(path, edit.new) > _skips(path, edit.old):
        yield Finding("skipped", path, f"{path}: a test is skipped or expected to fail now")
    if integrity_syntax.only(edit.new) > integrity_syntax.only(edit.old):
        yield Finding("skipped", path, f"{path}: only one test or group runs now")


def _shapes(path: str, source: str) -> dict[str, TestShape] | None:
    """The tests of a file; None where there is nothing to tell them by."""
    if path.endswith((".py", ".pyi")):
        tree = integrity_python.parse(source)
        return integrity_python.shapes(tree) if tree else None
    return integrity_syntax.shapes(path, source) or None


def _skips(path: str, source: str) -> int:
    tree = integrity_python.parse(source) if path.endswith(".py") else None
    return integrity_python.skips(tree) if tree else len(_SKIPS.findall(source))


def _by_text(edit: FileEdit) -> Iterator[Finding]:
    """A language without a syntax tree here, or text that does not parse."""
    old, new, path = edit.old or "", edit.new or "", edit.path
    if _skips(path, new) > _skips(path, old):
        yield Finding("skipped", path, f"{path}: a test is skipped or expected to fail now")
    before = [" ".join(line.split()) for line in old.split("\n") if _ASSERTION.search(line)]
    after = [" ".join(line.split()) for line in new.split("\n") if _ASSERTION.search(line)]
    if len(after) < len(before):
        yield Finding("loosened", path, f"{path}: assertions were removed")
    elif any(line not in after for line in before):
        yield Finding("loosened", path, f"{path}: what its tests expect was changed")


# -- configuration


def _of_pyproject(text: str) -> Any:
    try:
        tool: dict[str, Any] = tomllib.loads(text).get("tool", {})
    except (tomllib.TOMLDecodeError, AttributeError):
        return text
    return [tool.get(name) for name in ("pytest", "tox", "nox")]


def _of_package(text: str) -> Any:
    try:
        read = json.loads(text or "{}")
    except ValueError:
        return text
    if not isinstance(read, dict):
        return text
    package = cast("dict[str, Any]", read)
    scripts = package.get("scripts")
    tests = (
        {name: value for name, value in cast("dict[str, Any]", scripts).items() if "test" in name}
        if isinstance(scripts, dict)
        else scripts
    )
    return [tests, *(package.get(name) for name in ("jest", "mocha", "ava", "vitest", "c8"))]


def _of_ini(text: str) -> Any:
    parser = configparser.ConfigParser(interpolation=None, strict=False)
    try:
        parser.read_string(text)
    except configparser.Error:
        return text
    return {name: dict(parser[name]) for name in parser.sections() if re.match(r"(?:tool:)?pytest|testenv|tox", name)}


def _of_cargo(text: str) -> Any:
    try:
        read = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return text
    library = cast("dict[str, Any]", read.get("lib") or {})
    return [read.get("test"), library.get("test"), library.get("harness"), library.get("doctest")]


_SETTINGS = {
    "pyproject.toml": _of_pyproject,
    "package.json": _of_package,
    "setup.cfg": _of_ini,
    "tox.ini": _of_ini,
    "Cargo.toml": _of_cargo,
}


# -- code


def _in_code(edit: FileEdit, values: frozenset[str]) -> Iterator[Finding]:
    new, old = edit.new or "", edit.old or ""
    if _detections(edit.path, new) > _detections(edit.path, old):
        text = f"{edit.path}: code asks whether it is under test, ends the process, or equals everything"
        yield Finding("detects", edit.path, text)
    fresh = sorted(_answers(edit.path, new) - _answers(edit.path, old))
    made_for = [
        (asked, answered)
        for asked, answered in fresh
        if (not values or {asked, answered} <= values) and not {asked, answered} <= TRIVIAL
    ]
    if made_for:
        asked, answered = made_for[0]
        yield Finding("hard-coded", edit.path, f"{edit.path}: answers {answered} when asked for {asked}")


def _detections(path: str, source: str) -> int:
    tree = integrity_python.parse(source) if path.endswith(".py") else None
    return integrity_python.detections(tree) if tree else len(integrity_syntax.DETECTS.findall(source))


def _answers(path: str, source: str) -> set[tuple[str, str]]:
    if path.endswith(".py"):
        tree = integrity_python.parse(source)
        return integrity_python.answers(tree) if tree else set()
    return integrity_syntax.answers(source)


def literals_of(sources: Sequence[str]) -> frozenset[str]:
    """The literals in the text of tests, for `inspect`."""
    found: set[str] = set()
    for source in sources:
        tree = integrity_python.parse(source)
        found |= integrity_python.literals(tree) if tree else integrity_syntax.literals(source)
    return frozenset(found)
