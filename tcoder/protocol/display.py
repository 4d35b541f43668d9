"""What a tool result shows to a person: a closed set, so that a new tool needs no new front-end code."""

from msgspec import Struct

from tcoder.protocol.plan import PlanStep


class TextBlock(Struct, frozen=True, tag="text"):
    """Plain text, shown as it is (never as markup)."""

    text: str


class DiffBlock(Struct, frozen=True, tag="diff"):
    """A unified diff of one file, with `insertions` and `deletions` in lines."""

    path: str
    diff: str
    insertions: int = 0
    deletions: int = 0


class TerminalBlock(Struct, frozen=True, tag="terminal"):
    """A command and what it printed; `exit_code` is None when it was ended from outside."""

    command: str
    output: str
    exit_code: int | None = None
    duration_s: float = 0.0


class TableBlock(Struct, frozen=True, tag="table"):
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


class PlanBlock(Struct, frozen=True, tag="plan"):
    steps: tuple[PlanStep, ...]


class ImageBlock(Struct, frozen=True, tag="image"):
    """An image; `data` is base64."""

    media_type: str
    data: str


Display = TextBlock | DiffBlock | TerminalBlock | TableBlock | PlanBlock | ImageBlock
