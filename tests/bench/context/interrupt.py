"""How soon Esc gives a turn back, while a server says little, nothing or too much: the real interface in a pty.

    python tests/bench/context/interrupt.py

Each row is the time from the key to "interrupted" in what the program writes. Bar: 100 ms, a quarter of which is the
wait that tells the key from the beginning of a longer sequence. Afterwards the same session answers another message.
"""

import sys
import tempfile
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[3]))
sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.support.desk import Desk, git
from tests.support.model_server import ModelServer
from tests.support.person import working

SILENT = 60
SERVERS: dict[str, dict[str, Any]] = {
    "a word every 50 ms": {"text": "word " * 4_000, "delay": 0.05},
    "no headers": {"text": "x", "stall": SILENT},
    "silent after three words": {"text": "word " * 50, "stall": SILENT, "stall_after": 3},
    "keep-alive comments only": {"text": "x", "stall": SILENT, "stall_after": 1, "comments": 0.2},
    "a flood": {"text": "word " * 400_000, "piece": 5},
    "half a call": {"calls": [{"name": "read", "arguments": {"path": "a" * 4_000}}], "delay": 0.05},
    "waiting for a retry": {"status": 503, "headers": {"Retry-After": "30"}},
}


def measure(step: dict[str, Any], folder: Path) -> float:
    root = folder / "repository"
    root.mkdir()
    (root / "calc.py").write_text("x = 1\n")
    git(root, "init", "-q")
    with (
        ModelServer([step, {"text": "Second answer."}]) as server,
        working(Desk(root, folder / "home"), "--base-url", server.url, "-m", "x") as person,
    ):
        person.say("hello there")
        while not server.requests:
            person.read_for(0.02)
        person.read_for(1.0)
        written, began = len(person.output), person.now
        person.press("esc")
        took = person.wait_for("interrupted", since=written) - began
        person.say("again")
        person.sees("Second answer.")
        return took


if __name__ == "__main__":
    for name, step in SERVERS.items():
        with tempfile.TemporaryDirectory(prefix="bench-") as folder:
            print(f"{name:26} {1e3 * measure(step, Path(folder)):.0f} ms", flush=True)
