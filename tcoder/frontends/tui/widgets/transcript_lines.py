"""The conversation as lines: lays out only what is seen and repaints only lines that changed."""

from collections.abc import Sequence

from rich.segment import Segment
from textual.geometry import Region
from textual.strip import Strip
from textual.widget import Widget

from tcoder.frontends import blocks as block_rows
from tcoder.frontends.cards import Block, Thought, ToolCard
from tcoder.frontends.figures import plural
from tcoder.frontends.folding import Fold
from tcoder.frontends.lines import plain
from tcoder.frontends.tui.layout import Laid, Layout, guess, text_between
from tcoder.frontends.tui.palette import Palette
from tcoder.frontends.tui.scrolling import Anchor, bottom, move, window
from tcoder.frontends.tui.selection import Point, Selection

WHEEL_LINES = 3


class TranscriptLines(Widget, can_focus=True):
    """Shows blocks. It keeps where it stands, what is unfolded and what is selected, nothing of the session."""

    DEFAULT_CSS = """
    TranscriptLines { height: 1fr; width: 1fr; background: $background; color: $foreground; }
    """
    ALLOW_SELECT = False

    def __init__(self, blocks: Sequence[Block], palette: Palette, *, ascii_glyphs: bool = False) -> None:
        super().__init__(id="transcript")
        self._blocks = blocks
        self._palette = palette
        self._ascii = ascii_glyphs
        self._layout = Layout(palette, ascii_glyphs=ascii_glyphs)
        self._folds: dict[int, Fold] = {}
        self._guesses: list[int] = []
        self._anchor = Anchor()
        self._shown: list[tuple[Strip, str]] = []
        self._places: list[Anchor] = []
        self._selection: Selection | None = None
        self._press: Point | None = None
        self._new_lines = 0
        self.following = True
        self.cursor: int | None = None
        self.thoughts_open = False
        self._drag_bar = False

    # -- what is shown

    def show_blocks(self, blocks: Sequence[Block]) -> None:
        """Another conversation."""
        self._blocks = blocks
        self._folds.clear()
        self._guesses.clear()
        self._anchor, self.following, self.cursor, self._selection, self._new_lines = Anchor(), True, None, None, 0
        self._relay()

    def update_blocks(self, changed: Sequence[int]) -> None:
        """Blocks with these indexes are new or changed."""
        for index in changed:
            before = self._guesses[index] if index < len(self._guesses) else 0
            self._layout.forget(index)
            if not self.following and index >= self._anchor.block:
                self._new_lines += max(0, self._height(index) - before)
        if not self.size.height:
            return
        self._show()

    def set_palette(self, palette: Palette) -> None:
        self._palette = palette
        self._relay()

    def fold_all(self, fold: Fold) -> None:
        """Unfold or fold every block of tools; `auto` gives back the choice to each."""
        self._folds = {} if fold == "auto" else {
            index: fold for index, block in enumerate(self._blocks) if isinstance(block, ToolCard)
        }  # fmt: skip
        self._relay()

    def toggle_thoughts(self) -> None:
        self.thoughts_open = not self.thoughts_open
        for index, block in enumerate(self._blocks):
            if isinstance(block, Thought):
                self._folds[index] = "open" if self.thoughts_open else "closed"
        self._relay()

    def toggle(self, index: int) -> None:
        """Unfold a folded block and the other way round."""
        block = self._blocks[index]
        if not block_rows.foldable(block):
            return
        unfolded = len(block_rows.rows(block, self._folds.get(index, "auto"))) > 1
        whole = len(block_rows.rows(block, "open")) == len(block_rows.rows(block, self._folds.get(index, "auto")))
        self._folds[index] = "closed" if unfolded and whole else "open"
        self._layout.forget(index)
        self._show()

    # -- scrolling

    def scroll_lines(self, by: int) -> None:
        """Move the view; reaching the end follows again."""
        self._anchor = move(self._anchor, by, len(self._blocks), self._height, self.size.height)
        self.following = by > 0 and self._anchor >= self._bottom()
        if self.following:
            self._new_lines = 0
        self._show()

    def scroll_page(self, pages: int) -> None:
        self.scroll_lines(pages * max(1, self.size.height - 2))

    def follow(self) -> None:
        """Go to the end and stay there."""
        self.following, self._new_lines = True, 0
        self._show()

    def to_top(self) -> None:
        self.following = False
        self._anchor = Anchor()
        self._show()

    def reveal(self, index: int) -> None:
        """Scroll so that a block is seen from its first line."""
        visible = {place.block for place in self._places}
        if index not in visible or (self._places and self._places[0] > Anchor(index, 0)):
            self._anchor = min(Anchor(index, 0), self._bottom())
            self.following = self._anchor >= self._bottom()
            self._show()

    def move_cursor(self, by: int) -> None:
        """Put the block cursor on the next block that shows something (negative: the one before)."""
        index = len(self._blocks) if self.cursor is None else self.cursor
        while 0 <= index + by < len(self._blocks):
            index += by
            if self._height(index):
                self.cursor = index
                self.reveal(index)
                self._show()
                return

    def find(self, text: str, *, backwards: bool = True) -> bool:
        """Put the cursor on the next block that holds `text`; False when there is none."""
        wanted = text.casefold()
        start = len(self._blocks) if self.cursor is None else self.cursor
        steps = range(start - 1, -1, -1) if backwards else range(start + 1, len(self._blocks))
        for index in steps:
            if wanted in block_rows.source(self._blocks[index]).casefold():
                self.cursor = index
                self._anchor, self.following = Anchor(index, 0), False
                self._show()
                return True
        return False

    # -- selection

    def selected_text(self) -> str:
        """The selected text, empty when nothing is selected."""
        if self._selection is None:
            return ""
        first, last = self._selection.ordered
        parts: list[tuple[Laid, int, int, int, int]] = []
        for index in range(first.block, min(last.block, len(self._blocks) - 1) + 1):
            laid = self._lay(index)
            row, column = (first.row, first.column) if index == first.block else (0, 0)
            end, stop = (last.row, last.column) if index == last.block else (len(laid.lines) - 1, 1 << 30)
            parts.append((laid, row, column, end, stop))
        return text_between(parts)

    def clear_selection(self) -> None:
        self._selection = None
        self._show()

    # -- drawing

    def render_line(self, y: int) -> Strip:
        if y >= len(self._shown):
            return Strip.blank(self.size.width, self.rich_style)
        strip, extra = self._shown[y]
        base = self.rich_style
        mark, bar = ("|", "|") if self._ascii else ("▌", "┃")
        left = Segment(mark, base + self._palette.style("accent")) if "c" in extra else Segment(" ", base)
        right = Segment(bar, base + self._palette.style("dim")) if "t" in extra else Segment(" ", base)
        if "s" in extra:
            strip = self._highlighted(strip, y)
        line = Strip([left, *strip, right], self.size.width).simplify()
        return self._with_pill(line, extra) if "p" in extra else line

    def on_resize(self) -> None:
        self._relay()

    def on_focus(self) -> None:
        if self.cursor is None:
            self.move_cursor(-1)

    def on_blur(self) -> None:
        self.cursor = None
        self._show()

    def _relay(self) -> None:
        self._layout.reset(self._palette, self.rich_style, max(10, self.size.width - 2))
        self._guesses.clear()
        if self.size.height:
            self._show(whole=True)

    def _lay(self, index: int) -> Laid:
        return self._layout.lay(index, self._blocks[index], self._folds.get(index, "auto"))

    def _height(self, index: int) -> int:
        lines = len(self._lay(index).lines)
        while len(self._guesses) <= index:
            self._guesses.append(guess(self._blocks[len(self._guesses)], self._layout.width))
        self._guesses[index] = lines
        return lines

    def _bottom(self) -> Anchor:
        return bottom(len(self._blocks), self._height, self.size.height)

    def _show(self, *, whole: bool = False) -> None:
        """Work out the lines of the window and repaint those that differ from what is drawn."""
        height, count = self.size.height, len(self._blocks)
        if self.following:
            self._anchor = self._bottom()
        elif count and self._height(self._anchor.block) <= self._anchor.row:
            self._anchor = Anchor(self._anchor.block, max(0, self._height(self._anchor.block) - 1))
        places = window(self._anchor, count, self._height, height)
        shown = [(self._layout.strip(self._lay(place.block), place.row), "") for place in places]
        top, end = self._thumb(height)
        pill = bool(self._new_lines) and not self.following
        self._places = places
        shown = [
            (strip, self._extra(place, y, thumb=top <= y < end, pill=pill and y == height - 1))
            for y, (place, (strip, _)) in enumerate(zip(places, shown, strict=True))
        ]
        before, self._shown = self._shown, shown
        if whole:
            self.refresh()
            return
        regions = _differing(before, shown, self.size.width)
        if regions:
            self.refresh(*regions)

    def _extra(self, place: Anchor, y: int, *, thumb: bool, pill: bool) -> str:
        """What is drawn on a line besides its text: cursor, thumb of the scroll bar, selection, pill."""
        extra = ("c" if place.block == self.cursor else "") + ("t" if thumb else "")
        if self._selection is not None and (span := self._selection.span(place)):
            extra += f"s{span[0]}-{span[1]};"
        return f"{extra}p{self._new_lines}" if pill else extra

    def _thumb(self, height: int) -> tuple[int, int]:
        """First and last row (exclusive) of the scroll bar's thumb; nothing when everything fits."""
        while len(self._guesses) < len(self._blocks):
            self._guesses.append(guess(self._blocks[len(self._guesses)], self._layout.width))
        total = sum(self._guesses)
        if total <= height:
            return 0, 0
        above = sum(self._guesses[: self._anchor.block]) + self._anchor.row
        size = max(1, height * height // total)
        top = height - size if self.following else min(height - size, above * height // total)
        return top, top + size

    def _highlighted(self, strip: Strip, y: int) -> Strip:
        if self._selection is None or (span := self._selection.span(self._places[y])) is None:
            return strip
        laid = self._lay(self._places[y].block)
        line = plain(laid.lines[self._places[y].row].line)
        start = strip.index_to_cell_position(min(span[0], len(line)))
        end = strip.index_to_cell_position(min(span[1], max(len(line), 1)))
        if end <= start:
            return strip
        style = self.screen.get_component_rich_style("screen--selection")
        before, middle, after = strip.crop(0, start), strip.crop(start, end), strip.crop(end)
        return Strip.join(
            [before, Strip([Segment(s.text, (s.style or self.rich_style) + style) for s in middle]), after]
        )

    def _with_pill(self, line: Strip, extra: str) -> Strip:
        text = f" {'v' if self._ascii else '↓'} {plural(int(extra.rsplit('p', 1)[1]), 'new line')} (End) "
        at = self.size.width - len(text) - 1
        if at < 10:
            return line
        pill = Segment(text, self.rich_style + self._palette.style("accent"))
        return Strip.join([line.crop(0, at), Strip([pill], len(text)), line.crop(at + len(text))])


def _differing(before: list[tuple[Strip, str]], now: list[tuple[Strip, str]], width: int) -> list[Region]:
    """The lines that are not the same any more, as regions."""
    regions: list[Region] = []
    for y in range(max(len(before), len(now))):
        old = before[y] if y < len(before) else None
        new = now[y] if y < len(now) else None
        if old is not None and new is not None and old[0] is new[0] and old[1] == new[1]:
            continue
        if regions and regions[-1].bottom == y:
            regions[-1] = Region(0, regions[-1].y, width, regions[-1].height + 1)
        else:
            regions.append(Region(0, y, width, 1))
    return regions
