"""Colours of code: rows of a finished fence get roles. Pygments is imported with the first fence, not before."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from tcoder.frontends.lines import Role, Span
from tcoder.frontends.markdown import Row

MOST_LINES = 400
"""Longer fences stay plain: colouring them would be felt at the keyboard."""
_ROLES: tuple[tuple[str, Role], ...] = (
    ("Token.Keyword", "keyword"),
    ("Token.Operator.Word", "keyword"),
    ("Token.Literal.String.Doc", "comment"),
    ("Token.Literal.String", "string"),
    ("Token.Literal.Number", "number"),
    ("Token.Comment", "comment"),
    ("Token.Generic.Inserted", "added"),
    ("Token.Generic.Deleted", "removed"),
    ("Token.Generic.Subheading", "hunk"),
)


def rows(of: Sequence[Row]) -> list[Row]:
    """The same rows, code in colour where its language is known. Text and gutters stay as they are."""
    out: list[Row] = []
    for language, group in groupby(of, key=lambda row: row.language):
        lines = list(group)
        out += _coloured(lines, language) if language and len(lines) <= MOST_LINES else lines
    return out


def _coloured(lines: list[Row], language: str) -> list[Row]:
    from pygments import lex  # late: most answers hold no code
    from pygments.lexers import get_lexer_by_name  # late, too  # pyright: ignore[reportUnknownVariableType]  untyped options
    from pygments.util import ClassNotFound  # late: most answers hold no code

    try:
        lexer = get_lexer_by_name(language, stripnl=False, ensurenl=False)
    except ClassNotFound:
        return lines
    code = "\n".join(row.line[1].text if len(row.line) > 1 else "" for row in lines)
    coloured = _by_line((str(kind), text) for kind, text in lex(code, lexer))
    return [row._replace(line=(row.line[0], *spans)) for row, spans in zip(lines, coloured, strict=True)]


def _role(kind: str) -> Role:
    for prefix, role in _ROLES:
        if kind.startswith(prefix):
            return role
    return "code"


def _by_line(tokens: Iterable[tuple[str, str]]) -> Iterator[list[Span]]:
    line: list[Span] = []
    for kind, text in tokens:
        role = _role(kind)
        first, *others = text.split("\n")
        if first:
            line.append(Span(first, role))
        for other in others:
            yield line
            line = [Span(other, role)] if other else []
    yield line
