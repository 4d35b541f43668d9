"""Seconds and memory to find the failure in a large log of a pipeline: GitHub's format, colours, 50 MB.

.venv/bin/python tests/bench/ci/log.py [--megabytes 50]
"""

import argparse
import resource
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[3]))

from tcoder.agent import ci_log

STAMP = "2026-11-30T10:00:00.1234567Z "
NOISE = (
    "Downloading package-{number} (12.3 MB)",
    "\x1b[32mPASSED\x1b[0m tests/test_part_{number}.py::test_case[{number}] \x1b[2m[ 12%]\x1b[0m",
    "warning: unused variable `x{number}`, 0 errors so far, see src/module_{number}.rs:12:5 for more",
    "##[group]Step {number}",
)
FAILURE = (
    "\x1b[31m______ test_hue ______\x1b[0m",
    ">       assert hue(1, 0, 0) == 0",
    "E       assert 60 == 0",
    "tests/test_hue.py:7: AssertionError",
)


def write(path: Path, size: int) -> None:
    """A log of `size` bytes with one failure in its middle."""
    with path.open("w", encoding="utf-8") as file:
        number, written = 0, 0
        while written < size:
            lines = [STAMP + text.format(number=number + at) + "\n" for at, text in enumerate(NOISE * 100)]
            if written <= size // 2 < written + sum(map(len, lines)):
                lines += [STAMP + text + "\n" for text in FAILURE]
            written += file.write("".join(lines))
            number += len(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--megabytes", type=int, default=50)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "log.txt"
        write(path, options.megabytes * 1_000_000)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        began, cpu = time.monotonic(), time.process_time()
        with path.open("rb") as file:
            found = ci_log.excerpt(file)
        seconds, used = time.monotonic() - began, time.process_time() - cpu
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        assert "assert 60 == 0" in found.text
        print(f"{found.lines} lines, {options.megabytes} MB: {seconds:.2f} s wall, {used:.2f} s CPU")
        print(f"peak {peak:.0f} MB ({before:.0f} MB before the log was opened)")


if __name__ == "__main__":
    main()
