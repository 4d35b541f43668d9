"""What the model solves alone: it is handed the one function that has the bug, what it says of itself, and two failing
tests, and may answer three times with the whole function. No locating, no tools: the mark that tcoder must beat.

    .venv/bin/python tests/bench/solve/bare.py --model local/qwen2.5-coder-1.5b [--each 2] [--only ID,ID]
"""

import argparse
import asyncio
import json
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[3])]

import run  # noqa: E402 - found through the path above
import seed  # noqa: E402 - as above

from tcoder.agent import failures, units  # noqa: E402 - as above
from tcoder.agent.candidates import from_rewrite  # noqa: E402 - as above
from tcoder.agent.state import say  # noqa: E402 - as above
from tcoder.agent.suspects import Suspect  # noqa: E402 - as above
from tcoder.models import catalogue  # noqa: E402 - as above
from tcoder.models.local.local import LocalModel  # noqa: E402 - as above
from tcoder.protocol.request import ModelReply, ModelRequest  # noqa: E402 - as above
from tcoder.workspace import checks  # noqa: E402 - as above

TRIES = (0.0, 0.5, 0.8)
ASKING = """This Python function has a bug. Two tests that fail:

{tests}

The function:
```python
{code}
```

Write the corrected function in one ```python block.
"""


async def answer(model: LocalModel, model_id: str, text: str, temperature: float) -> str:
    request = ModelRequest(
        catalogue.resolve(model_id),
        "You are a helpful assistant.",
        (say(text),),
        max_output=1200,
        temperature=temperature,
    )
    async for part in model.stream(request):
        if isinstance(part, ModelReply):
            return part.message.text
    return ""


async def solve(task: dict[str, Any], model: LocalModel, model_id: str) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(prefix="bare-") as folder:
        root = Path(folder) / "repository"
        run.prepare(task, root)
        edit = task["edits"][0]
        path = root / edit["path"]
        source = path.read_text()
        command = checks.find(root)[0]
        report = await seed.run_tests(root, command)
        failing = [test for test in report.failing if test.id not in task["failing_before"]]
        shown = failures.representative(failing, 2)
        sources = {test.path: (root / test.path).read_text() for test in shown if test.path}
        unit = next(one for one in units.cut(edit["path"], source) if one.holds(edit["line"]))
        tests = "\n\n".join(failures.describe(test, sources) for test in shown)
        text = ASKING.format(tests=tests, code=units.text_of(unit, source))
        began = time.monotonic()
        for number, temperature in enumerate(TRIES, 1):
            candidate = from_rewrite(await answer(model, model_id, text, temperature), Suspect(unit, 1.0), source)
            if candidate is None or not units.parses(edit["path"], candidate.apply(source)):
                continue
            path.write_text(candidate.apply(source))
            after = await seed.run_tests(root, command)
            path.write_text(source)
            if not after.problem and not {test.id for test in after.failing} - set(task["failing_before"]):
                return {
                    "id": task["id"],
                    "solved": True,
                    "tries": number,
                    "seconds": round(time.monotonic() - began, 1),
                }
        return {"id": task["id"], "solved": False, "tries": len(TRIES), "seconds": round(time.monotonic() - began, 1)}


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", required=True)
    parser.add_argument("--each", type=int, default=0)
    parser.add_argument("--only", default="")
    options = parser.parse_args(namespace=argparse.Namespace(folder=None))
    os.environ["VIRTUAL_ENV"] = str(seed.environment())
    model = LocalModel()
    results: list[dict[str, Any]] = []
    try:
        for task in run.chosen(options):
            results.append(await solve(task, model, options.model))
            print(json.dumps(results[-1]), flush=True)
    finally:
        await model.close()
    print(f"the bare model solved {sum(one['solved'] for one in results)} of {len(results)}")


if __name__ == "__main__":
    asyncio.run(main())
