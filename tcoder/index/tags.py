"""The definitions and imports of one file. Pure."""

import re
from typing import NamedTuple

from tcoder.index.grammars import captures, query_text
from tcoder.index.languages import DATA_LANGUAGES
from tcoder.index.notebook import cells
from tcoder.protocol.location import Symbol

MAX_BYTES = 1_000_000
MAX_LINE = 20_000
MAX_MEAN_LINE = 400
MAX_SYMBOLS = 5_000
UNBALANCED = 3_000
SIGNATURE_CHARS = 160
DOC_CHARS = 120
CONTAINERS = frozenset(
    {"class", "struct", "interface", "trait", "impl", "object", "enum", "protocol", "extension", "module", "namespace"}
)

_BRACKETS = ((b"(", b")"), (b"[", b"]"), (b"{", b"}"))
_SPACE = re.compile(rb"\s+")
_DOCSTRING = re.compile(rb"\s*[rRuUbB]{0,2}(?:\"\"\"|'''|\"|')\s*([^\n]*)")
_COMMENT = re.compile(rb"^\s*(?:///?!?|#+!?|\*+|/\*+|--+|;+)\s?(.*?)\s*(?:\*/)?\s*$")
_DECORATION = re.compile(rb"^\s*(?:@|#\[|\[|template\s*<)")


class Span(NamedTuple):
    """A symbol with its place in bytes."""

    symbol: Symbol
    start: int
    end: int


class Tags(NamedTuple):
    """`spans` in file order, outer before inner; `imports` as they are written, on one line each. `checked` says
    whether the bytes were looked at for what makes them unfit."""

    spans: tuple[Span, ...] = ()
    imports: tuple[str, ...] = ()
    problem: str = ""
    checked: bool = False


def unfit(data: bytes) -> str:
    """Why these bytes are not parsed (binary, too large, minified, an LFS pointer), else empty."""
    if b"\0" in data[:8192]:
        return "binary"
    if data.startswith(b"version https://git-lfs.github.com/spec/"):
        return "LFS pointer"
    if len(data) > MAX_BYTES:
        return "too large"
    # a parser that looks for thousands of missing brackets takes quadratic time
    if len(data) > UNBALANCED and any(
        abs(data.count(opening) - data.count(closing)) > UNBALANCED for opening, closing in _BRACKETS
    ):
        return "unbalanced brackets"
    lines = data.count(b"\n") + 1
    if len(data) > 10_000 and len(data) / lines > MAX_MEAN_LINE:
        return "minified"
    if len(data) > MAX_LINE and _longest_line(data) > MAX_LINE:
        return "long lines"
    return ""


def _longest_line(data: bytes) -> int:
    return max(map(len, data.split(b"\n")))


def tags(data: bytes, language: str) -> Tags:
    """What a file defines and imports; nothing for a language without a query file."""
    if language != "notebook" and not query_text(language):
        return Tags()
    if problem := unfit(data):
        return Tags(problem=problem, checked=True)
    if language == "notebook":
        return Tags(tuple(Span(*cell) for cell in cells(data)), checked=True)
    return _assemble(data, language)


def _assemble(data: bytes, language: str) -> Tags:
    spans: list[Span] = []
    imports: list[str] = []
    stack: list[Span] = []
    seen: set[tuple[int, int]] = set()
    found = captures(data, language)
    found.sort(key=lambda match: (match.node.start_byte, -match.node.end_byte, match.rank))
    for kind, node, nodes in ((match.kind, match.node, match.nodes) for match in found):
        start, end = node.start_byte, node.end_byte
        if kind == "import":
            imports.append(_one_line(data[start:end], SIGNATURE_CHARS))
            continue
        if (start, end) in seen or len(spans) >= MAX_SYMBOLS:
            continue
        name_node = nodes["name"][0]
        name = _name(data[name_node.start_byte : name_node.end_byte])
        if not name:
            continue
        seen.add((start, end))
        while stack and stack[-1].end < end:
            stack.pop()
        outer = stack[-1].symbol if stack else None
        parent, name = _qualify(name, kind)
        if receivers := nodes.get("parent"):
            parent = _name(data[receivers[0].start_byte : receivers[0].end_byte]).lstrip("*&").partition("[")[0]
        elif outer is not None:
            parent = f"{outer.qualified}.{parent}" if parent else outer.qualified
        if kind == "function" and ((outer is not None and outer.kind in CONTAINERS) or (parent and outer is None)):
            kind = "method"
        body_node = node.child_by_field_name("body")
        body = nodes["body"][0].start_byte if "body" in nodes else body_node.start_byte if body_node else -1
        symbol = Symbol(
            name=name,
            kind=kind,
            line=node.start_point[0] + 1,
            end_line=node.end_point[0] + 1 - (node.end_point[1] == 0 and node.end_point[0] > node.start_point[0]),
            parent=parent,
            signature=_signature(data, start, end, body),
            doc=_doc(data, start, body, language),
        )
        span = Span(symbol, start, end)
        spans.append(span)
        stack.append(span)
    return Tags(tuple(spans), tuple(imports), checked=True)


def _name(raw: bytes) -> str:
    text = raw.decode("utf-8", "replace").strip().strip("\"'`")
    # generic arguments are no part of a name
    return " ".join(text.split("<", 1)[0].split())[:120]


def _qualify(name: str, kind: str) -> tuple[str, str]:
    """Parent and name of `A::b` and `A.b`; headings and keys keep their dots."""
    if kind in ("heading", "key", "cell", "rule"):
        return "", name
    for separator in ("::", "."):
        parent, found, last = name.rpartition(separator)
        if found and last:
            return parent.replace("::", "."), last
    return "", name


def _signature(data: bytes, start: int, end: int, body: int) -> str:
    if body > start:
        return _one_line(data[start : min(body, start + 600)], SIGNATURE_CHARS).removesuffix("=>").rstrip("{: =")
    newline = data.find(b"\n", start, end)
    return _one_line(data[start : newline if newline > 0 else min(end, start + 600)], SIGNATURE_CHARS).rstrip("{ ")


def _one_line(raw: bytes, limit: int) -> str:
    return _SPACE.sub(b" ", raw).decode("utf-8", "replace").strip()[:limit]


def _doc(data: bytes, start: int, body: int, language: str) -> str:
    if language in DATA_LANGUAGES:
        return ""
    if language == "python":
        match = _DOCSTRING.match(data, body, body + 400) if body > 0 else None
        return match[1].decode("utf-8", "replace").strip(" \"'")[:DOC_CHARS] if match else ""
    doc = b""
    at = data.rfind(b"\n", 0, start) + 1
    for _ in range(12):
        if at <= 0:
            break
        previous = data.rfind(b"\n", 0, at - 1) + 1
        line = data[previous : at - 1]
        if _DECORATION.match(line):
            at = previous
            continue
        match = _COMMENT.match(line[:400])
        if match is None:
            break
        doc = match[1] or doc
        at = previous
    return doc.decode("utf-8", "replace").strip()[:DOC_CHARS]
