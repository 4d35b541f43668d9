"""Whether a source text still parses, and where it does not. Pure, in milliseconds."""

import ast
import json
import tomllib
import warnings
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from tcoder.index.languages import language_of

if TYPE_CHECKING:
    from tcoder.index.grammars import Node

MOST = 500_000
# languages whose grammars read what compilers read; those with a preprocessor or templates are left out
_JUDGED = frozenset({"python", "javascript", "typescript", "tsx", "go", "rust", "java", "ruby", "php", "csharp"})
_WITH_COMMENTS = ("tsconfig", "jsconfig", "devcontainer", ".eslintrc", ".babelrc", "settings", "launch", "tasks")


def fault(path: str, text: str) -> str:
    """Where and why a text does not parse, as `line 3: '(' was never closed`; empty when it does, when its language is
    not judged and when it is too long."""
    if len(text) > MOST:
        return ""
    suffix = PurePosixPath(path).suffix.lower()
    if suffix == ".json":
        return _json(path, text)
    if suffix == ".toml":
        return _toml(text)
    language = language_of(path)
    if language == "python":
        return _python(text)
    return _parsed(language, text) if language in _JUDGED else ""


def new_fault(path: str, old: str | None, new: str) -> str:
    """The fault that a change brings: none where the text did not parse before (a template, a dialect)."""
    found = fault(path, new)
    return "" if found and old is not None and fault(path, old) else found


def _python(text: str) -> str:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # an odd escape is no fault
            ast.parse(text)
    except SyntaxError as error:
        said = f"line {error.lineno or 1}: {error.msg}"
        # another version of Python may read what this one does not; the grammar knows them all
        return said if isinstance(error, IndentationError) or _parsed("python", text) else ""
    except (ValueError, RecursionError, MemoryError):
        return ""
    return ""


def _json(path: str, text: str) -> str:
    if PurePosixPath(path).name.lower().startswith(_WITH_COMMENTS):
        return ""
    try:
        json.loads(text)
    except json.JSONDecodeError as error:
        return f"line {error.lineno}: {error.msg}"
    except RecursionError:
        return ""
    return ""


def _toml(text: str) -> str:
    try:
        tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        return str(error)
    except RecursionError:
        return ""
    return ""


def _parsed(language: str, text: str) -> str:
    from tcoder.index import grammars  # the parsers: a turn that edits no source does without them
    from tcoder.index.tags import unfit

    data = text.encode("utf-8", "replace")
    if unfit(data) or not grammars.query_text(language):
        return ""
    node = grammars.root(data, language)
    if not node.has_error:
        return ""
    wrong = _first_wrong(node)
    line = wrong.start_point[0] + 1
    if wrong.is_missing:
        return f"line {line}: {wrong.type!r} is missing"
    shown = data[wrong.start_byte : wrong.end_byte].decode("utf-8", "replace").strip().partition("\n")[0][:60]
    return f"line {line}: cannot be parsed from {shown!r} on" if shown else f"line {line}: cannot be parsed"


def _first_wrong(root: "Node") -> "Node":
    """The first node that is an error or missing, the innermost one that begins there."""
    node = root
    while True:
        below = next((child for child in node.children if child.has_error or child.is_missing), None)
        if below is None or (node.is_error and below.start_byte > node.start_byte and not below.is_error):
            return node
        node = below
