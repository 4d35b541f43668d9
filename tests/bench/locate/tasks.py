"""The tasks: a problem text, a repository at a commit, and the source files and functions that the real fix changed.

`data/tasks.jsonl` has 151 of them from eight public repositories in six languages. Their repositories are read from
bare or ordinary clones with full history, `<owner>+<name>/repo` below the folder that `LOCATE_REPOSITORIES` names; work
trees are made below `LOCATE_WORK` (default: a folder `locate` in the temporary folder) and kept, so that from one task
to the next only what differs is indexed again.
"""

import json
import os
import re
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
REPOSITORIES = Path(os.environ.get("LOCATE_REPOSITORIES", "repositories"))
WORK = Path(os.environ.get("LOCATE_WORK", Path(tempfile.gettempdir()) / "locate"))
CODE = frozenset(
    f".{ending}"
    for ending in "py pyi js jsx mjs cjs ts tsx mts go rs java c h cc cpp hpp".split()  # noqa: SIM905
)
# never gold, so dropped from every ranking before it is scored: tests, documentation, examples, vendored, generated
OUTSIDE = re.compile(
    r"(^|/)(tests?|testing|specs?|__tests__|__mocks__|testdata|test-utils|testsuite|cypress|e2e|playwright|it|"
    r"integration-tests?|benches|benchmarks?|examples?|docs?|fixtures?|t|jmh-benchmarks|microbench|vendor|third_party|"
    r"node_modules|dist|deps|contrib|streams/quickstart)/|"
    r"(^|/)(test_[^/]*|conftest)\.py$|_test\.(py|go|rs)$|[.-](test|spec)\.[cm]?[jt]sx?$|(Tests?|IT|TestCase)\.java$|"
    r"(^|/)(Test[A-Z][^/]*\.java|tests?\.rs|[^/]*testsuite[^/]*|[^/]+_mock\.go|[^/]+\.pb(\.gw)?\.go|[^/]+\.min\.js)$",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Task:
    """`functions` are `path::name`; `repo` is `owner/name`."""

    instance: str
    repo: str
    lang: str
    source: str
    base_commit: str
    text: str
    files: tuple[str, ...]
    functions: tuple[str, ...]
    path_mentioned: bool
    name_mentioned: bool


def load(repos: str = "", limit: int = 0) -> list[Task]:
    """Tasks in the order of the file, those of some repositories (comma-separated `owner/name`) when given."""
    wanted = set(repos.split(",")) if repos else set()
    rows = [json.loads(line) for line in (HERE / "data" / "tasks.jsonl").read_text("utf-8").splitlines()]
    tasks = [Task(**row | {"files": tuple(row["files"]), "functions": tuple(row["functions"])}) for row in rows]
    tasks = [task for task in tasks if not wanted or task.repo in wanted]
    return tasks[:limit] if limit else tasks


def counts(path: str) -> bool:
    """Whether a path can be gold."""
    return Path(path).suffix.lower() in CODE and not OUTSIDE.search(path)


def checkout(repo: str, commit: str) -> Path:
    """The repository's work tree at a commit; files that do not differ keep their time stamps."""
    tree = WORK / "trees" / repo.replace("/", "__")
    if not tree.is_dir():
        tree.parent.mkdir(parents=True, exist_ok=True)
        source = REPOSITORIES / repo.replace("/", "+") / "repo"
        subprocess.run(["git", "clone", "-q", "--shared", "--no-checkout", str(source), str(tree)], check=True)
    # step by step, since a clone may lack large blobs that `git checkout` would stop at
    steps = (
        ["update-ref", "--no-deref", "HEAD", commit],
        ["read-tree", "--reset", commit],
        ["checkout-index", "-f", "-a", "-q"],
        ["clean", "-fdq"],
    )
    for step in steps:
        subprocess.run(
            ["git", "-C", str(tree), "-c", "filter.lfs.smudge=", "-c", "filter.lfs.required=false", *step],
            check=False,
            capture_output=True,
        )
    return tree
