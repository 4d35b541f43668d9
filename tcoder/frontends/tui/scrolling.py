"""A window on a list of blocks of lines: where it stands is a block and a line in it, so that only what is seen needs
to be laid out, and a resize or a change above never moves what is read. Pure."""

from collections.abc import Callable
from typing import NamedTuple

Height = Callable[[int], int]
"""The lines of a block, by its index."""


class Anchor(NamedTuple):
    """The line at the top of the window."""

    block: int = 0
    row: int = 0


def bottom(count: int, height: Height, rows: int) -> Anchor:
    """The anchor that shows the last `rows` lines."""
    left = rows
    for block in range(count - 1, -1, -1):
        lines = height(block)
        if lines >= left:
            return Anchor(block, lines - left)
        left -= lines
    return Anchor()


def move(anchor: Anchor, by: int, count: int, height: Height, rows: int) -> Anchor:
    """The anchor `by` lines further down (negative: up), never beyond the ends."""
    block, row = anchor
    if by < 0:
        row += by
        while row < 0 and block > 0:
            block -= 1
            row += height(block)
        return Anchor(block, max(row, 0))
    target = Anchor(block, row + by)
    while target.block < count - 1 and target.row >= height(target.block):
        target = Anchor(target.block + 1, target.row - height(target.block))
    return min(target, bottom(count, height, rows))


def window(anchor: Anchor, count: int, height: Height, rows: int) -> list[Anchor]:
    """The lines in the window, from the top; fewer than `rows` when there are no more."""
    out: list[Anchor] = []
    block, row = anchor
    while block < count and len(out) < rows:
        for line in range(row, height(block)):
            if len(out) == rows:
                break
            out.append(Anchor(block, line))
        block, row = block + 1, 0
    return out
