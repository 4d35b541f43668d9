"""How well the index locates, through the interface that everybody uses.

    LOCATE_REPOSITORIES=… python tests/bench/locate/measure.py [--repos a/b,c/d] [--limit N] [--out FILE]

Prints files and functions by language and overall, and seconds per task (update of the index, then the question). The
weights that ship were fitted on these very tasks: figures for other repositories are those of `fit.py`.
"""

import argparse
import asyncio
import json
import statistics
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import metrics
import tasks as corpus

from tcoder.index import Index


async def answer(index: Index, task: corpus.Task) -> dict[str, object]:
    began = time.perf_counter()
    await index.refresh()
    updated = time.perf_counter()
    found = await index.locate(task.text, limit=60)
    asked = time.perf_counter()
    return {
        "instance": task.instance,
        "files": [hit.path for hit in found.files],
        "functions": [f"{hit.path}::{hit.name.rpartition('.')[2]}" for hit in found.symbols],
        "update_s": updated - began,
        "query_s": asked - updated,
    }


async def run(chosen: list[corpus.Task]) -> list[dict[str, object]]:
    answers: list[dict[str, object]] = []
    for repo in dict.fromkeys(task.repo for task in chosen):
        index: Index | None = None
        for task in (task for task in chosen if task.repo == repo):
            tree = corpus.checkout(repo, task.base_commit)
            index = index or Index.open(tree, corpus.WORK / "cache")
            answers.append(await answer(index, task))
        if index is not None:
            await index.close()
    return answers


def report(chosen: list[corpus.Task], answers: list[dict[str, object]]) -> str:
    by_instance = {given["instance"]: given for given in answers}
    tables: list[str] = []
    for kind in ("files", "functions"):
        rows: list[tuple[str, dict[str, float]]] = []
        for task in chosen:
            gold = task.files if kind == "files" else task.functions
            given = list(dict.fromkeys(by_instance[task.instance][kind]))
            ranked = [item for item in given if corpus.counts(item.partition("::")[0])]
            if gold:
                rows.append((task.lang, metrics.of_one(ranked, gold)))
        tables.append(f"{kind}\n\n{metrics.table([('all', row) for _, row in rows] + rows)}")
    seconds = [float(given["query_s"]) for given in answers]
    tables.append(f"seconds per question: median {statistics.median(seconds):.3f}, most {max(seconds):.3f}")
    return "\n\n".join(tables)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repos", default="")
    parser.add_argument("--limit", type=int, default=0)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    chosen = corpus.load(options.repos, options.limit)
    answers = asyncio.run(run(chosen))
    if options.out:
        options.out.write_text("".join(json.dumps(given) + "\n" for given in answers), "utf-8")
    print(report(chosen, answers))


if __name__ == "__main__":
    main()
