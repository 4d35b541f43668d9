"""Who changed which line: a replay of a file's recorded versions. Pure."""

import difflib
from collections.abc import Sequence

from msgspec import Struct

from tcoder.protocol.review import HunkOrigin
from tcoder.workspace.review.diff import Run


class Step(Struct, frozen=True):
    """One recorded change of a file, by whom, from one content to another."""

    origin: HunkOrigin
    before: bytes
    after: bytes


class Origins(Struct, frozen=True):
    """By 0-based line: who wrote each line of the file as it is (None = it was there), and who removed base lines."""

    written: tuple[HunkOrigin | None, ...]
    removed: dict[int, HunkOrigin]


def lines_of(data: bytes) -> list[bytes]:
    """Lines with their endings, as git has them: only LF ends one."""
    if b"\r" not in data:
        return data.splitlines(keepends=True)
    parts = data.split(b"\n")
    lines = [part + b"\n" for part in parts[:-1]]
    return [*lines, parts[-1]] if parts[-1] else lines


def replay(base: bytes, steps: Sequence[Step], current: bytes) -> Origins | None:
    """Follow a file through its steps. None when they do not lead from `base` to `current`."""
    content = base
    lines: list[tuple[int | None, HunkOrigin | None]] = [(number, None) for number in range(len(lines_of(base)))]
    removed: dict[int, HunkOrigin] = {}
    for step in steps:
        origin: HunkOrigin | None = step.origin
        if step.before != content:
            return None
        old, new = lines_of(step.before), lines_of(step.after)
        following: list[tuple[int | None, HunkOrigin | None]] = []
        for tag, i1, i2, j1, j2 in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
            if tag == "equal":
                following += lines[i1:i2]
                continue
            removed |= {number: step.origin for number, _ in lines[i1:i2] if number is not None}
            following.extend((None, origin) for _ in range(j1, j2))
        lines, content = following, step.after
    if content != current:
        return None
    return Origins(tuple(origin for _, origin in lines), removed)


def by_origin(run: Run, origins: Origins) -> list[tuple[Run, HunkOrigin]]:
    """A run cut into parts with one origin each. What cannot be told apart is the user's: it must not be reverted."""
    first_old, first_new = run.old_start - 1, run.new_start - 1
    removers: list[HunkOrigin | None] = [origins.removed.get(first_old + n) for n in range(len(run.old))]
    writers: list[HunkOrigin | None] = [origins.written[first_new + n] for n in range(len(run.new))]
    involved = {*removers, *writers} - {None}
    if len(involved) == 1:
        return [(run, "agent" if "agent" in involved else "user")]
    if run.old or None in writers:
        return [(run, "user")]
    # Additions of both: cut where one ends and the other begins.
    parts: list[tuple[Run, HunkOrigin]] = []
    start = 0
    for end in range(1, len(writers) + 1):
        if end == len(writers) or writers[end] != writers[start]:
            part = Run(run.old_start, run.new_start + start, (), run.new[start:end])
            parts.append((part, writers[start] or "user"))
            start = end
    return parts
