"""Wrapping, scrolling and selecting: pure geometry of the transcript."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from tcoder.frontends.folding import output_row
from tcoder.frontends.lines import Span, line, plain
from tcoder.frontends.markdown import Row
from tcoder.frontends.tui.layout import Laid, text_between
from tcoder.frontends.tui.scrolling import Anchor, bottom, move, window
from tcoder.frontends.tui.selection import Point, Selection
from tcoder.frontends.tui.wrapping import LONGEST, VisualLine, cut, fit, wrap


def texts(row: Row, width: int) -> list[str]:
    return [plain(of.line) for of in wrap(row, width)]


@pytest.mark.parametrize(
    ("text", "width", "lines"),
    [
        ("", 10, [""]),
        ("short", 10, ["short"]),
        ("one two three", 8, ["one two", "three"]),
        ("abcdefghijkl", 5, ["abcde", "fghij", "kl"]),
        ("한글한글한글", 5, ["한글", "한글", "한글"]),
        ("a  b", 2, ["a", "b"]),
        ("word " * 3, 5, ["word", "word", "word "]),
        ("00000000000000 ", 7, ["0000000", "0000000"]),
        ("word    ", 6, ["word  "]),
    ],
)
def test_wrap(text: str, width: int, lines: list[str]) -> None:
    assert texts(Row(line(text)), width) == lines


def test_the_rest_hangs() -> None:
    assert texts(Row(line("- one two three"), 0, 2), 9) == ["- one two", "  three"]


def test_a_tail_stands_at_the_right_edge() -> None:
    assert texts(Row(line("head"), tail=line("1 ms")), 20) == ["head            1 ms"]
    assert texts(Row(line("head" * 10), wrap=False, tail=line("1 ms")), 20) == ["headheadheadh…  1 ms"]


def test_a_line_of_megabytes_is_cut() -> None:
    assert sum(map(len, texts(Row(line("x" * 10_000_000)), 80))) < LONGEST + 100


@given(st.text(st.characters(exclude_categories=["Cs", "Cc", "Mn", "Me", "Cf"]), max_size=200), st.integers(4, 40))
def test_no_line_is_too_wide_and_nothing_is_lost(text: str, width: int) -> None:
    wrapped = wrap(Row(line(text)), width)
    assert all(cell_len(plain(of.line)) <= width or len(plain(of.line).strip()) <= 1 for of in wrapped)
    assert "".join(plain(of.line) for of in wrapped).replace(" ", "") == "".join(text.split(" ")) or not text.isascii()


def test_cut_and_fit_keep_roles() -> None:
    of = line(("ab", "bold"), ("cd", "dim"))
    assert cut(of, 1, 3) == (Span("b", "bold"), Span("c", "dim"))
    assert plain(fit(of, 3)) == "ab…" and fit(of, 4) == of


HEIGHTS = [3, 0, 2, 5]


def height(index: int) -> int:
    return HEIGHTS[index]


@pytest.mark.parametrize(("rows", "anchor"), [(4, (3, 1)), (5, (3, 0)), (6, (2, 1)), (10, (0, 0)), (99, (0, 0))])
def test_bottom(rows: int, anchor: tuple[int, int]) -> None:
    assert bottom(4, height, rows) == anchor


@given(st.integers(0, 9), st.integers(-12, 12), st.integers(1, 12))
def test_moving_is_like_moving_in_one_list(start: int, by: int, rows: int) -> None:
    places = window(Anchor(), 4, height, 99)
    last = max(0, len(places) - rows)
    begin = min(start, last)
    moved = move(places[begin], by, 4, height, rows)
    assert moved == places[max(0, min(begin + by, last))]


def test_a_window_skips_what_shows_nothing() -> None:
    assert window(Anchor(0, 2), 4, height, 3) == [(0, 2), (2, 0), (2, 1)]


def laid(*lines: tuple[str, int, str]) -> Laid:
    return Laid(
        [VisualLine(line(text), gutter, joint, len(text)) for text, gutter, joint in lines], [None] * len(lines)
    )


def test_selected_text_is_source_text() -> None:
    code = laid(("▾ edit", 2, "\n"), ("  41 + a = 1", 7, "\n"), ("  42 + b", 7, "\n"), ("       long", 7, " "))
    assert text_between([(code, 1, 0, 3, 99)]) == "a = 1\nb long"
    assert text_between([(code, 1, 9, 1, 12)]) == "= 1"
    assert text_between([(code, 2, 0, 2, 99), (laid(("next   ", 0, "\n")), 0, 0, 0, 99)]) == "b\n\nnext"


def test_a_selection_has_columns_by_line() -> None:
    backwards = Selection(Point(2, 1, 5), Point(1, 0, 3))
    assert backwards.ordered == (Point(1, 0, 3), Point(2, 1, 6))
    assert backwards.span(Anchor(1, 0)) == (3, 1 << 30)
    assert backwards.span(Anchor(2, 1)) == (0, 6)
    assert backwards.span(Anchor(2, 2)) is None


def test_wrapped_output_keeps_its_bar() -> None:
    shown = wrap(output_row("one two three four"), 14)
    assert [plain(of.line) for of in shown] == ["  │ one two", "  │ three four"]
    assert {of.gutter for of in shown} == {4}
