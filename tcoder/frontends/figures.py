"""Numbers for people: durations, sizes, money, counts. Pure; the same everywhere."""

from decimal import Decimal


def duration(seconds: float) -> str:
    """`12 ms`, `3.1 s`, `41 s`, `2 min 5 s`, `1 h 2 min`."""
    if seconds < 1:
        return f"{round(seconds * 1000)} ms"
    if seconds < 10:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    if minutes < 60:
        return f"{minutes} min {rest} s" if rest else f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if minutes else f"{hours} h"


def tokens(count: int) -> str:
    """`812`, `9.1k`, `138k`, `1.2M`."""
    if count < 1000:
        return str(count)
    if count < 999_500:
        return f"{count / 1000:.1f}k" if count < 99_950 else f"{count / 1000:.0f}k"
    return f"{count / 1_000_000:.1f}M"


def cost(dollars: Decimal | float | None) -> str:
    """`$0.043`, `$1.20`; `–` when it is not known."""
    if dollars is None:
        return "–"
    return f"${dollars:.2f}" if dollars >= 1 else f"${dollars:.3f}"


def size(count: int) -> str:
    """Bytes: `812 B`, `9.1 KB`, `1.2 MB`, `1.1 GB`."""
    if count < 1000:
        return f"{count} B"
    if count < 999_950:
        return f"{count / 1000:.1f} KB"
    return f"{count / 1_000_000:.1f} MB" if count < 999_950_000 else f"{count / 1_000_000_000:.1f} GB"


def plural(count: int, noun: str, many: str = "") -> str:
    """`1 file`, `2 files`."""
    return f"{count} {noun if count == 1 else many or noun + 's'}"


def clock(time: str) -> str:
    """`14:02` of an ISO 8601 time, as it stands; empty when it is none."""
    return time[11:16] if len(time) >= 16 and time[10] == "T" else ""
