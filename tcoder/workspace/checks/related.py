"""Which test files a change concerns: by their names and by what they import. A guess, never a proof."""

import re
from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath

_IMPORTS = re.compile(
    r"^\s*(?:from\s+([\w.]+)\s+import\s+([^\n#]+)|import\s+([\w., ]+)"
    r"|.*?\b(?:require|from|import)\s*\(?\s*['\"]([^'\"]+)['\"])",
    re.M,
)
_NOT_A_NAME = frozenset({"__init__", "index", "main", "mod", "lib"})


def related(changed: Sequence[str], tests: Mapping[str, str]) -> tuple[str, ...]:
    """The test files, given as path to text, that belong to changed files; those named after one come first. Empty
    when nothing is known, which means: run everything. Changed test files are related to themselves."""
    names = {path: _name(path) for path in changed}
    by_name: list[str] = []
    by_import: list[str] = []
    for path, text in tests.items():
        stem = re.sub(r"^test_|_test$|[._](?:test|spec)$", "", PurePosixPath(path).name.partition(".")[0])
        if path in names or stem in names.values():
            by_name.append(path)
        elif _mentions(text, set(names.values())):
            by_import.append(path)
    return tuple(by_name + by_import)


def _name(path: str) -> str:
    """The last part of a module's name: of a package's entry file, the package."""
    parts = PurePosixPath(path)
    stem = parts.name.partition(".")[0]
    return parts.parent.name if stem in _NOT_A_NAME and parts.parent.name else stem


def _mentions(text: str, names: set[str]) -> bool:
    for module, imported, modules, quoted in _IMPORTS.findall(text):
        words = re.findall(r"\w+", f"{module} {imported} {modules} {quoted}")
        if names & set(words):
            return True
    return False
