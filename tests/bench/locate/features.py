"""Features of every task's candidates, written once so that fitting and experiments need no index.

    LOCATE_REPOSITORIES=… python tests/bench/locate/features.py OUT.jsonl [--repos a/b,c/d]

A line has the task's instance, its candidates (the best of the first order, others, then gold files that are not among
these: the first `reachable` are what an answer can have) and the value of each feature for each candidate, the
functions in the order that locate gives, and the seconds of CPU of both.
"""

import argparse
import json
import os
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import tasks as corpus

from tcoder.index import locating, ranking
from tcoder.index.engine import Engine
from tcoder.index.languages import language_of
from tcoder.index.query import parse
from tcoder.index.worker import Job, run

KEPT, EXTRA = 150, 30


def bring_up_to_date(engine: Engine) -> None:
    engine.sweep()
    queue = sorted(engine.pending)
    for at in range(0, len(queue), 200):
        batch = queue[at : at + 200]
        engine.integrate(run(Job(str(engine.root), tuple((path, language_of(path)) for path in batch)), lambda _: None))
        engine.give_up(batch)
    engine.save()
    missing = engine.missing_past()
    engine.recall(missing, missing.read())


def row(engine: Engine, task: corpus.Task) -> dict:
    began = time.process_time()
    query = parse(task.text)
    found = locating.candidates(engine, query)
    first = ranking.order(found.features, ranking.weights().first, ranking.CANDIDATES)
    _, symbols = locating.locate(engine, task.text, 40)
    seconds = time.process_time() - began
    pool = dict.fromkeys([path for path, _ in first if corpus.counts(path)][:KEPT])
    others = dict.fromkeys(path for values in found.features.values() for path in values if corpus.counts(path))
    names = [*pool, *(path for path in others if path not in pool)][: KEPT + EXTRA]
    known = [path for path in task.files if path in engine.entries and path not in names]
    features = {
        name: [round(values.get(path, 0.0), 4) for path in [*names, *known]] for name, values in found.features.items()
    }
    functions = list(dict.fromkeys(f"{hit.path}::{hit.name.rpartition('.')[2]}" for hit in symbols))
    return {
        "instance": task.instance,
        "candidates": [*names, *known],
        "reachable": len(names),
        "features": features,
        "functions": functions,
        "seconds": seconds,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--repos", default="")
    options = parser.parse_args()
    os.nice(5)
    chosen = corpus.load(options.repos)
    with options.out.open("w") as out:
        for repo in dict.fromkeys(task.repo for task in chosen):
            engine = None
            began = time.perf_counter()
            for task in (task for task in chosen if task.repo == repo):
                tree = corpus.checkout(repo, task.base_commit)
                engine = engine or Engine(tree, corpus.WORK / "cache")
                bring_up_to_date(engine)
                out.write(json.dumps(row(engine, task)) + "\n")
            if engine:
                print(f"{repo} {time.perf_counter() - began:.0f} s {len(engine.entries)} files", file=sys.stderr)
                engine.close()


if __name__ == "__main__":
    main()
