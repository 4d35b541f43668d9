"""What the harness costs: the real command line, sixty scripted steps, a server that measures.

    python tests/bench/loop/steps.py [read|edit|shell|mix] [--stream]

Prints one line of figures for each kind of step, and with --stream the CPU time of one streamed chunk. Nothing here is
a test: figures depend on the machine, so compare them within one run. Rows and their bars:

    first request   process start to the first model request                         <= 350 ms, aim 250
    per step        an answer is out until the next request is in (with the tool)    <= 20 ms, aim 8
    wall, CPU       the whole run                                                    <= 2 s, aim 1.2; <= 1.5 s, aim 0.8
    shutdown        the last answer is out until the process is gone                 <= 25 ms
    memory          peak resident size of the process                                <= 90 MB, aim 60
    prompts         bytes of all prompts of the run; the first one alone             <= 7.5 MB for 4 KB results; <= 6 KB
"""

import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))

from support.model_server import ModelServer, Step

STEPS = 60
FILES = 40


def call(name: str, **arguments: Any) -> Step:
    return {"calls": [{"name": name, "arguments": arguments}]}


def step(kind: str, number: int) -> Step:
    path = f"src/m{number % FILES}.py"
    match kind:
        case "read":
            return call("read", path=path, limit=110)
        case "search":
            return call("search", pattern="def f1", path=path)
        case "edit":
            return call("edit", path=path, old=f"return {number}  #", new=f"return {1000 + number}  #")
        case "shell":
            return call("shell", command=f"echo {number}")
        case _:
            return step(("read", "search", "edit", "shell")[number % 4], number)


def make_repository(folder: Path) -> None:
    (folder / "src").mkdir(parents=True)
    body = "".join(f"def f{n}():\n    return {n}  # a line of usual length\n" for n in range(64))
    for number in range(FILES):
        (folder / "src" / f"m{number}.py").write_text(body)
    for arguments in (
        ["init", "-q"],
        ["add", "-A"],
        ["-c", "user.name=b", "-c", "user.email=b@b", "commit", "-qm", "x"],
    ):
        subprocess.run(["git", *arguments], cwd=folder, check=True)


def run(steps: list[Step], folder: Path) -> tuple[ModelServer, float, float, Any]:
    with ModelServer(steps) as server:
        environment = {**os.environ, "TCODER_HOME": str(folder / "home")}
        command = [sys.executable, "-m", "tcoder", "--task", "improve the code", "--base-url", server.url, "-m", "x"]
        began = time.monotonic()
        process = subprocess.Popen(
            command, cwd=folder / "repo", env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        return server, began, time.monotonic(), used


def measure(kind: str) -> str:
    folder = Path(tempfile.mkdtemp(prefix="bench-"))
    try:
        make_repository(folder / "repo")
        server, began, ended, used = run([*(step(kind, n) for n in range(STEPS)), {"text": "done"}], folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    arrived = [seen.arrived for seen in server.requests]
    gaps = [1e3 * (after - before) for before, after in zip(server.finished, arrived[1:], strict=False)]
    sizes = [len(seen.raw) for seen in server.requests]
    median = statistics.median
    figures = (
        f"{kind:7} {len(arrived):3} requests",
        f"first {1e3 * (arrived[0] - began):4.0f} ms",
        f"per step {median(gaps):5.1f} ms (first ten {median(gaps[:10]):.1f}, last ten {median(gaps[-10:]):.1f})",
        f"wall {ended - began:.2f} s",
        f"CPU {used.ru_utime + used.ru_stime:.2f} s",
        f"memory {used.ru_maxrss // 1024} MB",
        f"shutdown {1e3 * (ended - server.finished[-1]):.0f} ms",
        f"prompts {sum(sizes) / 1e6:.2f} MB, first {sizes[0]} B",
    )
    return "  ".join(figures)


def measure_chunks() -> str:
    """CPU of one streamed chunk: a long answer against a short one."""
    folder = Path(tempfile.mkdtemp(prefix="bench-"))
    try:
        make_repository(folder / "repo")
        used: list[float] = []
        for count in (100, 20_100):
            text = "abc " * count
            *_, usage = run([{"text": text, "piece": 4}], folder)
            used.append(usage.ru_utime + usage.ru_stime)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return f"stream  {1e6 * (used[1] - used[0]) / 20_000:.0f} µs of CPU a chunk (bar 30)"


if __name__ == "__main__":
    kinds = [word for word in sys.argv[1:] if not word.startswith("-")] or ["mix", "read", "edit", "shell"]
    for name in kinds:
        print(measure(name), flush=True)
    if "--stream" in sys.argv or len(sys.argv) == 1:
        print(measure_chunks())
