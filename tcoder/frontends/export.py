"""A conversation as text: Markdown for a file, plain lines for a pager. Pure."""

from collections.abc import Iterable

from tcoder.frontends import blocks as block_rows
from tcoder.frontends.cards import Block, CheckpointMark, ModelSaid, PatchCard, Thought, ToolCard, TurnEnd, UserSaid
from tcoder.frontends.lines import Line, Span
from tcoder.frontends.lines import plain as plain_line
from tcoder.frontends.sanitise import clean


def lines(block: Block, *, unfolded: bool = True) -> list[Line]:
    """A block as lines that were not wrapped; what stands at the right edge follows after two spaces."""
    return [
        (*row.line, Span("  "), *row.tail) if row.tail else row.line
        for row in block_rows.rows(block, "open" if unfolded else "auto")
    ]


def plain(blocks: Iterable[Block]) -> str:
    """Everything, unfolded, without colours."""
    return "\n".join(plain_line(line).rstrip() for block in blocks for line in lines(block)) + "\n"


def markdown(blocks: Iterable[Block]) -> str:
    """The conversation with diffs and the output of failed tools, as a document."""
    parts: list[str] = []
    for block in blocks:
        match block:
            case UserSaid():
                parts.append(f"## {clean(block.text).strip()}")
            case ModelSaid() if block.text.strip():
                parts.append(clean(block.text).strip())
            case PatchCard():
                parts.append(_fenced("diff", clean(block.diff)))
            case ToolCard():
                parts.append(
                    f"- `{block.name}` {clean(block.title).splitlines()[0] if block.title else ''} ({block.state})"
                )
                if block.diff:
                    parts.append(_fenced("diff", clean(block.diff)))
            case Thought() | CheckpointMark() | TurnEnd():
                continue
            case _:
                parts += [plain_line(line).rstrip() for line in lines(block)]
    return "\n\n".join(part for part in parts if part) + "\n"


def _fenced(language: str, text: str) -> str:
    fence = "```"
    while fence in text:
        fence += "`"
    return f"{fence}{language}\n{text.rstrip()}\n{fence}"
