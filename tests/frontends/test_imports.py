"""What may be imported before the first prompt, the first frame and the first headless request."""

import subprocess
import sys

import pytest

SHOW = "import sys; import {module}; print('\\n'.join(sorted(sys.modules)))"


def modules_after(module: str) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-c", SHOW.format(module=module)], capture_output=True, text=True, check=True, timeout=30
    )
    return set(done.stdout.split())


@pytest.mark.parametrize(
    ("module", "unwanted"),
    [
        ("tcoder.frontends.headless", {"rich", "textual", "prompt_toolkit", "httpx", "pygments"}),
        ("tcoder.frontends.tui.prepaint", {"rich", "textual", "asyncio", "msgspec", "dataclasses", "inspect"}),
        ("tcoder.frontends.tui.launch", {"acp", "mcp", "pydantic", "httpx", "prompt_toolkit", "pygments.lexers"}),
        ("tcoder.frontends.plain", {"acp", "mcp", "pydantic", "httpx", "textual", "rich"}),
    ],
)  # fmt: skip
def test_heavy_modules_stay_away(module: str, unwanted: set[str]) -> None:
    assert modules_after(module) & unwanted == set()
