"""A block's head and what is unfolded below it. Pure."""

from typing import Literal

from tcoder.frontends.figures import plural
from tcoder.frontends.lines import Line, Role, Span, line
from tcoder.frontends.markdown import Row
from tcoder.frontends.sanitise import clean_line

Fold = Literal["auto", "open", "closed"]
MOST_LINES = 400
HEAD, TAIL = 20, 80
GUTTER: Line = (Span("  │ ", "dim"),)


def headline(
    verb: str, what: str, middle: str | tuple[Span, ...], tail: str, mark: tuple[str, Role] = ("▸", "dim")
) -> Row:
    glyph, role = mark
    spans = middle if isinstance(middle, tuple) else (Span(middle, "dim"),)
    gap = (Span("  "),) if spans and spans[0].text else ()
    text = line((f"{glyph} ", role), (f"{clean_line(verb, 20)}  ", "title"), clean_line(what, 400), *gap, *spans)
    return Row(text, 2, 4, wrap=False, tail=line((tail, "dim")))


def folding(head: Row, body: list[Row], fold: Fold, *, unfolded: bool, limit: int = MOST_LINES) -> list[Row]:
    """A head, and its body when it is unfolded by the person or by itself; then at most `limit` lines."""
    if fold == "closed" or not body or (fold == "auto" and not unfolded):
        return [head]
    if head.line[0].text == "▸ ":
        head = head._replace(line=(Span("▾ ", head.line[0].role), *head.line[1:]))
    if fold == "open":
        return [head, *_shortened(body)]
    shown = body[:limit]
    more = len(body) - len(shown)
    return [head, *shown, *([hint(f"… {plural(more, 'line')} hidden  [Enter] unfolds")] if more else [])]


def hint(text: str) -> Row:
    return Row((Span("  ", "dim"), Span(text, "dim")), len(text) + 2, 2)


def _shortened(body: list[Row]) -> list[Row]:
    if len(body) <= MOST_LINES:
        return body
    return [*body[:HEAD], hint(f"… {len(body) - HEAD - TAIL} lines left out"), *body[-TAIL:]]


def output_row(text: str, role: Role = "text") -> Row:
    return Row((*GUTTER, Span(text.expandtabs(4), role)), 4, 4, lead=GUTTER)
