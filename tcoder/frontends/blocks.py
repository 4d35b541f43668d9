"""Blocks of the transcript as rows: what is shown of each, folded and unfolded. Pure, for every front end."""

import re
from typing import Literal

import msgspec

from tcoder.frontends import highlight, markdown, present
from tcoder.frontends.figures import clock, duration, plural, size
from tcoder.frontends.lines import Line, Role, Span, line
from tcoder.frontends.markdown import Row
from tcoder.frontends.sanitise import clean, clean_line
from tcoder.frontends.transcript import (
    AttemptCard,
    Block,
    CardState,
    CheckpointMark,
    ChecksCard,
    ErrorCard,
    LocatedCard,
    ModelSaid,
    NoticeLine,
    PatchCard,
    Thought,
    ToolCard,
    TurnEnd,
    UserSaid,
)
from tcoder.protocol.checks import CheckReport
from tcoder.protocol.display import DiffBlock, Display, ImageBlock, PlanBlock, TableBlock, TerminalBlock, TextBlock

Fold = Literal["auto", "open", "closed"]
LIVE_LINES = 8
EDIT_LINES = 12
ASKED_LINES = 20
PERSON_LINES = 60
MOST_LINES = 400
HEAD, TAIL = 20, 80
GLYPHS: dict[CardState, tuple[str, Role]] = {
    "running": ("…", "accent"), "asking": ("▲", "warn"), "ok": ("▸", "dim"), "error": ("✗", "bad"),
    "denied": ("⊘", "warn"), "cancelled": ("⊘", "dim"),
}  # fmt: skip
_BLANK = Row(())
_HUNK = re.compile(r"^@@ -(\d+)(?:,\d+)? \+(\d+)")


def rows(block: Block, fold: Fold = "auto") -> list[Row]:
    """The rows of a block; none for one that shows nothing."""
    match block:
        case UserSaid():
            return _user(block)
        case ModelSaid():
            if not block.text.strip():
                return []
            made = markdown.rows(clean(block.text).strip("\n"))
            return [_BLANK, *(made if block.open else highlight.rows(made))]
        case Thought():
            return _thought(block, fold)
        case ToolCard():
            return _tool(block, fold)
        case ChecksCard():
            phase = {"baseline": "before", "attempt": "after", "final": "final"}[block.phase]
            head = _head(
                "test", block.report.command, _counts(block.report), f"{phase}  {duration(block.report.duration_s)}"
            )
            return _folding(head, _report_body(block.report), fold, unfolded=not block.report.ok)
        case PatchCard():
            sums = present.changed(block.patch.insertions, block.patch.deletions)
            head = _head(
                block.patch.cause.kind,
                present.patch_files(block.patch),
                sums,
                clean_line(block.patch.cause.summary, 60),
            )
            return _folding(
                head, _diff_rows(block.diff), fold, unfolded=block.patch.cause.kind == "edit", limit=EDIT_LINES
            )
        case LocatedCard():
            head = _head("locate", present.located(block.location), (), duration(block.duration_s))
            return _folding(head, _location_body(block), fold, unfolded=False)
        case AttemptCard():
            return [Row((Span("  "), *present.attempt_line(block.attempt)), 0, 4)]
        case CheckpointMark():
            cause = block.checkpoint.cause
            return [
                Row(
                    line(
                        ("◆ ", "accent"),
                        (f"{clock(block.checkpoint.time)} {clean_line(cause.summary or cause.kind)}", "dim"),
                    ),
                    0,
                    2,
                )
            ]
        case NoticeLine():
            return _notice(block)
        case ErrorCard():
            return _error(block)
        case TurnEnd():
            return _end(block)


def foldable(block: Block) -> bool:
    """Whether there is something to unfold."""
    return isinstance(block, ToolCard | ChecksCard | PatchCard | LocatedCard | Thought | ErrorCard)


def source(block: Block) -> str:
    """The text that copying the whole block yields."""
    match block:
        case UserSaid() | ModelSaid() | Thought() | NoticeLine():
            return clean(block.text)
        case ToolCard():
            parts = [_display_source(part) for part in block.display] or [block.content or block.output]
            return clean("\n".join(part for part in parts if part) or block.title)
        case ChecksCard():
            return clean(block.report.output or block.report.command)
        case PatchCard():
            return clean(block.diff)
        case LocatedCard():
            return clean("\n".join(hit.path for hit in block.location.files))
        case AttemptCard():
            return clean(block.attempt.diff or block.attempt.hypothesis)
        case CheckpointMark():
            return clean(block.checkpoint.id)
        case ErrorCard():
            return clean("\n".join(part for part in (block.message, block.hint, block.partial) if part))
        case TurnEnd():
            return clean(block.outcome.answer)


def _display_source(part: Display) -> str:
    match part:
        case TextBlock():
            return part.text
        case DiffBlock():
            return part.diff
        case TerminalBlock():
            return part.output
        case TableBlock():
            return "\n".join("\t".join(cells) for cells in (part.header, *part.rows))
        case PlanBlock():
            return "\n".join(step.text for step in part.steps)
        case ImageBlock():
            return ""


def _head(
    verb: str, what: str, middle: str | tuple[Span, ...], tail: str, mark: tuple[str, Role] = ("▸", "dim")
) -> Row:
    glyph, role = mark
    spans = middle if isinstance(middle, tuple) else (Span(middle, "dim"),)
    gap = (Span("  "),) if spans and spans[0].text else ()
    text = line((f"{glyph} ", role), (f"{clean_line(verb, 20)}  ", "title"), clean_line(what, 400), *gap, *spans)
    return Row(text, 2, 4, wrap=False, tail=line((tail, "dim")))


def _folding(head: Row, body: list[Row], fold: Fold, *, unfolded: bool, limit: int = MOST_LINES) -> list[Row]:
    """A head, and its body when it is unfolded by the person or by itself; then at most `limit` lines."""
    if fold == "closed" or not body or (fold == "auto" and not unfolded):
        return [head]
    if head.line[0].text == "▸ ":
        head = head._replace(line=(Span("▾ ", head.line[0].role), *head.line[1:]))
    if fold == "open":
        return [head, *_shortened(body)]
    shown = body[:limit]
    more = len(body) - len(shown)
    return [head, *shown, *([_hint(f"… {plural(more, 'line')} hidden  [Enter] unfolds")] if more else [])]


def _hint(text: str) -> Row:
    return Row((Span("  ", "dim"), Span(text, "dim")), len(text) + 2, 2)


def _shortened(body: list[Row]) -> list[Row]:
    if len(body) <= MOST_LINES:
        return body
    return [*body[:HEAD], _hint(f"… {len(body) - HEAD - TAIL} lines left out"), *body[-TAIL:]]


def _counts(report: CheckReport) -> tuple[Span, ...]:
    return (Span(present.counts(report), "ok" if report.ok else "bad"),)


def _user(block: UserSaid) -> list[Row]:
    lines = clean(block.text).strip("\n").split("\n")
    first = Row(line(("> ", "accent"), (lines[0].expandtabs(4), "user")), 2, 2, tail=line((clock(block.time), "dim")))
    rest = [Row(line("  ", (text.expandtabs(4), "user")), 2, 2) for text in lines[1:]]
    images = [Row(line("  ", (plural(block.images, "image"), "dim")), 2, 2)] if block.images else []
    return [_BLANK, first, *rest, *images]


def _thought(block: Thought, fold: Fold) -> list[Row]:
    words = len(block.text.split())
    if not words:
        return []
    name = "draft" if block.aside else "thought"
    head = Row(line(("▸ ", "dim"), (name, "dim")), 2, 4, wrap=False, tail=line((plural(words, "word"), "dim")))
    lines = clean(block.text).strip("\n").split("\n")
    body = [Row(line(("  ", "dim"), (text.expandtabs(4), "quote")), 2, 2) for text in lines]
    if block.open and fold == "auto":
        return [head, *body[-3:]]
    return _folding(head, body, fold, unfolded=False)


def _tool(card: ToolCard, fold: Fold) -> list[Row]:
    if card.folded and fold != "open":
        return []
    if card.group and fold != "open":
        names = [*card.group, card.title]
        head = _head("read", plural(len(names), "file"), ", ".join(clean_line(name, 40) for name in names), "")
        return [head]
    middle: str | tuple[Span, ...] = ()
    if card.report is not None:
        middle = _counts(card.report)
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
    head = _head(present.verb(card.name), card.title.split("\n")[0], middle, tail, GLYPHS[card.state])
    if card.state in ("running", "asking"):
        if card.state == "asking" and fold != "closed" and (wanted := proposed(card.arguments)):
            more = len(wanted) - ASKED_LINES
            return [head, *wanted[:ASKED_LINES], *([_hint(f"… {plural(more, 'line')} more")] if more > 0 else [])]
        lines = clean(card.output).rstrip("\n").split("\n") if card.output else []
        return [head, *(_output_row(text) for text in lines[-LIVE_LINES:])] if fold != "closed" else [head]
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
    return _folding(head, body, fold, unfolded=unfolded, limit=limit)


def proposed(arguments: str) -> list[Row]:
    """What an edit that was asked for would take out and put in, from the call's own arguments; empty for others."""
    try:
        given = msgspec.json.decode(arguments, type=dict[str, msgspec.Raw])
        texts = {
            name: msgspec.json.decode(given[name], type=str)
            for name in ("old", "new", "content", "patch", "diff")
            if name in given
        }
    except msgspec.MsgspecError:
        return []
    if text := texts.get("patch") or texts.get("diff"):
        return [Row((Span("  "), *of), 2, 4) for of in present.diff_lines(text)]
    removed = clean(texts["old"]).split("\n") if texts.get("old") else []
    new = texts.get("new") or texts.get("content") or ""
    added = clean(new).rstrip("\n").split("\n") if new else []
    return [
        *(Row((Span("  − ", "removed"), Span(text.expandtabs(4), "removed")), 4, 4) for text in removed),
        *(Row((Span("  + ", "added"), Span(text.expandtabs(4), "added")), 4, 4) for text in added),
    ]


def _tool_body(card: ToolCard) -> list[Row]:
    title = [_output_row(text) for text in clean(card.title).split("\n")[1:]]
    if card.report is not None:
        return [*title, *_report_body(card.report)]
    body = [row for part in card.display for row in _display_rows(part)]
    if card.state != "ok" or not body:
        lines = clean(card.content).rstrip("\n").split("\n") if card.content else []
        shown = [_output_row(text) for text in lines]
        body = (
            [*body, *shown]
            if card.state == "error" and not any(isinstance(p, TerminalBlock) for p in card.display)
            else body or shown
        )
    return [*title, *body]


def _display_rows(part: Display) -> list[Row]:
    match part:
        case TextBlock():
            return [_output_row(text) for text in clean(part.text).rstrip("\n").split("\n")]
        case DiffBlock():
            return _diff_rows(part.diff)
        case TerminalBlock():
            lines = clean(part.output).rstrip("\n").split("\n") if part.output else []
            code = (
                ""
                if part.exit_code == 0
                else f"exit {part.exit_code}"
                if part.exit_code is not None
                else "ended from outside"
            )
            return [*(_output_row(text) for text in lines), *([_output_row(code, "bad")] if code else [])]
        case TableBlock():
            cells = ["| " + " | ".join(clean_line(cell) for cell in of) + " |" for of in (part.header, *part.rows)]
            return [row._replace(line=(Span("  "), *row.line), gutter=2) for row in markdown.table(cells)]
        case PlanBlock():
            return [Row((Span("  "), *present.plan_step(step)), 2, 4) for step in part.steps]
        case ImageBlock():
            return [_output_row(f"image {clean_line(part.media_type, 40)}, {size(len(part.data) * 3 // 4)}")]


def _output_row(text: str, role: Role = "text") -> Row:
    return Row((Span("  │ ", "dim"), Span(text.expandtabs(4), role)), 4, 4)


def _report_body(report: CheckReport) -> list[Row]:
    """The failing tests; the output when there are none to name."""
    if report.failing:
        return [Row((Span("  │ ", "dim"), *of), 4, 4) for test in report.failing for of in present.failing_test(test)]
    lines = clean(report.output).rstrip("\n").split("\n") if report.output else []
    return [_output_row(text) for text in lines]


def _diff_rows(diff: str) -> list[Row]:
    """Changed lines with their numbers; file headers only where there is more than one file."""
    many = diff.count("\n+++ ") > 1
    out: list[Row] = []
    old = new = 0
    for text in clean(diff).rstrip("\n").split("\n") if diff else []:
        if hunk := _HUNK.match(text):
            old, new = int(hunk[1]), int(hunk[2])
            if out:
                out.append(Row((Span("    ⋯", "dim"),), 5))
        elif text.startswith(("--- ", "diff ", "index ", "new file", "deleted file", "\\")) and not (
            old and text.startswith("--- ") and not many
        ):
            continue
        elif text.startswith("+++ "):
            if many:
                out.append(Row((Span("  ", "dim"), Span(text[4:].removeprefix("b/"), "path")), 2, 2, wrap=False))
        elif text.startswith("+"):
            out.append(_numbered(new, "+", text[1:], "added"))
            new += 1
        elif text.startswith("-"):
            out.append(_numbered(old, "−", text[1:], "removed"))
            old += 1
        else:
            out.append(_numbered(new, " ", text[1:], "dim"))
            old, new = old + 1, new + 1
    return out


def _numbered(number: int, sign: str, text: str, role: Role) -> Row:
    return Row((Span(f"{number:>6} ", "dim"), Span(f"{sign} ", role), Span(text.expandtabs(4), role)), 9, 9)


def _location_body(block: LocatedCard) -> list[Row]:
    files = [(hit.path, ", ".join(hit.why)) for hit in block.location.files[:10]]
    names = [(f"{hit.path}:{hit.line} {hit.name}", ", ".join(hit.why)) for hit in block.location.symbols[:10]]
    return [
        Row(line("    ", (clean_line(what), "path"), (f"  {clean_line(why)}", "dim")), 4, 6)
        for what, why in (*files, *names)
    ]


def _notice(block: NoticeLine) -> list[Row]:
    glyph: dict[str, tuple[str, Role]] = {"info": ("· ", "dim"), "warning": ("▲ ", "warn"), "error": ("✗ ", "bad")}
    role: Role = "dim" if block.level == "info" else "text"
    lines = clean(block.text).strip("\n").split("\n")
    topic = line(glyph[block.level], (f"{clean_line(block.topic, 20)}  ", "dim"))
    if len(lines) == 1:
        return [Row((*topic, Span(lines[0].expandtabs(4), role)), 2, 4)]
    # A report keeps its columns only when its first line begins where the others do.
    return [Row(topic, 2, 4), *(Row(line("  ", (text.expandtabs(4), role)), 2, 4) for text in lines)]


def _error(block: ErrorCard) -> list[Row]:
    out = [_BLANK, Row(line(("✗ ", "bad"), ("model  ", "title"), (clean_line(block.message, 1000), "bad")), 2, 4)]
    if block.hint:
        out.append(Row(line("  ", (clean_line(block.hint, 500), "text")), 2, 4))
    if block.partial.strip():
        out += [
            _hint("what had arrived:"),
            *(_output_row(text, "dim") for text in clean(block.partial).strip("\n").split("\n")[:20]),
        ]
    return out


def _end(block: TurnEnd) -> list[Row]:
    outcome = block.outcome
    out: list[Row] = [] if outcome.status == "done" and outcome.verified is not False else [_BLANK]
    verdict: Line = present.outcome_line(outcome)
    return [*out, Row((*verdict, Span("  "), *present.usage_line(outcome)), 0, 2)]
