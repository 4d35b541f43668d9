"""A failed pipeline, repaired: the tests of a small repository fail in a CI job, whose log is all that tcoder is told.

    python demos/pipeline.py [--model local/qwen2.5-coder-1.5b] [--base-url URL] [--keep]

What stands in the log: two thousand lines of other steps, the stamps of the CI system, colours, and the failure in the
midst of it. tcoder writes a patch and a summary for the job's page; whether the patch is committed is the workflow's
business, which is played here by `git apply` in a fresh clone and a run of the tests there.
"""

import argparse
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from run import ensure_weights, git, make_repository  # found through the path above

TASK = "The pipeline failed. Repair the cause so that the failing tests pass."
STAMP = "2026-11-30T10:{minute:02}:{second:02}.1234567Z "


def run_tests(root: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pytest", "--color=yes", "-p", "no:cacheprovider"]
    return subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)


def job_log(tests: str) -> Iterator[str]:
    """The lines of a job of GitHub: other steps, the tests, and what follows them."""
    yield "##[group]Run actions/checkout@v4"
    yield from (f"Downloading wheel-{number}.whl ({number} kB), 0 errors" for number in range(1000))
    yield "##[endgroup]"
    yield "##[group]Run python -m pytest"
    yield from tests.splitlines()
    yield "##[error]Process completed with exit code 1."
    yield from (f"\x1b[2mPost job: removing container layer {number}\x1b[0m" for number in range(1000))


def write_log(path: Path, tests: str) -> None:
    with path.open("w", encoding="utf-8") as file:
        for number, line in enumerate(job_log(tests)):
            file.write(STAMP.format(minute=number // 60 % 60, second=number % 60) + line + "\n")


def applies_and_passes(original: Path, patch: Path, folder: Path) -> bool:
    """What a workflow would do next: the patch on a fresh clone, and the tests there."""
    git(original, "clone", "--quiet", ".", str(folder))
    git(folder, "apply", str(patch))
    return run_tests(folder).returncode == 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="local/qwen2.5-coder-1.5b")
    parser.add_argument("--base-url", default="")
    parser.add_argument("--keep", action="store_true", help="leave the files where they are")
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="tcoder-pipeline-"))
    root, log, patch, summary = (folder / name for name in ("repository", "job.log", "fix.patch", "summary.md"))
    try:
        if not options.base_url:
            ensure_weights(options.model)
        make_repository("timesheet", root)
        write_log(log, run_tests(root).stdout)
        command = [sys.executable, "-m", "tcoder", "--task", TASK, "--log", str(log), "-C", str(root)]
        command += ["--patch-out", str(patch), "--summary-out", str(summary), "--model", options.model]
        command += ["--base-url", options.base_url] if options.base_url else []
        print(f"$ tcoder --task {TASK!r} --log job.log --patch-out fix.patch --summary-out summary.md\n", flush=True)
        code = subprocess.run(command, check=False).returncode
        print(f"\n{summary.read_text(encoding='utf-8') if summary.exists() else '(no summary)'}")
        proven = code == 0 and applies_and_passes(root, patch, folder / "clone")
        print(
            f"tcoder ended with exit code {code}; in a fresh clone the patch {'holds' if proven else 'does not hold'}"
        )
        return 0 if proven else code or 1
    finally:
        if options.keep:
            print(f"the files are in {folder}")
        else:
            shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
