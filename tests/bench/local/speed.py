"""How fast local models are here: `python tests/bench/local/speed.py [MODEL…] [--rounds N] [--policies]`.

For each model whose weights are there: seconds to load, prompt and generation tokens per second for each pair of
thread counts that the engine would try, median and best of N rounds (alternating, so that a busy moment hits all of
them), and peak memory. `--policies` compares how waiting threads behave: `brief` spins for some microseconds (what
tcoder uses), `passive` sleeps at once, `active` spins on (the library's own).
"""

import argparse
import asyncio
import json
import os
import resource
import statistics
import subprocess
import sys
import time
from pathlib import Path

from tcoder.models.local.engine_machine import usable_cores
from tcoder.models.local.engine_threads import counts_to_try
from tcoder.models.local.weights import list_weights, require

POLICIES = {
    "passive": {"OMP_WAIT_POLICY": "PASSIVE"},
    "brief": {"GOMP_SPINCOUNT": "20000"},
    "active": {},
}
CONTEXT = 8192


def measure(model: str, path: str, threads: int) -> dict[str, float]:
    """One load and one measurement in this process."""
    from tcoder.models.local.engine_llama import Llama
    from tcoder.models.local.engine_threads import Threads

    llama = Llama(Path(path), model, CONTEXT, "key")
    begun = time.monotonic()
    llama.load(Threads(threads, threads))
    loaded = time.monotonic()
    speed = llama.measure()
    llama.unload()
    return {
        "load_s": loaded - begun,
        "measure_s": time.monotonic() - loaded,
        "prompt": speed.prompt,
        "generation": speed.generation,
        "memory_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


def in_child(model: str, path: Path, threads: int, policy: str) -> dict[str, float]:
    command = [sys.executable, __file__, model, "--child", str(path), "--threads", str(threads)]
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("OMP_", "GOMP_"))}
    done = subprocess.run(
        command, env=environment | POLICIES[policy], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True
    )
    return json.loads(done.stdout)


def main() -> None:
    parser = argparse.ArgumentParser(description="measure local models")
    parser.add_argument("models", nargs="*")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--policies", action="store_true")
    parser.add_argument("--child")
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    if options.child:
        print(json.dumps(measure(options.models[0], options.child, options.threads)))
        return
    models = options.models or [status.id for status in list_weights() if status.verified]
    policies = tuple(POLICIES) if options.policies else ("passive",)
    for model in models:
        path = asyncio.run(require(model))
        cases = [(policy, threads) for policy in policies for threads in counts_to_try(usable_cores())]
        found: dict[tuple[str, int], list[dict[str, float]]] = {case: [] for case in cases}
        for _ in range(options.rounds):
            for case in cases:
                found[case].append(in_child(model, path, case[1], case[0]))
        print(f"{model}  (load average {os.getloadavg()[0]:.1f} on {usable_cores()} cores)")
        print("  waiting  threads   prompt/s median best   generation/s median best   load s   measure s   peak MB")
        for (policy, threads), results in found.items():
            prompt, generation = ([r[name] for r in results] for name in ("prompt", "generation"))
            middle = {
                name: statistics.median(r[name] for r in results) for name in ("load_s", "measure_s", "memory_mb")
            }
            print(
                f"  {policy:8} {threads:6}   {statistics.median(prompt):13.0f} {max(prompt):7.0f}"
                f"   {statistics.median(generation):17.1f} {max(generation):6.1f}"
                f"   {middle['load_s']:6.1f}   {middle['measure_s']:9.1f}   {middle['memory_mb']:7.0f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
