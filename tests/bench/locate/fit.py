"""Fit the ranking's weights, and say how good they are on repositories that they were not fitted on.

    python tests/bench/locate/fit.py FEATURES.jsonl [--write]

Reads what `features.py` wrote. The loss is the listwise cross entropy of each gold file against all candidates that
are not gold, with a penalty on large weights; weights are never negative. Every figure in the table is from
cross-validation that leaves one repository out at a time. `--write` fits on everything and writes
`tcoder/index/weights.json`.
"""

import argparse
import json
import math
import sys
from dataclasses import dataclass
from operator import mul
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import metrics
import tasks as corpus

from tcoder.index import ranking
from tcoder.index.languages import role_of

STEPS = 240
RATE = 0.25
PENALTY = 0.05
DEEPEST = 90


@dataclass(frozen=True)
class Example:
    """A task's candidates with their features (values, then places), each times the factor of the file's role; the
    first `reachable` of them are what an answer can have."""

    task: corpus.Task
    paths: list[str]
    gold: list[bool]
    rows: list[list[float]]
    reachable: int


def load(file: Path, names: list[str]) -> list[Example]:
    by_instance = {task.instance: task for task in corpus.load()}
    examples: list[Example] = []
    for line in file.read_text("utf-8").splitlines():
        found = json.loads(line)
        task, paths = by_instance[found["instance"]], found["candidates"]
        columns: list[list[float]] = []
        for name in names:
            values = {path: value for path, value in zip(paths, found["features"][name], strict=True) if value > 0}
            placed = ranking.places(values)
            columns += [[values.get(path, 0.0) for path in paths], [placed.get(path, 0.0) for path in paths]]
        factors = [ranking.ROLE_FACTORS[role_of(path)] for path in paths]
        rows = [[column[at] * factors[at] for column in columns] for at in range(len(paths))]
        gold = [path in task.files for path in paths]
        examples.append(Example(task, paths, gold, rows, found["reachable"]))
    return examples


def fit(examples: list[Example]) -> list[float]:
    """Weights by Adam from equal ones. Deterministic."""
    size = len(examples[0].rows[0])
    weights, mean, square = [1.0] * size, [0.0] * size, [0.0] * size
    usable = [shorten(example) for example in examples if any(example.gold) and not all(example.gold)]
    for step in range(1, STEPS + 1):
        slope = [PENALTY * weight for weight in weights]
        for example in usable:
            descend(example, weights, slope, 1 / len(usable))
        rate = RATE * (1.0 if step < 0.6 * STEPS else 0.25)
        for at in range(size):
            mean[at] = 0.9 * mean[at] + 0.1 * slope[at]
            square[at] = 0.99 * square[at] + 0.01 * slope[at] ** 2
            change = (mean[at] / (1 - 0.9**step)) / (math.sqrt(square[at] / (1 - 0.99**step)) + 1e-8)
            weights[at] = max(weights[at] - rate * change, 0.0)
    return weights


def shorten(example: Example) -> Example:
    """The gold and the first other candidates: the rest has no weight in the loss."""
    kept = [at for at in range(len(example.paths)) if at < DEEPEST or example.gold[at]]
    return Example(
        example.task,
        [example.paths[at] for at in kept],
        [example.gold[at] for at in kept],
        [example.rows[at] for at in kept],
        len(kept),
    )


def descend(example: Example, weights: list[float], slope: list[float], share: float) -> None:
    """Add the slope of one example's loss."""
    scores = [sum(map(mul, weights, row)) for row in example.rows]
    top = max(scores)
    odds = [math.exp(score - top) for score in scores]
    others = sum(odd for odd, gold in zip(odds, example.gold, strict=True) if not gold)
    golds = [odd for odd, gold in zip(odds, example.gold, strict=True) if gold]
    pull = sum(1 / (others + odd) for odd in golds) / len(golds)
    for odd, gold, row in zip(odds, example.gold, example.rows, strict=True):
        factor = share * ((odd / (others + odd) - 1) / len(golds) if gold else odd * pull)
        if abs(factor) > 1e-9:
            for at, value in enumerate(row):
                if value:
                    slope[at] += factor * value


def judge(example: Example, weights: list[float]) -> dict[str, float]:
    scores = [sum(map(mul, weights, row)) for row in example.rows[: example.reachable]]
    ranked = sorted(range(len(scores)), key=lambda at: (-scores[at], example.paths[at]))
    return metrics.of_one([example.paths[at] for at in ranked if corpus.counts(example.paths[at])], example.task.files)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("features", type=Path)
    parser.add_argument("--names", default=",".join(FEATURES), help="features to use")
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    names = options.names.split(",")
    examples = load(options.features, names)
    rows: list[tuple[str, dict[str, float]]] = []
    for repo in dict.fromkeys(example.task.repo for example in examples):
        weights = fit([example for example in examples if example.task.repo != repo])
        rows += [(repo, judge(example, weights)) for example in examples if example.task.repo == repo]
    print(metrics.table([("all", row) for _, row in rows] + rows))
    if options.write:
        final = fit(examples)
        fitted = {
            "fitted_on": f"{len(examples)} tasks of {len({example.task.repo for example in examples})} repositories "
            "(tests/bench/locate/data), by tests/bench/locate/fit.py",
            "first": ranking.weights().first,
            "values": {name: round(final[2 * at], 3) for at, name in enumerate(names) if final[2 * at] >= 0.005},
            "ranks": {name: round(final[2 * at + 1], 3) for at, name in enumerate(names) if final[2 * at + 1] >= 0.005},
        }
        target = Path(ranking.__file__).with_name("weights.json")
        target.write_text(json.dumps(fitted, indent=2) + "\n", "utf-8")


FEATURES = (
    "symbol",
    "best",
    "file",
    "name",
    "defines",
    "exact",
    "path",
    "stem",
    "mention",
    "frame",
    "messages",
    "fixes",
    "tests",
    "title symbol",
    "title best",
    "title file",
    "title name",
    "coded symbol",
    "coded best",
    "coded file",
    "coded name",
    "together",
    "folder",
)

if __name__ == "__main__":
    main()
