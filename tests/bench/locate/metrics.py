"""How good a ranking is. Pure."""

import statistics
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

DEPTHS = (1, 3, 5, 10)
COLUMNS = ("hit@1", "r@1", "r@3", "r@5", "r@10", "mrr", "all@10")


def of_one(ranked: Sequence[str], gold: Iterable[str]) -> dict[str, float]:
    """Recall at some depths, whether the first is right, the reciprocal rank of the first right one, and whether all
    of the gold is among the first ten."""
    wanted = set(gold)
    found = [place for place, item in enumerate(ranked) if item in wanted]
    figures = {f"r@{depth}": sum(place < depth for place in found) / len(wanted) for depth in DEPTHS}
    figures["hit@1"] = float(bool(found) and found[0] == 0)
    figures["mrr"] = 1 / (found[0] + 1) if found else 0.0
    figures["all@10"] = float(sum(place < 10 for place in found) == len(wanted))
    return figures


def mean(rows: Sequence[Mapping[str, float]]) -> dict[str, float]:
    return {column: statistics.fmean(row[column] for row in rows) for column in COLUMNS} if rows else {}


def table(rows: Sequence[tuple[str, Mapping[str, float]]]) -> str:
    """Means by group as a Markdown table; a row's groups are given one by one."""
    groups: defaultdict[str, list[Mapping[str, float]]] = defaultdict(list)
    for group, row in rows:
        groups[group].append(row)
    lines = ["| group | n | " + " | ".join(COLUMNS) + " |", "|" + "---|" * (len(COLUMNS) + 2)]
    for group, members in groups.items():
        figures = mean(members)
        cells = " | ".join(f"{figures[column]:.3f}" for column in COLUMNS)
        lines.append(f"| {group} | {len(members)} | {cells} |")
    return "\n".join(lines)
