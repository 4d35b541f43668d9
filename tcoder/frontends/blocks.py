"""Blocks of the transcript as rows: what is shown of each, folded and unfolded. Pure, for every front end."""

from tcoder.frontends import highlight, markdown, present
from tcoder.frontends.cards import (
    AttemptCard,
    Block,
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
from tcoder.frontends.diff_rows import diff_rows
from tcoder.frontends.figures import clock, duration, plural
from tcoder.frontends.folding import Fold, folding, headline, hint, output_row
from tcoder.frontends.lines import Line, Role, Span, line
from tcoder.frontends.markdown import Row
from tcoder.frontends.sanitise import clean, clean_line
from tcoder.frontends.tool_rows import EDIT_LINES, counts, report_body, tool
from tcoder.protocol.display import DiffBlock, Display, ImageBlock, PlanBlock, TableBlock, TerminalBlock, TextBlock

_BLANK = Row(())


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
            return tool(block, fold)
        case ChecksCard():
            phase = {"baseline": "before", "attempt": "after", "final": "final"}[block.phase]
            head = headline(
                "test", block.report.command, counts(block.report), f"{phase}  {duration(block.report.duration_s)}"
            )
            return folding(head, report_body(block.report), fold, unfolded=not block.report.ok)
        case PatchCard():
            sums = present.changed(block.patch.insertions, block.patch.deletions)
            head = headline(
                block.patch.cause.kind,
                present.patch_files(block.patch),
                sums,
                clean_line(block.patch.cause.summary, 60),
            )
            return folding(
                head, diff_rows(block.diff), fold, unfolded=block.patch.cause.kind == "edit", limit=EDIT_LINES
            )
        case LocatedCard():
            head = headline("locate", present.located(block.location), (), duration(block.duration_s))
            return folding(head, _location_body(block), fold, unfolded=False)
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
    return folding(head, body, fold, unfolded=False)


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
    if block.topic == "retry":
        lines[-1] += f"   Ctrl+↑, then {ways_on('rate_limit')}"
    if len(lines) == 1:
        return [Row((*topic, Span(lines[0].expandtabs(4), role)), 2, 4)]
    # A report keeps its columns only when its first line begins where the others do.
    return [Row(topic, 2, 4), *(Row(line("  ", (text.expandtabs(4), role)), 2, 4) for text in lines)]


WAYS_ON: dict[str, str] = {"r": "r tries again", "l": "l takes the other variant", "k": "k enters a key"}
_OF_FAILURE = {"auth": "kl", "quota": "lk", "rate_limit": "rl", "overloaded": "rl", "unknown_model": "lk"}


def ways_on(failure: str) -> str:
    """The keys of a card of this failure, in words."""
    if failure == "context_full":
        return "Enter makes room: old tool results go first, then a summary stands for the beginning"
    return " · ".join(WAYS_ON[key] for key in _OF_FAILURE.get(failure, "rl"))


NAMES_OF_FAILURE = {
    "auth": "provider", "quota": "provider", "rate_limit": "provider", "overloaded": "provider",
    "content_filter": "refused", "truncated": "max tokens", "context_full": "context", "network": "network",
    "timeout": "network", "unknown_model": "model",
}  # fmt: skip


def _error(block: ErrorCard) -> list[Row]:
    out = [
        _BLANK,
        Row(
            line(
                ("✗ ", "bad"),
                (f"{NAMES_OF_FAILURE.get(block.failure, 'model')}  ", "title"),
                (clean_line(block.message, 1000), "bad"),
            ),
            2,
            4,
        ),
    ]
    if block.hint:
        out.append(Row(line("  ", (clean_line(block.hint, 500), "text")), 2, 4))
    out.append(Row(line("  ", (f"Ctrl+↑, then {ways_on(block.failure)}", "dim")), 2, 4))
    if block.partial.strip():
        out += [
            hint("what had arrived:"),
            *(output_row(text, "dim") for text in clean(block.partial).strip("\n").split("\n")[:20]),
        ]
    return out


def _end(block: TurnEnd) -> list[Row]:
    outcome = block.outcome
    out: list[Row] = [] if outcome.status == "done" and outcome.verified is not False else [_BLANK]
    verdict: Line = present.outcome_line(outcome)
    return [*out, Row((*verdict, Span("  "), *present.usage_line(outcome)), 0, 2)]
