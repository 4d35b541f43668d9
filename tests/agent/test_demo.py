"""The demo, run as `make demo` does, with a model that plays a script."""

import json
import os
import subprocess
import sys
from pathlib import Path

DEMO = Path(__file__).parents[2] / "demos" / "run.py"


def test_the_demo_repairs_its_bug(tmp_path: Path) -> None:
    script = tmp_path / "script.json"
    code = "def round_up(minutes, step):\n    return -(-minutes // step) * step if step > 0 else minutes\n"
    script.write_text(json.dumps([{"text": f"```python\n{code}```"}]))
    environment = {**os.environ, "TCODER_HOME": str(tmp_path / "home"), "TCODER_STRATEGY": "guided"}
    ended = subprocess.run(
        [sys.executable, str(DEMO), "--model", f"scripted/{script}"],
        capture_output=True, text=True, env=environment, check=False, timeout=55,
    )  # fmt: skip
    assert ended.returncode == 0, ended.stderr[-2000:]
    assert "+    return -(-minutes // step) * step if step > 0 else minutes" in ended.stdout
    assert ended.stdout.rstrip().endswith("tcoder ended with exit code 0: the tests pass")
