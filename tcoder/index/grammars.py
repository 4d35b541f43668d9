"""The one door to tree-sitter: bundled grammars with their query files, loaded when first needed."""

from functools import cache
from importlib.resources import files
from typing import NamedTuple

from tree_sitter import Language, Node, Parser, Query, QueryCursor
from tree_sitter_language_pack import get_binding

# definitions deeper than this are inner ones that nobody looks for; it halves the time of a query
MAX_DEPTH = 24


_FAMILIES = {
    "javascript": ("ecmascript", "javascript"),
    "typescript": ("ecmascript", "typescript"),
    "tsx": ("ecmascript", "typescript"),
}


# The scanners of these look any character up in a table of 8-bit ones and read past its end, which kills the process
# for the high ones. They are shown a letter for each byte beyond ASCII; names are read from the file itself.
_EIGHT_BIT = frozenset({"bash", "markdown"})
_ASCII = bytes(range(128)) + b"x" * 128


class Capture(NamedTuple):
    """One match: `node` is the definition, `nodes` have it and its parts by capture name. Of two that match the same
    node the one with the lower `rank` is meant: patterns stand in the query files from special to general."""

    rank: int
    kind: str
    node: Node
    nodes: dict[str, list[Node]]


@cache
def query_text(language: str) -> str:
    """The query file of a language, empty when there is none."""
    found = [files("tcoder.index") / "queries" / f"{name}.scm" for name in _FAMILIES.get(language, (language,))]
    return "\n".join(file.read_text("utf-8") for file in found if file.is_file())


@cache
def _grammar(language: str) -> tuple[Parser, Query]:
    grammar = Language(get_binding(language))  # pyright: ignore[reportArgumentType] # the pack types names narrowly
    return Parser(grammar), Query(grammar, query_text(language))


def captures(data: bytes, language: str) -> list[Capture]:
    """The matches of the language's query in file order. The parts of a match that are not its definition have the
    names `name`, `parent` and `body`, or one that begins with `_` when only a predicate needs it."""
    _, query = _grammar(language)
    cursor = QueryCursor(query)
    cursor.set_max_start_depth(MAX_DEPTH)
    found: list[Capture] = []
    for rank, nodes in cursor.matches(root(data, language)):
        kind = next(name for name in nodes if name not in ("name", "parent", "body") and name[0] != "_")
        found.append(Capture(rank, kind, nodes[kind][0], nodes))
    return found


def root(data: bytes, language: str) -> Node:
    """The root of a file's syntax tree. Positions are those of `data`; a node's own text may be masked."""
    parser, _ = _grammar(language)
    return parser.parse(data.translate(_ASCII) if language in _EIGHT_BIT else data).root_node
