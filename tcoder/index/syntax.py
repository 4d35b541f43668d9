"""A syntax tree as plain values, for those who look at structure rather than at definitions."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tcoder.index.languages import language_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tcoder.index.grammars import Node


@dataclass(slots=True)
class Piece:
    """A named node: its kind as the grammar calls it, its text, and the named nodes below it in their order."""

    kind: str
    text: str
    children: list[Piece] = field(default_factory=list["Piece"])

    def walk(self) -> Iterator[Piece]:
        """This piece and all below it, in file order."""
        waiting: list[Piece] = [self]
        while waiting:
            piece = waiting.pop()
            yield piece
            waiting.extend(reversed(piece.children))


def tree(path: str, text: str) -> Piece | None:
    """The syntax tree of a file, None for a language without a grammar and for text that is not fit to be parsed."""
    from tcoder.index import grammars  # the parsers: a turn that changes no test does without them
    from tcoder.index.tags import unfit

    language = language_of(path)
    data = text.encode("utf-8", "replace")
    if not language or unfit(data) or not grammars.query_text(language):
        return None
    return _plain(data, grammars.root(data, language))


def _plain(data: bytes, root: Node) -> Piece:
    top = Piece(root.type, "")
    waiting = [(root, top)]
    while waiting:
        node, piece = waiting.pop()
        piece.text = data[node.start_byte : node.end_byte].decode("utf-8", "replace")
        for child in node.named_children:
            below = Piece(child.type, "")
            piece.children.append(below)
            waiting.append((child, below))
    return top
