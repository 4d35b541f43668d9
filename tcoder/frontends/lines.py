"""Text with roles: what presentation makes and every front end can draw in its own way."""

from typing import Literal, NamedTuple

Role = Literal[
    "text", "dim", "bold", "italic", "strike", "title", "accent", "ok", "bad", "warn", "added", "removed", "hunk",
    "path", "code", "link", "heading", "quote", "user", "number", "keyword", "string", "comment", "strong-bad",
]  # fmt: skip


class Span(NamedTuple):
    """A run of harmless text (no control characters, no newline) in one role; `url` is what a click opens, an address
    of the web in printable ASCII."""

    text: str
    role: Role = "text"
    url: str = ""


Line = tuple[Span, ...]


def line(*parts: Span | str | tuple[str, Role]) -> Line:
    """A line of spans; bare strings are plain text, empty parts are left out."""
    spans = (part if isinstance(part, Span) else Span(part) if isinstance(part, str) else Span(*part) for part in parts)
    return tuple(span for span in spans if span.text)


def plain(of: Line) -> str:
    """The text of a line."""
    return "".join(span.text for span in of)


_SGR: dict[Role, str] = {
    "dim": "2", "bold": "1", "italic": "3", "strike": "9", "title": "1", "accent": "36", "ok": "32", "bad": "31",
    "warn": "33", "added": "32", "removed": "31", "hunk": "36", "path": "1", "code": "36", "link": "4",
    "heading": "1;36", "quote": "2;3", "user": "1;34", "keyword": "35", "string": "32", "comment": "2",
    "strong-bad": "1;31",
}  # fmt: skip


def ansi(of: Line, *, colour: bool) -> str:
    """The line with the terminal's own 16 colours, or as plain text."""
    if not colour:
        return plain(of)
    return "".join(f"\x1b[{code}m{span.text}\x1b[0m" if (code := _SGR.get(span.role)) else span.text for span in of)
