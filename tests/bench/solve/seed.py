"""Chooses the seeded bugs: breaks packages in places that their own tests cover, keeps what makes some tests fail.

    .venv/bin/python tests/bench/solve/seed.py [--seed 7] --work /tmp/seeding

The same seed gives the same choice, so nobody picked a task. There are two parts of the same make: `dev` may be looked
at while tcoder is improved, `held` is only counted. A package's source archive comes from the package index; its tests
are its own.
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
from dataclasses import asdict, dataclass
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[3])]

from bugs import KINDS, Bug, seeded  # noqa: E402 - found through the path above

from tcoder.protocol.checks import CheckCommand, CheckReport  # noqa: E402 - as above
from tcoder.workspace import checks  # noqa: E402 - as above
from tests.support.plain_runner import PlainRunner  # noqa: E402 - as above

HERE = Path(__file__).parent
CACHE = Path.home() / ".cache" / "tcoder-bench"
MAX_FAILING = 20
TIMEOUT_S = 120
MAX_TRIED = 60
PARTS = ("dev", "held")
SLOTS = ("line",) * 5 + ("import", "branch", "branch", "constant", "lines", "functions", "files")


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


@dataclass(frozen=True)
class Released:
    """A package at `root` as it was released, with what its tests say; `bad` fail already."""

    package: dict
    root: Path
    command: CheckCommand
    base: CheckReport
    bad: tuple[str, ...]

    @property
    def sources(self) -> dict[str, str]:
        return {path: (self.root / path).read_text() for path in self.package["code"]}


async def release(package: dict, work: Path) -> Released | None:
    root = copy_to(package, work / package["name"])
    command = checks.find(root)[0]
    base = await run_tests(root, command)
    if base.problem or base.duration_s > 60 or not any(test.outcome == "passed" for test in base.tests):
        print(f"{package['name']}: {base.problem} {base.output[-600:]}", file=sys.stderr)
        return None
    return Released(package, root, command, base, tuple(sorted(test.id for test in base.failing)))


async def newly_failing(released: Released, bug: Bug) -> tuple[str, ...]:
    """The tests that a bug alone makes fail; () when it breaks the run itself."""
    sources = released.sources
    for path, text in seeded(sources, bug).items():
        (released.root / path).write_text(text)
    try:
        report = await run_tests(released.root, released.command)
    finally:
        for path, text in sources.items():
            (released.root / path).write_text(text)
    if report.problem or len(report.tests) < len(released.base.tests):
        return ()
    return tuple(sorted(test.id for test in report.failing if test.id not in released.bad))


async def draw(released: Released, kind: str, rng: random.Random, taken: set[str]) -> dict | None:
    """The first bug of a kind that some tests show; each of its edits alone must be seen. A function is not broken
    twice over all tasks."""
    for number, bug in enumerate(KINDS[kind](released.sources, rng)):
        if number == MAX_TRIED:
            return None
        names = {f"{edit.path}:{edit.function}" for edit in bug if edit.function != "import"}
        if names & taken:
            continue
        failing = await newly_failing(released, bug)
        if not 1 <= len(failing) <= MAX_FAILING:
            continue
        if len(bug) > 1 and not all([await newly_failing(released, (edit,)) for edit in bug]):
            continue
        taken |= names
        package = released.package
        return {
            "id": "", "kind": kind, "part": "", "package": package["name"], "version": package["version"],
            "failing": failing, "failing_before": released.bad,
            "edits": [asdict(edit) for edit in bug],
        }  # fmt: skip
    return None


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--work", type=Path, required=True, help="a folder to work in that is not there yet")
    parser.add_argument("--out", type=Path, default=HERE / "tasks.json")
    options = parser.parse_args()
    options.work.mkdir(parents=True)
    os.environ["VIRTUAL_ENV"] = str(environment())
    every = [found for package in packages() if (found := await release(package, options.work))]
    tasks: list[dict] = []
    taken: set[str] = set()
    for part in PARTS:
        rng = random.Random(f"{options.seed}:{part}")
        turns = rng.sample(every, len(every))
        for number, kind in enumerate(SLOTS, 1):
            for at in range(len(turns)):
                task = await draw(turns[at], kind, rng, taken)
                if task is not None:
                    turns.append(turns.pop(at))  # the package that just had its turn comes last
                    task |= {"id": f"{part}-{number:02}-{kind}-{task['package']}", "part": part}
                    tasks.append(task)
                    print(task["id"], file=sys.stderr, flush=True)
                    options.out.write_text(json.dumps(tasks, indent=1) + "\n")
                    break


if __name__ == "__main__":
    asyncio.run(main())
