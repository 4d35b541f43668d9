"""What the ledger costs: `python tests/bench/ledger/bench_ledger.py [FILES …]` (default 2000 50000).

Prints medians and 95th percentiles in milliseconds. Figures aimed at: a checkpoint with one dirty file 40 ms in 2,000
files and 250 ms in 50,000; undo 100 ms; edit of a 1 MB file 20 ms; 1,000 patches listed in 100 ms; the review of 2,000
changed lines in 30 files 50 ms.
"""

import asyncio
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from tcoder.protocol.edits import Cause, Replace
from tcoder.workspace.files.files import WorkspaceFiles
from tcoder.workspace.ledger.ledger import Ledger
from tcoder.workspace.patching.engine import apply_edits

PER_FOLDER = 20
CALM_S = 0.03  # so that a write is older than the clock's grain, as it is between two calls of a model


def make_repository(root: Path, files: int) -> None:
    for number in range(files):
        folder = root / f"package{number // PER_FOLDER // 10:03}" / f"module{number // PER_FOLDER:04}"
        folder.mkdir(parents=True, exist_ok=True)
        lines = "".join(f"def f{line}():\n    return {number * line}\n" for line in range(10))
        (folder / f"file{number:05}.py").write_text(f"# file {number}\n{lines}")
    (root / ".gitignore").write_text("__pycache__/\n*.log\n")
    git = ["git", "-c", "user.name=x", "-c", "user.email=x@localhost", "-c", "gc.auto=0"]
    for arguments in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "start"]):
        subprocess.run([*git, *arguments], cwd=root, check=True)


def show(name: str, values: list[float], aim: float | None = None) -> None:
    ordered = sorted(values)
    p95 = ordered[min(len(ordered) - 1, int(len(ordered) * 0.95))]
    goal = f"   (aim {aim:g})" if aim else ""
    print(f"  {name:44} {statistics.median(values):8.1f} {p95:8.1f}{goal}", flush=True)


async def timed(action: Callable[[], Awaitable[object]], before: Callable[[int], None], runs: int) -> list[float]:
    values: list[float] = []
    for run in range(runs):
        before(run)
        await asyncio.sleep(CALM_S)
        start = time.perf_counter()
        await action()
        values.append((time.perf_counter() - start) * 1000)
    return values


async def measure(root: Path, state: Path, files: int) -> None:
    start = time.perf_counter()
    ledger = await Ledger.open(root, state, "bench")
    print(f"{files} files: opened in {(time.perf_counter() - start) * 1000:.0f} ms")
    target = root / "package000" / "module0000" / "file00000.py"
    big = files > 10_000

    def dirty(run: int) -> None:
        target.write_text(f"# {run} {time.time()}\n")

    def fresh(run: int) -> None:
        (root / "package000" / f"new{run}.py").write_text(f"{run}\n")

    cause = Cause("edit", "bench")
    runs = 10 if big else 30
    show("checkpoint, nothing changed", await timed(lambda: ledger.checkpoint(cause), lambda _: None, runs))
    show("checkpoint, one dirty file", await timed(lambda: ledger.checkpoint(cause), dirty, runs), 250 if big else 40)
    show("checkpoint, one new file", await timed(lambda: ledger.checkpoint(cause), fresh, runs))
    await ledger.record(cause)
    show("record of one dirty file, with its diff", await timed(lambda: ledger.record(cause), dirty, runs))
    undo: list[float] = []
    redo: list[float] = []
    for _ in range(8):
        undo += await timed(ledger.undo, lambda _: None, 1)
        redo += await timed(ledger.redo, lambda _: None, 1)
    show("undo", undo, None if big else 100)
    show("redo", redo)
    await ledger.close()


async def measure_many(root: Path, state: Path) -> None:
    ledger = await Ledger.open(root, state, "many")
    start = time.perf_counter()
    for number in range(1000):
        (root / "counter.txt").write_text(f"{number} {time.time()}\n")
        await ledger.record(Cause("edit", f"step {number}"))
    print(f"1,000 patches recorded in {time.perf_counter() - start:.1f} s")
    show("1,000 patches listed", await timed(_listed(ledger), lambda _: None, 5), 100)
    await ledger.close()
    start = time.perf_counter()
    ledger = await Ledger.open(root, state, "many")
    print(f"  opened again in {(time.perf_counter() - start) * 1000:.0f} ms, {len(ledger.patches)} patches")
    await ledger.close()


def _listed(ledger: Ledger) -> Callable[[], Awaitable[object]]:
    async def listed() -> object:
        return ledger.timeline()

    return listed


def measure_edit(root: Path) -> None:
    place = root / "big.py"
    place.write_text("".join(f"value_{number} = {number} * 2  # some text\n" for number in range(26_000)))
    files = WorkspaceFiles(root)
    values: list[float] = []
    for run in range(20):
        old, new = ("value_13000 = ", "changed = ") if run % 2 == 0 else ("changed = ", "value_13000 = ")
        start = time.perf_counter()
        read = files.read("big.py")
        result = apply_edits((Replace("big.py", old, new),), lambda _, read=read: read)
        files.commit_writes(result, {read.path: read.digest})
        values.append((time.perf_counter() - start) * 1000)
    print(f"edit of a file of {place.stat().st_size / 1e6:.2f} MB")
    show("read, replace, diff, write, fsync", values, 20)
    place.unlink()


def main() -> None:
    sizes = [int(argument) for argument in sys.argv[1:]] or [2_000, 50_000]
    for files in sizes:
        with tempfile.TemporaryDirectory(prefix="bench-ledger-") as folder:
            root, state = Path(folder, "repository"), Path(folder, "state")
            root.mkdir()
            make_repository(root, files)
            asyncio.run(measure(root, state, files))
            if files == sizes[0]:
                measure_edit(root)
                asyncio.run(measure_many(root, state))


if __name__ == "__main__":
    main()
