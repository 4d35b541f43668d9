"""Chooses the seeded bugs: mutates one line of a package that its own tests cover, keeps what makes some tests fail.

    .venv/bin/python tests/bench/solve/seed.py [--each 3] [--seed 7] [--only NAME] --work /tmp/seeding

The same seed gives the same choice. A package's source archive comes from the package index; its tests are its own.
"""

import argparse
import asyncio
import json
import os
import random
import subprocess
import sys
import tarfile
import tomllib
from collections.abc import Iterable
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[3])]

from mutations import Mutation, mutations  # noqa: E402 - found through the path above

from tcoder.protocol.checks import CheckCommand, CheckReport  # noqa: E402 - as above
from tcoder.workspace import checks  # noqa: E402 - as above
from tests.support.plain_runner import PlainRunner  # noqa: E402 - as above

HERE = Path(__file__).parent
CACHE = Path.home() / ".cache" / "tcoder-bench"
MAX_FAILING = 20
TIMEOUT_S = 120
NOT_PARTS = ("bench", "docs")


def packages() -> list[dict]:
    return tomllib.loads((HERE / "packages.toml").read_text())["package"]


def unpacked(package: dict) -> Path:
    """The unpacked source archive, fetched once."""
    name = f"{package['name'].replace('-', '_')}-{package['version']}"
    folder = CACHE / name
    if not folder.is_dir():
        CACHE.mkdir(parents=True, exist_ok=True)
        wanted = f"{package['name']}=={package['version']}"
        pip = [sys.executable, "-m", "pip"]
        subprocess.run(
            [*pip, "download", "-q", "--no-deps", "--no-binary", ":all:", "-d", CACHE, wanted],
            check=True, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        archive = next(
            path for path in CACHE.glob("*.tar.gz") if path.name.replace("-", "_").startswith(name.replace("-", "_"))
        )
        with tarfile.open(archive) as tar:
            tar.extractall(CACHE, filter="data")
        (CACHE / archive.name.removesuffix(".tar.gz")).rename(folder) if not folder.is_dir() else None
    return folder


def environment() -> Path:
    """An environment with what the packages' tests need, made once."""
    folder = CACHE / "venv"
    if not (folder / "bin" / "python").exists():
        needs = sorted({name for package in packages() for name in package.get("needs", [])})
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
        subprocess.run([str(folder / "bin" / "pip"), "install", "-q", "pytest", *needs], check=True)
    return folder


def copy_to(package: dict, target: Path) -> Path:
    """The package as it was released, at `target`."""
    source = unpacked(package)
    subprocess.run(["cp", "-r", "--", str(source), str(target)], check=True)
    return target


async def run_tests(root: Path, command: CheckCommand, select: tuple[str, ...] = ()) -> CheckReport:
    return await checks.run(command, PlainRunner(root), select=select, timeout_s=TIMEOUT_S, root=root)


def in_mixed_order(root: Path, package: dict, seed: int) -> Iterable[tuple[str, Mutation]]:
    """Mutations of all the package's modules, shuffled, an operator not twice before the others had their turn."""
    rng = random.Random(f"{seed}:{package['name']}")
    every = [(path, one) for path in package["code"] for one in mutations((root / path).read_text())]
    rng.shuffle(every)
    used: list[str] = []
    while every:
        rare = min(every, key=lambda pair: used.count(pair[1].operator))
        every.remove(rare)
        used.append(rare[1].operator)
        yield rare


async def choose(package: dict, each: int, seed: int, work: Path) -> list[dict]:
    root = copy_to(package, work / package["name"])
    command = checks.find(root)[0]
    base = await run_tests(root, command)
    healthy = {test.id for test in base.tests if test.outcome in ("passed", "xfailed", "skipped")}
    if not healthy or base.problem or base.duration_s > 60:
        print(f"{package['name']}: {base.problem} {base.output[-600:]}", file=sys.stderr)
        return []
    bad = sorted(test.id for test in base.failing)
    chosen: list[dict] = []
    functions: set[str] = set()
    operators: set[str] = set()
    for path, mutation in in_mixed_order(root, package, seed):
        if len(chosen) == each:
            break
        if mutation.function in functions or mutation.operator in operators:
            continue
        source = (root / path).read_text()
        (root / path).write_text(mutation.apply(source))
        report = await run_tests(root, command)
        (root / path).write_text(source)
        failing = sorted(test.id for test in report.failing if test.id not in bad)
        if report.problem or not 1 <= len(failing) <= MAX_FAILING or len(report.tests) < len(base.tests):
            continue
        functions.add(mutation.function)
        operators.add(mutation.operator)
        chosen.append(
            {
                "id": f"{package['name']}-{len(chosen) + 1}", "package": package["name"], "version": package["version"],
                "test_command": command.command, "failing": failing, "failing_before": bad, "edits": [
                    {"path": path, "line": mutation.line, "function": mutation.function,
                     "operator": mutation.operator, "old": mutation.old, "new": mutation.new}
                ],
            }
        )  # fmt: skip
        print(f"{chosen[-1]['id']}: {mutation.operator} in {mutation.function}, {len(failing)} fail", file=sys.stderr)
    return chosen


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--each", type=int, default=3)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--only", default="")
    parser.add_argument("--work", type=Path, required=True, help="a folder to work in that is not there yet")
    parser.add_argument("--out", type=Path, default=HERE / "tasks.json")
    options = parser.parse_args()
    options.work.mkdir(parents=True)
    os.environ["VIRTUAL_ENV"] = str(environment())
    tasks: list[dict] = []
    for package in packages():
        if not options.only or package["name"] == options.only:
            tasks += await choose(package, options.each, options.seed, options.work)
            options.out.write_text(json.dumps(tasks, indent=1) + "\n")


if __name__ == "__main__":
    asyncio.run(main())
