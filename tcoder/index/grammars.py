"""Which grammar reads which file, and what it finds there: the one door to tree-sitter.

The grammars come with the package `tree-sitter-language-pack` and need no network. Queries are data, one a language.
"""

from functools import cache
from importlib import resources
from typing import Any, cast

from msgspec import Struct
from tree_sitter import Language, Node, Parser, Query, QueryCursor
from tree_sitter_language_pack import get_language

BY_SUFFIX = {
    ".py": "python", ".pyi": "python",
    ".js": "javascript", ".jsx": "javascript", ".mjs": "javascript", ".cjs": "javascript",
    ".ts": "typescript", ".mts": "typescript", ".tsx": "tsx",
    ".go": "go", ".rs": "rust", ".java": "java", ".c": "c", ".h": "c",
}  # fmt: skip
MAX_BYTES = 1_000_000
MAX_LINE = 20_000
CONTAINERS = frozenset({"class", "interface", "struct", "trait", "impl", "enum"})


class Symbol(Struct, frozen=True):
    """A definition. `name` is `Class.method` or `function`; lines are 1-based and inclusive; `signature` is its first
    line."""

    path: str
    name: str
    kind: str
    line: int
    end_line: int
    signature: str = ""


def language_of(path: str) -> str:
    """The language of a file by its name, empty when there is no grammar for it."""
    return BY_SUFFIX.get(path[path.rfind(".") :].lower() if "." in path else "", "")


def symbols_of(path: str, text: str) -> tuple[Symbol, ...]:
    """The definitions in a text, in order. A file that would hold the parser up (huge, or one endless line) has none."""
    language = language_of(path)
    if not language or len(text) > MAX_BYTES or any(len(line) > MAX_LINE for line in text.split("\n", 50)[:50]):
        return ()
    data = text.encode("utf-8", "surrogatepass")
    tree = Parser(_language(language)).parse(data)
    lines = text.split("\n")
    found: list[tuple[Node, str, str]] = []
    for _, captures in QueryCursor(_query(language)).matches(tree.root_node):
        names = captures.pop("name")
        for kind, nodes in captures.items():
            name = (names[0].text or b"").decode("utf-8", "replace")
            found.append((nodes[0], kind, name))
    found.sort(key=lambda item: (item[0].start_byte, -item[0].end_byte))
    return _with_parents(path, found, lines)


def _with_parents(path: str, found: list[tuple[Node, str, str]], lines: list[str]) -> tuple[Symbol, ...]:
    symbols: list[Symbol] = []
    open_: list[tuple[int, str, str]] = []
    for node, kind, name in found:
        while open_ and open_[-1][0] <= node.start_byte:
            open_.pop()
        parent = open_[-1] if open_ else None
        full = f"{parent[1]}.{name}" if parent else name
        if parent and kind == "function" and parent[2] in CONTAINERS:
            kind = "method"
        line = node.start_point.row + 1
        signature = lines[line - 1].strip() if line <= len(lines) else ""
        symbols.append(Symbol(path, full, kind, line, node.end_point.row + 1, signature[:200]))
        open_.append((node.end_byte, full, kind))
    return tuple(symbols)


@cache
def _language(name: str) -> Language:
    return get_language(cast(Any, name))


@cache
def _query(name: str) -> Query:
    source = resources.files("tcoder.index").joinpath("queries", f"{name}.scm").read_text(encoding="utf-8")
    return Query(_language(name), source)
