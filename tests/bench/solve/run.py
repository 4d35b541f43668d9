"""How many tasks tcoder solves with a model: runs it as a person would, then runs the tests itself.

    .venv/bin/python tests/bench/solve/run.py --model local/qwen2.5-coder-1.5b [--part dev|held] [--only ID,ID]
    .venv/bin/python tests/bench/solve/run.py --model … --base-url http://127.0.0.1:8000/v1 --strategy agent

Each task is a package from the package index with one seeded bug (`tasks.json`, made by `seed.py`) or a folder that
`--folder` names: it holds one folder a task with `repository/` and `instruction.txt`. Solved means that all tests pass
in a run of this program's own after tcoder has ended; `verified` is what tcoder said.
"""

import argparse
import asyncio
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[3])]

import bugs  # noqa: E402 - found through the path above
import seed  # noqa: E402 - as above

from tcoder.workspace import checks  # noqa: E402 - as above

HERE = Path(__file__).parent
INSTRUCTION = "Make the failing tests pass."
GIT = ["git", "-c", "user.name=bench", "-c", "user.email=bench@localhost", "-c", "commit.gpgsign=false"]


def chosen(options: argparse.Namespace) -> list[dict[str, Any]]:
    if options.folder:
        return [
            {"id": path.name, "folder": str(path), "failing": [], "failing_before": []}
            for path in sorted(options.folder.iterdir())
            if (path / "repository").is_dir()
        ]
    tasks = json.loads((HERE / "tasks.json").read_text())
    if options.only:
        return [task for task in tasks if task["id"] in options.only.split(",")]
    return [task for task in tasks if options.part in ("", task["part"])]


def prepare(task: dict[str, Any], root: Path) -> str:
    """The task's repository at `root` with its bug committed; the instruction."""
    if "folder" in task:
        shutil.copytree(Path(task["folder"]) / "repository", root)
        instruction = (Path(task["folder"]) / "instruction.txt").read_text()
    else:
        package = next(package for package in seed.packages() if package["name"] == task["package"])
        seed.copy_to(package, root)
        bug = tuple(bugs.Edit(**edit) for edit in task["edits"])
        sources = {edit.path: (root / edit.path).read_text() for edit in bug}
        for path, text in bugs.seeded(sources, bug).items():
            (root / path).write_text(text)
        instruction = INSTRUCTION
    if not (root / ".git").exists():
        for command in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "as released"]):
            subprocess.run([*GIT, *command], cwd=root, check=True)
    return instruction


def run_tcoder(root: Path, instruction: str, options: argparse.Namespace, log: Path) -> dict[str, Any]:
    argv = [sys.executable, "-m", "tcoder", "--task", instruction, "-C", str(root), "--model", options.model]
    argv += ["--output-format", "stream-json", "--no-session", "-v", "--max-time", str(options.max_time)]
    argv += ["--strategy", options.strategy] if options.strategy else []
    argv += ["--base-url", options.base_url] if options.base_url else []
    with tempfile.TemporaryFile("w+") as told, log.open("w") as progress:
        ended = subprocess.run(argv, stdout=told, stderr=progress, check=False)
        told.seek(0)
        lines = [json.loads(line) for line in told if line.startswith("{")]
    return {"events": lines, "exit": ended.returncode, "stderr": log.read_text()[-2000:]}


def told_by_git(root: Path, *arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=root, capture_output=True, text=True, check=True).stdout


async def judge(root: Path, task: dict[str, Any]) -> bool:
    report = await seed.run_tests(root, checks.find(root)[0])
    wrong = {test.id for test in report.failing} - set(task["failing_before"])
    return not report.problem and bool(report.tests) and not wrong


def measure(task: dict[str, Any], options: argparse.Namespace) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(prefix="solve-") as folder:
        root = Path(folder) / "repository"
        instruction = prepare(task, root)
        began = time.monotonic()
        log = (options.logs or Path(folder)) / f"{task['id']}.log"
        ran = run_tcoder(root, instruction, options, log)
        seconds = time.monotonic() - began
        diff = told_by_git(root, "diff", "--numstat", "HEAD")
        left = told_by_git(root, "status", "--porcelain")
        solved = asyncio.run(judge(root, task))
    events = ran["events"]
    result = events[-1] if events else {}
    attempts = [event["attempt"] for event in events if event.get("type") == "attempt_recorded"]
    kept = [attempt for attempt in attempts if attempt["kept"]]
    by = ("model" if kept[-1]["variant"] else "small edit") if kept else ""
    usage = result.get("usage", {})
    located = [e["location"]["symbols"] for e in events if e.get("type") == "located"]
    where = [edit["function"] for edit in task.get("edits", [])]
    ranks = [i for i, s in enumerate(located[0]) if s["name"] in where] if located else []
    return {
        "id": task["id"], "operator": "+".join(edit["operator"] for edit in task.get("edits", [])), "solved": solved,
        "verified": result.get("verified"), "by": by,
        "tree": "repaired" if solved else "best attempt" if kept else "changed" if left.strip() else "as it was",
        "attempts": len(attempts), "calls": usage.get("calls", 0), "tokens": sum(
            usage.get(name, 0) for name in ("input_uncached", "cache_read", "cache_write", "output")
        ), "seconds": round(seconds, 1), "diff": sum(int(n) for n in diff.replace("\t", " ").split() if n.isdigit()),
        "suspect_rank": ranks[0] + 1 if ranks else None, "exit": ran["exit"],
        "stderr": "" if solved else ran["stderr"][-400:],
    }  # fmt: skip


def show(results: list[dict[str, Any]]) -> None:
    columns = ("id", "operator", "solved", "verified", "by", "attempts", "calls", "tokens", "seconds", "diff", "tree")
    print("| " + " | ".join(columns) + " |\n|" + "---|" * len(columns))
    for one in results:
        print("| " + " | ".join(str(one[column]) for column in columns) + " |")
    solved = [one for one in results if one["solved"]]
    false_claims = sum(one["verified"] is True and not one["solved"] for one in results)
    median = statistics.median(one["seconds"] for one in solved) if solved else 0
    by_model = sum(one["by"] == "model" for one in solved)
    print(
        f"\nsolved {len(solved)} of {len(results)} ({by_model} by the model, {len(solved) - by_model} by a"
        f" small edit), median {median:.0f} s a solved task, {false_claims} unsolved called solved,"
        f" {sum(one['calls'] for one in results)} calls, {sum(one['tokens'] for one in results)} tokens"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", required=True)
    parser.add_argument("--base-url", default="")
    parser.add_argument("--strategy", default="")
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--only", default="")
    parser.add_argument("--part", default="", choices=("", *seed.PARTS), help="half of the tasks; default both")
    parser.add_argument("--max-time", type=int, default=120, help="seconds a task")
    parser.add_argument("--out", type=Path, help="one JSON line a task")
    parser.add_argument("--logs", type=Path, help="a folder for what tcoder tells while it works")
    options = parser.parse_args()
    if options.logs:
        options.logs.mkdir(parents=True, exist_ok=True)
    os.environ["VIRTUAL_ENV"] = str(seed.environment())
    results: list[dict[str, Any]] = []
    for task in chosen(options):
        results.append(measure(task, options))
        last = results[-1]
        print(
            f"{last['id']}: {'solved' if last['solved'] else 'not solved'}, {last['seconds']} s",
            file=sys.stderr,
            flush=True,
        )
        if options.out:
            with options.out.open("a") as file:
                file.write(json.dumps(last) + "\n")
    show(results)


if __name__ == "__main__":
    main()
