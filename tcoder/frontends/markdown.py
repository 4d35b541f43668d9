"""Markdown to rows, one source line at a time, so that a streamed answer only costs its last line.

Only what models write is known: headings, lists, quotes, fences, rules, tables, and inline code, strong, emphasis,
strike and links. A link is shown as its text with its host, an image as its text: nothing is ever fetched. Text must
be harmless already (`sanitise.clean`).
"""

import re
from typing import NamedTuple

from msgspec import Struct

from tcoder.frontends.lines import Line, Role, Span


class Row(NamedTuple):
    """A line before wrapping. The first `gutter` characters are decoration that copying leaves out; wrapped parts are
    indented by `hang`, with `lead` there instead of blanks; a row that may not `wrap` is cut with a mark; `tail` stands
    at the right edge; `language` is that of code in a fence."""

    line: Line
    gutter: int = 0
    hang: int = 0
    wrap: bool = True
    tail: Line = ()
    language: str = ""
    lead: Line = ()


class State(Struct, frozen=True):
    """Where a line stands: inside a fence (its marker), with which language."""

    fence: str = ""
    language: str = ""


_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})\s*([\w+#.-]*)")
_HEADING = re.compile(r"^(#{1,6})\s+(.*?)\s*#*$")
_ITEM = re.compile(r"^(\s*)([-*+]|\d{1,9}[.)])\s+(.*)$")
_RULE = re.compile(r"^ {0,3}([-*_])(?:\s*\1){2,}\s*$")
_TABLE = re.compile(r"^\s*\|.*\|\s*$")
_TABLE_RULE = re.compile(r"^\s*\|?[\s:|-]+\|?\s*$")
_INLINE = re.compile(
    r"(?P<code>(`+)(?P<code_text>[^`]+?)\2(?!`))"
    r"|(?P<strong>(\*\*|__)(?=\S)(?P<strong_text>.+?)(?<=\S)\5)"
    r"|(?P<em>(?<![\w*])([*_])(?=[^\s*_])(?P<em_text>[^*_]+?)(?<=\S)\8(?![\w*]))"
    r"|(?P<strike>~~(?=\S)(?P<strike_text>.+?)(?<=\S)~~)"
    r"|(?P<link>!?\[(?P<link_text>[^\]\[]*)\]\((?P<url>[^()\s]+)[^()]*\))"
    r"|(?P<bare>https?://[!#-;=?-Z_a-z~\[\]]*[/0-9A-Za-z_#=-])"
)
_SAFE_URL = re.compile(r"^https?://[!-~]+$", re.I)
_HOST = re.compile(r"^https?://([^/?#\s]+)", re.I)


def inline(text: str, role: Role = "text") -> Line:
    """The spans of one line's inline markup."""
    if not any(mark in text for mark in ("`", "*", "_", "~", "[", "://")):
        return (Span(text, role),) if text else ()
    spans: list[Span] = []
    at = 0
    for match in _INLINE.finditer(text):
        if match.start() > at:
            spans.append(Span(text[at : match.start()], role))
        at = match.end()
        spans += _marked(match, role)
    if at < len(text):
        spans.append(Span(text[at:], role))
    return tuple(spans)


def _marked(match: re.Match[str], role: Role) -> list[Span]:
    if match["code"]:
        return [Span(match["code_text"], "code")]
    if match["strong"]:
        return [Span(match["strong_text"].replace("`", ""), "bold" if role == "text" else role)]
    if match["em"]:
        return [Span(match["em_text"], "italic" if role == "text" else role)]
    if match["strike"]:
        return [Span(match["strike_text"], "strike")]
    if match["bare"]:
        return [Span(match["bare"], "link", match["bare"])]
    host = _HOST.match(match["url"])
    where = f" ({host[1]})" if host and host[1] not in match["link_text"] else "" if host else f" ({match['url']})"
    target = match["url"] if _SAFE_URL.match(match["url"]) else ""
    return [Span(match["link_text"] or match["url"], "link", target), Span(where, "dim")]


def row(text: str, state: State) -> tuple[Row | None, State]:
    """The row of one source line and the state after it; None for a line that shows nothing (a fence's marker)."""
    fence = _FENCE.match(text)
    if state.fence:
        if fence and fence[1].startswith(state.fence) and not text.strip().strip(fence[1][0]):
            return None, State()
        return Row((Span("  ", "dim"), Span(text.expandtabs(4), "code")), 2, 4, language=state.language), state
    if fence:
        return None, State(fence[1], fence[2])
    if not text.strip():
        return Row(()), state
    if heading := _HEADING.match(text):
        return Row(inline(heading[2], "heading")), state
    if _RULE.match(text):
        return Row((Span("─" * 20, "dim"),), 20), state
    if item := _ITEM.match(text):
        indent = item[1].expandtabs(4)
        mark = "• " if item[2] in "-*+" else item[2] + " "
        return Row((Span(indent + mark, "accent"), *inline(item[3])), 0, len(indent) + len(mark)), state
    if text.lstrip().startswith(">"):
        return Row((Span("│ ", "dim"), *inline(text.lstrip()[1:].lstrip(), "quote")), 2, 2), state
    return Row(inline(text.expandtabs(4))), state


def is_table(text: str) -> bool:
    return bool(_TABLE.match(text))


def table(lines: list[str]) -> list[Row]:
    """The rows of a table, columns aligned."""
    cells = [[cell.strip() for cell in text.strip().strip("|").split("|")] for text in lines]
    rule = 1 if len(lines) > 1 and _TABLE_RULE.match(lines[1]) else -1
    shown = [[inline(cell) for cell in of] for at, of in enumerate(cells) if at != rule]
    columns = max(map(len, shown))
    widths = [
        max((sum(len(span.text) for span in of[column]) for of in shown if column < len(of)), default=0)
        for column in range(columns)
    ]
    rows: list[Row] = []
    for number, of in enumerate(shown):
        spans: list[Span] = []
        for column, content in enumerate(of):
            pad = widths[column] - sum(len(span.text) for span in content)
            spans += [Span(span.text, "bold") if number == 0 and rule == 1 else span for span in content]
            spans.append(Span(" " * pad + ("  " if column + 1 < columns else "")))
        rows.append(Row(tuple(spans), 0, 2))
    return rows


class Markdown:
    """The rows of a text that may still grow. `update` with the same text plus more only costs what is new."""

    def __init__(self) -> None:
        self._settled: list[Row] = []
        self._upto = 0
        self._state = State()

    @property
    def settled_count(self) -> int:
        """Rows that will not change any more."""
        return len(self._settled)

    def update(self, text: str) -> tuple[int, list[Row]]:
        """`(kept, rows)`: the first `kept` rows are those of the last call, `rows` follow them. `text` must begin with
        what was settled before, else use a new object."""
        kept = len(self._settled)
        end = text.rfind("\n") + 1
        lines = text[self._upto : end].split("\n")[:-1] if end > self._upto else []
        pending = 0
        while pending < len(lines) and is_table(lines[-1 - pending]):
            pending += 1
        settle = lines[: len(lines) - pending]
        rows, self._state = _rows(settle, self._state)
        self._upto += sum(len(of) + 1 for of in settle)
        self._settled += rows
        rest, _ = _rows(text[self._upto :].split("\n"), self._state) if self._upto < len(text) else ([], self._state)
        return kept, [*rows, *rest]


def _rows(lines: list[str], state: State) -> tuple[list[Row], State]:
    rows: list[Row] = []
    at = 0
    while at < len(lines):
        if not state.fence and is_table(lines[at]):
            end = at
            while end < len(lines) and is_table(lines[end]):
                end += 1
            rows += table(lines[at:end])
            at = end
            continue
        made, state = row(lines[at], state)
        if made is not None:
            rows.append(made)
        at += 1
    return rows, state


def rows(text: str) -> list[Row]:
    """All rows of a finished text."""
    return Markdown().update(text)[1]
