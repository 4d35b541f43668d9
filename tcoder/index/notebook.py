"""Notebooks by cell: each code cell is a symbol at its place in the file. Pure."""

import re
from collections.abc import Iterator
from typing import Any

import msgspec

from tcoder.protocol.location import Symbol

_CELL = re.compile(rb'"cell_type"\s*:\s*"')


def cells(data: bytes) -> Iterator[tuple[Symbol, int, int]]:
    """A symbol for each code cell, named by its number from 1, with the bytes where it begins and ends. Nothing for
    what is no notebook."""
    try:
        read: Any = msgspec.json.decode(data)
        found = [cell for cell in read["cells"] if isinstance(cell["cell_type"], str)]
        sources = ["".join(cell.get("source", "")) for cell in found]
    except (msgspec.MsgspecError, RecursionError, KeyError, TypeError, AttributeError):
        return
    starts = [match.start() for match in _CELL.finditer(data)]
    if len(starts) != len(found):
        return  # a cell shows the words of a cell: the places cannot be told
    for number, (cell, source, start) in enumerate(zip(found, sources, starts, strict=True), start=1):
        end = starts[number] if number < len(starts) else len(data)
        if cell["cell_type"] != "code":
            continue
        head = next((line.strip() for line in source.splitlines() if line.strip()), "")
        line, last = data.count(b"\n", 0, start) + 1, data.count(b"\n", 0, end) + 1
        yield Symbol(f"cell {number}", "cell", line, last, "", head[:160]), start, end
