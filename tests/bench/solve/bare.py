"""What the model solves alone: it is handed the functions that have the bug, what it says of itself, and two failing
tests, and may answer three times with the whole function. No locating, no tools: the mark that tcoder must beat.

    .venv/bin/python tests/bench/solve/bare.py --model local/qwen2.5-coder-1.5b [--part dev|held] [--only ID,ID]
"""

import argparse
import asyncio
import json
import os
import re
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[3])]

import bugs  # noqa: E402 - found through the path above
import run  # noqa: E402 - as above
import seed  # noqa: E402 - as above

from tcoder.agent import failures, repairs, units  # noqa: E402 - as above
from tcoder.agent.candidates import from_rewrite  # noqa: E402 - as above
from tcoder.agent.state import say  # noqa: E402 - as above
from tcoder.agent.suspects import Suspect  # noqa: E402 - as above
from tcoder.models import catalogue  # noqa: E402 - as above
from tcoder.models.client import open_model  # noqa: E402 - as above
from tcoder.models.local.local import LocalModel  # noqa: E402 - as above
from tcoder.protocol.errors import ModelError  # noqa: E402 - as above
from tcoder.protocol.handles import Model  # noqa: E402 - as above
from tcoder.protocol.request import ModelReply, ModelRequest  # noqa: E402 - as above
from tcoder.workspace import checks  # noqa: E402 - as above

TRIES = (0.0, 0.5, 0.8)
ASKING = """This Python code has a bug. Two tests that fail:

{tests}

The code:
```python
{code}
```

Write the corrected code in one ```python block.
"""


async def answer(model: Model, options: argparse.Namespace, text: str, temperature: float, size: int) -> str:
    request = ModelRequest(
        catalogue.resolve(options.model, base_url=options.base_url),
        "You are a helpful assistant.",
        (say(text),),
        max_output=max(400, size // 2),
        temperature=temperature,
    )
    async for part in model.stream(request):
        if isinstance(part, ModelReply):
            return part.message.text
    return ""


def handed(task: dict[str, Any], sources: dict[str, str]) -> list[tuple[str, units.Unit]]:
    """The functions (or statements) that hold the bug, each with its path. Of an import that is missing, those that
    use the name, which is all that anybody could be shown of it."""
    bug = tuple(bugs.Edit(**edit) for edit in task["edits"])
    found: dict[tuple[str, int], units.Unit] = {}
    for edit in bug:
        cut = units.cut(edit.path, sources[edit.path])
        if edit.function == "import":
            gone = set(re.findall(r"\w+", edit.old)) - set(re.findall(r"\w+", edit.new or ""))
            pieces = [one for one in cut if one.kind == "function" and gone & one.uses][:2]
        else:
            names = (edit.function, edit.function.rpartition(".")[2])
            pieces = [one for one in cut if edit.function == one.name or set(one.name.split(", ")) & set(names)]
        for one in pieces[:2]:
            found.setdefault((edit.path, one.line), one)
    return [(path, unit) for (path, _), unit in found.items()]


def put_back(answer: str, shown: list[tuple[str, units.Unit]], sources: dict[str, str]) -> dict[str, str] | None:
    """The sources with what the answer says of the functions that were shown, and with the imports that it begins
    with; None when nothing of it can be used."""
    result = dict(sources)
    used = False
    for path, unit in sorted(shown, key=lambda one: -one[1].line):
        candidate = from_rewrite(answer, Suspect(unit, 1.0), result[path])
        if candidate is not None:
            result[path] = candidate.apply(result[path])
            used = True
    for path in {path for path, _ in shown}:
        lines = re.findall(r"^(?:import|from) .+$", answer, re.M)
        missing = [line for line in lines if line not in result[path].split("\n")]
        if missing and used:
            at = repairs.place_for_import(result[path]) - 1
            text = result[path].split("\n")
            with_imports = "\n".join([*text[:at], *missing, *text[at:]])
            result[path] = with_imports
    return result if used and all(units.parses(path, text) for path, text in result.items()) else None


async def solve(task: dict[str, Any], model: Model, options: argparse.Namespace) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(prefix="bare-") as folder:
        root = Path(folder) / "repository"
        run.prepare(task, root)
        sources = {edit["path"]: (root / edit["path"]).read_text() for edit in task["edits"]}
        command = checks.find(root)[0]
        report = await seed.run_tests(root, command)
        failing = [test for test in report.failing if test.id not in task["failing_before"]]
        two = failures.representative(failing, 2)
        tests = "\n\n".join(
            failures.describe(test, {test.path: (root / test.path).read_text()} if test.path else {}) for test in two
        )
        shown = handed(task, sources)
        code = "\n\n".join(units.text_of(unit, sources[path]) for path, unit in shown)
        text = ASKING.format(tests=tests, code=code)
        began = time.monotonic()
        result = {"id": task["id"], "solved": False, "tries": 0}
        for number, temperature in enumerate(TRIES, 1):
            left = options.max_time - (time.monotonic() - began)
            if left <= 0:
                break
            result["tries"] = number
            try:
                said = await asyncio.wait_for(answer(model, options, text, temperature, len(code)), left)
            except (TimeoutError, ModelError) as error:
                result["problem"] = f"{type(error).__name__}: {error}"[:200]
                continue
            changed = put_back(said, shown, sources)
            if changed is None:
                continue
            for path, new in changed.items():
                (root / path).write_text(new)
            after = await seed.run_tests(root, command)
            for path, old in sources.items():
                (root / path).write_text(old)
            if not after.problem and not {test.id for test in after.failing} - set(task["failing_before"]):
                result["solved"] = True
                break
        return {**result, "seconds": round(time.monotonic() - began, 1)}


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", required=True)
    parser.add_argument("--base-url", default="")
    parser.add_argument("--part", default="", choices=("", *seed.PARTS))
    parser.add_argument("--only", default="")
    parser.add_argument("--max-time", type=int, default=120, help="seconds a task")
    parser.add_argument("--out", type=Path, help="one JSON line a task")
    options = parser.parse_args(namespace=argparse.Namespace(folder=None))
    os.environ["VIRTUAL_ENV"] = str(seed.environment())
    variant = catalogue.resolve(options.model, base_url=options.base_url)
    model = open_model(variant, os.environ.get("OPENAI_API_KEY")) if options.base_url else LocalModel()
    results: list[dict[str, Any]] = []
    try:
        for task in run.chosen(options):
            results.append(await solve(task, model, options))
            print(json.dumps(results[-1]), flush=True)
            if options.out:
                with options.out.open("a") as file:
                    file.write(json.dumps(results[-1]) + "\n")
    finally:
        await model.close()
    print(f"the bare model solved {sum(one['solved'] for one in results)} of {len(results)}")


if __name__ == "__main__":
    asyncio.run(main())
