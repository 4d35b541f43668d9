"""What an hour costs, and in which steps time is charged."""

from collections.abc import Mapping
from decimal import ROUND_HALF_UP, Decimal

CENT = Decimal("0.01")


def round_up(minutes: int, step: int) -> int:
    """Minutes rounded up to a whole number of steps; a step of 0 charges every minute as it is."""
    if step <= 0:
        return minutes
    remainder = minutes % step
    if remainder == 0:
        return minutes
    return minutes - remainder


def amount(minutes: int, rate: Decimal) -> Decimal:
    """What so many minutes cost at a rate per hour, to the cent."""
    return (rate * minutes / 60).quantize(CENT, ROUND_HALF_UP)


def rate_of(project: str, rates: Mapping[str, Decimal], default: Decimal | None = None) -> Decimal:
    """The rate of a project. Raises KeyError when it has none and there is no default."""
    if project in rates:
        return rates[project]
    if default is None:
        raise KeyError(f"no rate for {project}")
    return default


def parse_rate(text: str) -> tuple[str, Decimal]:
    """`website=80` as a project and its rate."""
    project, separator, value = text.partition("=")
    if not separator or not project:
        raise ValueError(f"not a rate: {text!r}")
    return project.lower(), Decimal(value)
