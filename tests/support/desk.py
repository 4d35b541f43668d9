"""A repository with a bug, a home of its own, and the real command line run in it."""

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from support.model_server import ModelServer

CALC = "def add(a, b):\n    return a - b\n\n\ndef double(a):\n    return add(a, a)\n"
TESTS = (
    "from calc import add, double\n\n\ndef test_add():\n    assert add(1, 2) == 3\n\n\n"
    "def test_double():\n    assert double(0) == 0\n"
)
FIX = {"name": "edit", "arguments": {"path": "calc.py", "old": "return a - b", "new": "return a + b"}}


def git(folder: Path, *arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout


@dataclass
class Ended:
    """How a run of tcoder ended."""

    code: int
    out: str
    err: str

    @property
    def result(self) -> dict[str, Any]:
        return json.loads(self.out)


@dataclass
class Desk:
    """A repository with a bug that a test shows, and a tcoder that knows nothing of this machine's user."""

    root: Path
    home: Path

    def environment(self, **extra: str) -> dict[str, str]:
        kept = {name: os.environ[name] for name in ("PATH", "LANG", "HOME", "PYTHONPATH") if name in os.environ}
        return {**kept, "TCODER_HOME": str(self.home), "TERM": "xterm-256color", **extra}

    def start(self, *arguments: str, **extra: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-m", "tcoder", *arguments],
            cwd=self.root,
            env=self.environment(**extra),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, *arguments: str, stdin: str = "", **extra: str) -> Ended:
        process = self.start(*arguments, **extra)
        out, err = process.communicate(stdin, timeout=50)
        return Ended(process.returncode, out, err)

    def ask(self, server: ModelServer, task: str, *arguments: str, **extra: str) -> Ended:
        return self.run("--task", task, "--base-url", server.url, "-m", "scripted", *arguments, **extra)
