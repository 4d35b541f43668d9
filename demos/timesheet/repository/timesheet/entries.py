"""One line of a timesheet is one entry."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import date

from timesheet.durations import minutes_between

_LINE = re.compile(r"^(\d{4}-\d\d-\d\d)\s+(\d\d:\d\d)-(\d\d:\d\d)\s+(\S+)\s*(.*)$")


@dataclass(frozen=True)
class Entry:
    day: date
    minutes: int
    project: str
    note: str = ""


def parse_line(line: str) -> Entry:
    """An entry from `2025-03-03 09:00-12:20 project what was done`. Raises ValueError."""
    match = _LINE.match(line.strip())
    if not match:
        raise ValueError(f"not an entry: {line!r}")
    day, start, end, project, note = match.groups()
    return Entry(date.fromisoformat(day), minutes_between(start, end), project.lower(), note)


def read_entries(lines: Iterable[str]) -> Iterator[Entry]:
    """The entries of a file; empty lines and comments are left out."""
    for line in lines:
        text = line.split("#")[0].strip()
        if text:
            yield parse_line(text)
