"""What a review costs: `python tests/bench/ledger/bench_review.py`. Aim: 50 ms for 2,000 changed lines in 30 files."""

import asyncio
import subprocess
import tempfile
import time
from pathlib import Path

from bench_ledger import make_repository, show

from tcoder.protocol.edits import Cause
from tcoder.workspace.ledger.ledger import Ledger
from tcoder.workspace.review import load as review_load
from tcoder.workspace.review import model as review

FILES, LINES = 30, 700
BLOCK, EVERY = 5, 50  # lines changed together, and how often


async def measure(root: Path, state: Path) -> None:
    for number in range(FILES):
        lines = "".join(f"value_{line} = {line}\n" for line in range(LINES))
        (root / f"file{number}.py").write_text(lines)
    subprocess.run(["git", "add", "-A"], cwd=root, check=True)
    identity = ["-c", "user.name=x", "-c", "user.email=x@localhost"]
    subprocess.run(["git", *identity, "commit", "-qm", "files"], cwd=root, check=True)
    ledger = await Ledger.open(root, state, "review")
    await ledger.checkpoint(Cause("checkpoint", "start"))
    for number in range(FILES):
        place = root / f"file{number}.py"
        lines = place.read_text().splitlines(keepends=True)
        for start in range(0, LINES, EVERY):
            lines[start : start + BLOCK] = [f"changed_{start + line} = {number}\n" for line in range(BLOCK)]
        place.write_text("".join(lines))
    await ledger.record(Cause("edit", "edit"))
    load: list[float] = []
    decide: list[float] = []
    for _ in range(15):
        start = time.perf_counter()
        found = await review_load.load(ledger)
        middle = time.perf_counter()
        review.accept(found, [hunk.id for hunk in found.hunks])
        load.append((middle - start) * 1000)
        decide.append((time.perf_counter() - middle) * 1000)
    changed = sum(hunk.insertions for hunk in found.hunks)
    print(f"review of {len(found.files)} files, {len(found.hunks)} hunks, {changed} lines changed")
    show("loaded from the ledger", load, 50)
    show("all accepted", decide)
    await ledger.close()


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="bench-review-") as folder:
        root = Path(folder, "repository")
        root.mkdir()
        make_repository(root, 500)
        asyncio.run(measure(root, Path(folder, "state")))


if __name__ == "__main__":
    main()
