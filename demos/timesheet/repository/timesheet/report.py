"""Totals by project and by week, and the invoice made of them."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal

from timesheet.durations import format_duration
from timesheet.entries import Entry
from timesheet.rates import amount, rate_of, round_up


@dataclass(frozen=True)
class InvoiceLine:
    project: str
    minutes: int
    amount: Decimal


def total_by_project(entries: Iterable[Entry], step: int = 0) -> dict[str, int]:
    """Minutes by project, each entry rounded up to the step, projects in the order in which they first appear."""
    totals: dict[str, int] = {}
    for entry in entries:
        totals[entry.project] = totals.get(entry.project, 0) + round_up(entry.minutes, step)
    return totals


def total_by_week(entries: Iterable[Entry]) -> dict[tuple[int, int], int]:
    """Minutes by ISO year and week, in order."""
    totals: dict[tuple[int, int], int] = {}
    for entry in sorted(entries, key=lambda one: one.day):
        year, week, _ = entry.day.isocalendar()
        totals[year, week] = totals.get((year, week), 0) + entry.minutes
    return totals


def invoice(entries: Iterable[Entry], rates: Mapping[str, Decimal], step: int = 0) -> list[InvoiceLine]:
    """A line for each project with what it costs."""
    return [
        InvoiceLine(project, minutes, amount(minutes, rate_of(project, rates)))
        for project, minutes in total_by_project(entries, step).items()
    ]


def render(lines: Iterable[InvoiceLine]) -> str:
    """The invoice as text, with its sum in the last line."""
    shown = list(lines)
    width = max((len(line.project) for line in shown), default=5)
    rows = [f"{line.project:<{width}}  {format_duration(line.minutes):>8}  {line.amount:>10}" for line in shown]
    total = sum((line.amount for line in shown), Decimal("0.00"))
    rows.append(f"{'total':<{width}}  {format_duration(sum(line.minutes for line in shown)):>8}  {total:>10}")
    return "\n".join(rows)
