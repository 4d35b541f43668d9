"""Durations in minutes, read and written the way people do."""

import re

_PART = re.compile(r"(\d+)\s*(h|m)", re.IGNORECASE)
MINUTES_PER_HOUR = 60
MINUTES_PER_DAY = 24 * MINUTES_PER_HOUR


def parse_duration(text: str) -> int:
    """Minutes of `1h 30m`, `45m` or `2h`. Raises ValueError for anything else."""
    parts = _PART.findall(text)
    if not parts or _PART.sub("", text).strip():
        raise ValueError(f"not a duration: {text!r}")
    minutes = 0
    for number, unit in parts:
        minutes += int(number) * (MINUTES_PER_HOUR if unit.lower() == "h" else 1)
    return minutes


def format_duration(minutes: int) -> str:
    """`1h 30m`, `45m`, `2h`, `0m`."""
    hours, rest = divmod(minutes, MINUTES_PER_HOUR)
    shown = [f"{hours}h"] if hours else []
    if rest or not hours:
        shown.append(f"{rest}m")
    return " ".join(shown)


def minutes_between(start: str, end: str) -> int:
    """Minutes from one time of day to another; an end before the start is on the next day."""
    begin, finish = _minute_of_day(start), _minute_of_day(end)
    if finish < begin:
        finish += MINUTES_PER_DAY
    return finish - begin


def _minute_of_day(text: str) -> int:
    hours, minutes = text.split(":")
    if not 0 <= int(hours) < 24 or not 0 <= int(minutes) < 60:
        raise ValueError(f"not a time of day: {text!r}")
    return int(hours) * MINUTES_PER_HOUR + int(minutes)
