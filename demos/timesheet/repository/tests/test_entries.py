from datetime import date

import pytest

from timesheet.entries import Entry, parse_line, read_entries


def test_parse_line():
    entry = parse_line("2025-03-03 09:00-12:20 Website menu and footer")
    assert entry == Entry(date(2025, 3, 3), 200, "website", "menu and footer")


def test_comments_and_empty_lines():
    lines = ["# week 10", "", "2025-03-05 10:00-10:10 website  # short"]
    assert [entry.minutes for entry in read_entries(lines)] == [10]


def test_nonsense_is_refused():
    with pytest.raises(ValueError, match="not an entry"):
        parse_line("yesterday, all day")
