"""The main job, live: a small repository with a bug is copied to a temporary folder, and tcoder repairs it.

    python demos/run.py [--model local/qwen2.5-coder-1.5b] [--base-url URL] [--demo timesheet] [--keep]

The default model runs on this machine without a key; its weights (1.1 GB) are fetched once.
"""

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
TASK = "Some tests fail. Find the bug and make the failing tests pass."
IDENTITY = {
    "user.name": "Demo",
    "user.email": "demo@example.org",
    "commit.gpgsign": "false",
    "init.defaultBranch": "main",
}


def git(root: Path, *arguments: str) -> str:
    options = [option for key, value in IDENTITY.items() for option in ("-c", f"{key}={value}")]
    return subprocess.run(["git", *options, *arguments], cwd=root, check=True, capture_output=True, text=True).stdout


def make_repository(name: str, root: Path) -> None:
    """The demo's files at `root`, with the history that `history.json` tells: commits in order, each with its files."""
    shutil.copytree(HERE / name / "repository", root, ignore=shutil.ignore_patterns("__pycache__", ".pytest_cache"))
    git(root, "init", "--quiet")
    for commit in json.loads((HERE / name / "history.json").read_text(encoding="utf-8")):
        git(root, "add", "--", *commit["files"])
        git(root, "commit", "--quiet", "--message", commit["message"], "--date", commit["date"])


def ensure_weights(model: str) -> None:
    """Fetch the weights of a local model when they are not there yet; tcoder shows how far it is."""
    if model.startswith("local/"):
        subprocess.run([sys.executable, "-m", "tcoder", "models", "pull", model], check=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="local/qwen2.5-coder-1.5b")
    parser.add_argument("--base-url", default="")
    parser.add_argument(
        "--demo", default="timesheet", choices=sorted(path.parent.name for path in HERE.glob("*/history.json"))
    )
    parser.add_argument("--keep", action="store_true", help="leave the repository where it is")
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="tcoder-demo-"))
    root = folder / options.demo
    try:
        if not options.base_url:
            ensure_weights(options.model)
        make_repository(options.demo, root)
        command = [sys.executable, "-m", "tcoder", "--task", TASK, "-C", str(root), "--model", options.model]
        command += ["--base-url", options.base_url] if options.base_url else []
        print(f"$ tcoder --task {TASK!r} -C {root} --model {options.model}\n", flush=True)
        code = subprocess.run(command, check=False).returncode
        print(f"\n$ git -C {root} diff\n{git(root, 'diff') or '(nothing was changed)'}")
        print(f"tcoder ended with exit code {code}: {'the tests pass' if code == 0 else 'the bug is not repaired'}")
        return code
    finally:
        if options.keep:
            print(f"the repository is in {root}")
        else:
            shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
