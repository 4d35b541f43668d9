"""A hunk in two columns."""

import pytest
from rich.cells import cell_len

from tcoder.frontends.lines import plain
from tcoder.frontends.tui.side_by_side import Pair, columns, pairs


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ([], []),
        ([" a"], [("a", "a")]),
        (["-a", "+b"], [("a", "b")]),
        (["-a", "-b", "+c"], [("a", "c"), ("b", None)]),
        (["+a", "-b", "+c"], [(None, "a"), ("b", "c")]),
        ([" x", "+a", " y"], [("x", "x"), (None, "a"), ("y", "y")]),
        (["-a", "\\ No newline at end of file", "+a"], [("a", "a")]),
    ],
)
def test_pairs(lines: list[str], expected: list[Pair]) -> None:
    assert pairs(lines) == expected


def test_columns_have_one_width_whatever_is_in_them() -> None:
    shown = columns(["-한글 text that is much too long for half of it", "+x\x1b[2J", " same\ttab", "+👩‍👩‍👧"], 61)
    assert {cell_len(plain(line)) for line in shown} == {61}
    assert "\x1b" not in "".join(map(plain, shown)) and "…" in plain(shown[0])
