"""The lines of a hunk as two columns: what was on the left, what is on the right. Pure."""

from collections.abc import Sequence

from rich.cells import cell_len, set_cell_size

from tcoder.frontends.lines import Line, Role, Span
from tcoder.frontends.sanitise import clean

NARROWEST = 24
"""Cells that a column needs; below it the lines stand one under the other."""
Pair = tuple[str | None, str | None]


def pairs(lines: Sequence[str]) -> list[Pair]:
    """Lines of a hunk (each with its ' ', '-' or '+') as `(before, after)`: what was taken out stands beside what was
    put in for it, None where there is nothing."""
    out: list[Pair] = []
    gone: list[str] = []
    come: list[str] = []

    def flush() -> None:
        count = max(len(gone), len(come))
        out.extend((gone[at] if at < len(gone) else None, come[at] if at < len(come) else None) for at in range(count))
        gone.clear()
        come.clear()

    for text in lines:
        if text.startswith("-"):
            if come:
                flush()
            gone.append(text[1:])
        elif text.startswith("+"):
            come.append(text[1:])
        elif not text.startswith("\\"):
            flush()
            out.append((text[1:], text[1:]))
    flush()
    return out


def columns(lines: Sequence[str], width: int) -> list[Line]:
    """The pairs in two columns that fill `width` cells, cut with a mark where they are longer."""
    half = (width - 3) // 2
    out: list[Line] = []
    for before, after in pairs(lines):
        same = before == after
        out.append(
            (
                *_half("−", before, half, "dim" if same else "removed", same=same),
                Span(" │ ", "dim"),
                *_half("+", after, half, "dim" if same else "added", same=same),
            )
        )
    return out


def _half(sign: str, text: str | None, width: int, role: Role, *, same: bool) -> Line:
    if text is None:
        return (Span(" " * width),)
    shown = f"{' ' if same else sign} {clean(text).replace(chr(10), ' ').expandtabs(4)}"
    if cell_len(shown) > width:
        shown = set_cell_size(shown, width - 1) + "…"
    return (Span(set_cell_size(shown, width), role),)
