"""A tool card as rows: what it did, what came of it, what it says while it runs. Pure."""

from tcoder.frontends import markdown, present
from tcoder.frontends.cards import CardState, ToolCard
from tcoder.frontends.diff_rows import diff_rows, proposed
from tcoder.frontends.figures import duration, plural, size
from tcoder.frontends.folding import GUTTER, Fold, folding, headline, hint, output_row
from tcoder.frontends.lines import Role, Span
from tcoder.frontends.markdown import Row
from tcoder.frontends.sanitise import clean, clean_line
from tcoder.protocol.checks import CheckReport
from tcoder.protocol.display import DiffBlock, Display, ImageBlock, PlanBlock, TableBlock, TerminalBlock, TextBlock

LIVE_LINES = 8
EDIT_LINES = 12
ASKED_LINES = 20
PERSON_LINES = 60
GLYPHS: dict[CardState, tuple[str, Role]] = {
    "running": ("…", "accent"), "asking": ("▲", "warn"), "ok": ("▸", "dim"), "error": ("✗", "bad"),
    "denied": ("⊘", "warn"), "cancelled": ("⊘", "dim"),
}  # fmt: skip


def tool(card: ToolCard, fold: Fold) -> list[Row]:
    if card.folded and fold != "open":
        return []
    if card.group and fold != "open":
        names = [*card.group, card.title]
        head = headline("read", plural(len(names), "file"), ", ".join(clean_line(name, 40) for name in names), "")
        return [head]
    middle: str | tuple[Span, ...] = ()
    if card.report is not None:
        middle = counts(card.report)
    elif card.patch is not None:
        middle = present.changed(card.patch.insertions, card.patch.deletions)
    elif diff := next((part for part in card.display if isinstance(part, DiffBlock)), None):
        middle = present.changed(diff.insertions, diff.deletions)
    elif card.state == "ok" and len(card.display) == 1 and isinstance(text := card.display[0], TextBlock):
        middle = clean_line(text.text, 60) if text.text.count("\n") == 0 else ""
    elif card.state in ("error", "denied", "cancelled"):
        word = {"error": "failed", "denied": "declined", "cancelled": "stopped"}[card.state]
        middle = (Span(word, "bad" if card.state == "error" else "warn"),)
    tail = (
        duration(card.duration_s)
        if card.state not in ("running", "asking")
        else "running"
        if card.state == "running"
        else "asks"
    )
    head = headline(present.verb(card.name), card.title.split("\n")[0], middle, tail, GLYPHS[card.state])
    if card.state in ("running", "asking"):
        if card.state == "asking" and fold != "closed" and (wanted := proposed(card.arguments)):
            more = len(wanted) - ASKED_LINES
            return [head, *wanted[:ASKED_LINES], *([hint(f"… {plural(more, 'line')} more")] if more > 0 else [])]
        lines = clean(card.output).rstrip("\n").split("\n") if card.output else []
        return [head, *(output_row(text) for text in lines[-LIVE_LINES:])] if fold != "closed" else [head]
    body = _tool_body(card)
    limit = EDIT_LINES if card.state == "ok" else LIVE_LINES * 2
    unfolded = (
        card.state == "error"
        or card.name in ("edit", "write")
        or (card.report is not None and not card.report.ok)
        or card.by_person
    )
    if card.by_person:
        limit = PERSON_LINES
    return folding(head, body, fold, unfolded=unfolded, limit=limit)


def _tool_body(card: ToolCard) -> list[Row]:
    title = [output_row(text) for text in clean(card.title).split("\n")[1:]]
    if card.report is not None:
        return [*title, *report_body(card.report)]
    body = [row for part in card.display for row in _display_rows(part)]
    if card.state != "ok" or not body:
        lines = clean(card.content).rstrip("\n").split("\n") if card.content else []
        shown = [output_row(text) for text in lines]
        body = (
            [*body, *shown]
            if card.state == "error" and not any(isinstance(p, TerminalBlock) for p in card.display)
            else body or shown
        )
    return [*title, *body]


def _display_rows(part: Display) -> list[Row]:
    match part:
        case TextBlock():
            return [output_row(text) for text in clean(part.text).rstrip("\n").split("\n")]
        case DiffBlock():
            return diff_rows(part.diff)
        case TerminalBlock():
            lines = clean(part.output).rstrip("\n").split("\n") if part.output else []
            code = (
                ""
                if part.exit_code == 0
                else f"exit {part.exit_code}"
                if part.exit_code is not None
                else "ended from outside"
            )
            return [*(output_row(text) for text in lines), *([output_row(code, "bad")] if code else [])]
        case TableBlock():
            cells = ["| " + " | ".join(clean_line(cell) for cell in of) + " |" for of in (part.header, *part.rows)]
            return [row._replace(line=(Span("  "), *row.line), gutter=2) for row in markdown.table(cells)]
        case PlanBlock():
            return [Row((Span("  "), *present.plan_step(step)), 2, 4) for step in part.steps]
        case ImageBlock():
            return [output_row(f"image {clean_line(part.media_type, 40)}, {size(len(part.data) * 3 // 4)}")]


def report_body(report: CheckReport) -> list[Row]:
    """The failing tests; the output when there are none to name."""
    if report.failing:
        return [Row((*GUTTER, *of), 4, 4, lead=GUTTER) for test in report.failing for of in present.failing_test(test)]
    lines = clean(report.output).rstrip("\n").split("\n") if report.output else []
    return [output_row(text) for text in lines]


def counts(report: CheckReport) -> tuple[Span, ...]:
    return (Span(present.counts(report), "ok" if report.ok else "bad"),)
