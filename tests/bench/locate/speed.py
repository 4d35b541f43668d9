"""How fast the index is, and how large.

    python tests/bench/locate/speed.py ROOT [--questions N]

Works on the folder as it is, with a cache of its own; one file is changed and restored. Times are wall clock.
"""

import argparse
import asyncio
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import tasks as corpus

from tcoder.index import Index
from tcoder.index.building import WORKERS
from tcoder.index.listing import list_files

BARE = """
import sys
from pathlib import Path
from tcoder.index.grammars import query_text, _grammar
from tcoder.index.languages import language_of
from tcoder.index.tags import unfit
root, part = Path(sys.argv[1]), int(sys.argv[2])
for path in sys.stdin.read().split("\\0")[part::2]:
    language = language_of(path)
    if language not in ("text", "notebook") and query_text(language):
        data = (root / path).read_bytes()
        if not unfit(data):
            _grammar(language)[0].parse(data)
"""


def bare_parse(root: Path) -> float:
    """Seconds of a bare tree-sitter parse of the same files in as many processes, their start and reading included."""
    listed = "\0".join(sorted(list_files(root).files)).encode()
    began = time.perf_counter()
    running = [
        subprocess.Popen([sys.executable, "-c", BARE, str(root), str(part)], stdin=subprocess.PIPE)
        for part in range(WORKERS)
    ]
    for process in running:
        assert process.stdin is not None
        process.stdin.write(listed)
        process.stdin.close()
    for process in running:
        process.wait()
    return time.perf_counter() - began


def peak(who: int) -> str:
    return f"{resource.getrusage(who).ru_maxrss / 1024:.0f} MB"


async def run(root: Path, questions: int, cache: Path) -> list[tuple[str, str]]:
    rows: list[tuple[str, str]] = []
    texts = [task.text for task in corpus.load()][:: max(151 // questions, 1)][:questions]
    began = time.perf_counter()
    index = Index.open(root, cache)
    rows.append(("open", f"{(time.perf_counter() - began) * 1000:.2f} ms"))
    found = await index.locate(texts[0])
    rows.append(("first answer, cold", f"{time.perf_counter() - began:.2f} s, {found.index.complete:.0%} parsed"))
    await index.refresh()
    report = await index.build()
    rows.append(("whole index", f"{time.perf_counter() - began:.2f} s, {report.files} files, {report.symbols} symbols"))
    again = Index.open(root, cache / "again")
    began = time.perf_counter()
    await again.build()
    whole = time.perf_counter() - began
    await again.close()
    bare = bare_parse(root)
    rows.append(("whole index without a question", f"{whole:.2f} s, {whole / bare:.1f} x a bare parse ({bare:.2f} s)"))
    source = sum(found.size for found in list_files(root).files.values())
    rows.append(("disk", f"{report.bytes / 1e6:.1f} MB, {report.bytes / source:.2f} x the source"))
    asked: list[float] = []
    for text in texts:
        began = time.perf_counter()
        await index.locate(text)
        asked.append((time.perf_counter() - began) * 1000)
    asked.sort()
    rows.append(("warm question", f"p50 {statistics.median(asked):.0f} ms, p95 {asked[int(len(asked) * 0.95)]:.0f} ms"))
    path = next(hit.path for hit in found.files)
    before = (root / path).read_bytes()
    times: list[float] = []
    for number in range(5):
        (root / path).write_bytes(before + b"\n" * (number + 1))
        began = time.perf_counter()
        await index.changed([path])
        await index.locate("brand new thing")
        times.append((time.perf_counter() - began) * 1000)
    (root / path).write_bytes(before)
    await index.changed([path])
    rows.append(("one file changed, then a question", f"{statistics.median(times):.0f} ms ({path})"))
    began = time.perf_counter()
    for fragment in ("mod", "test_", "qry", "admin/opt"):
        await index.files_matching(fragment)
    rows.append(("path completion", f"{(time.perf_counter() - began) * 250:.0f} ms"))
    began = time.perf_counter()
    text = await index.outline(budget_tokens=400)
    rows.append(("outline of 400 tokens", f"{(time.perf_counter() - began) * 1000:.0f} ms, {len(text)} characters"))
    began = time.perf_counter()
    tests = await index.related_tests([path])
    rows.append(("tests of a file", f"{(time.perf_counter() - began) * 1000:.0f} ms, {len(tests)} of {path}"))
    await index.close()
    began = time.perf_counter()
    again = Index.open(root, cache)
    await again.locate(texts[-1])
    rows.append(("first answer of a second start", f"{(time.perf_counter() - began) * 1000:.0f} ms"))
    await again.close()
    rows.append(
        ("peak memory", f"{peak(resource.RUSAGE_SELF)} here, {peak(resource.RUSAGE_CHILDREN)} in the largest child")
    )
    rows.append(("load when it ended", f"{os.getloadavg()[0]:.1f}"))
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("root", type=Path)
    parser.add_argument("--questions", type=int, default=30)
    options = parser.parse_args()
    cache = Path(tempfile.mkdtemp(prefix="index-speed-"))
    try:
        for name, figure in asyncio.run(run(options.root, options.questions, cache)):
            print(f"| {name} | {figure} |")
    finally:
        shutil.rmtree(cache)


if __name__ == "__main__":
    main()
