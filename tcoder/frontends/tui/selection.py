"""A selection in the transcript: between two characters of laid-out lines. Pure."""

from typing import NamedTuple

from tcoder.frontends.tui.scrolling import Anchor


class Point(NamedTuple):
    """A character of a block's line."""

    block: int
    row: int
    column: int


class Selection(NamedTuple):
    """From where the button went down to where the mouse is."""

    start: Point
    end: Point

    @property
    def ordered(self) -> tuple[Point, Point]:
        """First and last point; the last column is exclusive."""
        first, last = sorted((self.start, self.end))
        return first, last._replace(column=last.column + 1)

    def span(self, place: Anchor) -> tuple[int, int] | None:
        """The selected columns of a line, the second exclusive; None when there are none."""
        first, last = self.ordered
        here = (place.block, place.row)
        if here < (first.block, first.row) or here > (last.block, last.row):
            return None
        start = first.column if here == (first.block, first.row) else 0
        end = last.column if here == (last.block, last.row) else 1 << 30
        return start, end
