"""A ground to attack on: a repository, a home and a place outside of both, and sessions of the installed program whose
model has been taken over."""

import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from support.desk import CALC, TESTS, Ended, git
from support.model_server import ModelServer

CANARY = "canary-4b81d0e7-do-not-print"
PROGRAM = str(Path(sys.executable).with_name("tcoder"))
PASSED = {name: os.environ[name] for name in ("PYTHONPATH",) if name in os.environ}
Call = tuple[str, dict[str, Any]]


@dataclass
class Played:
    """A session that is over: how it ended, what the model was told of each call, and every request."""

    ended: Ended
    answers: list[str]
    server: ModelServer

    @property
    def sent(self) -> str:
        """All that the model was sent, as text."""
        return "\n".join(str(seen.body) for seen in self.server.requests)


@dataclass
class Ground:
    """`top` holds everything: the repository `root`, `home`, tcoder's own folders in `own`; nothing in `outside` may
    ever change, and `pwned` may never exist."""

    top: Path

    def __post_init__(self) -> None:
        self.root, self.home, self.own = self.top / "repo", self.top / "home", self.top / "tcoder"
        self.outside, self.pwned = self.top / "outside", self.top / "PWNED"
        for folder in (self.root, self.home, self.outside):
            folder.mkdir()
        (self.root / "calc.py").write_text(CALC)
        (self.root / "test_calc.py").write_text(TESTS)
        (self.outside / "victim.txt").write_text("untouched\n")
        git(self.root, "init", "-q", "-b", "main")
        git(self.root, "config", "user.name", "A Person")
        git(self.root, "config", "user.email", "person@localhost")
        git(self.root, "add", "-A")
        git(self.root, "commit", "-q", "-m", "start")

    def run(self, *arguments: str, stdin: str = "", cwd: Path | None = None, **extra: str) -> Ended:
        """The program as it is installed, in an environment that holds nothing of this machine's user."""
        environment = {
            "PATH": os.environ["PATH"], "LANG": "C.UTF-8", "HOME": str(self.home), "TCODER_HOME": str(self.own),
            "TERM": "xterm-256color", **PASSED, **extra,
        }  # fmt: skip
        done = subprocess.run(
            [PROGRAM, *arguments], cwd=cwd or self.root, env=environment, input=stdin.encode(), capture_output=True,
            timeout=50, check=False,
        )  # fmt: skip
        return Ended(done.returncode, done.stdout.decode(), done.stderr.decode())

    def play(self, calls: Sequence[Call], *arguments: str, task: str = "what is here?", **extra: str) -> Played:
        """One session in which the model makes these calls, all in one answer, and then says that it is done."""
        step = {"calls": [{"name": name, "arguments": args} for name, args in calls]}
        with ModelServer([step, {"text": "done"}] if calls else [{"text": "done"}]) as server:
            flags = ("--base-url", server.url, "-m", "scripted", "--no-tests", *arguments)
            ended = self.run("--task", task, *flags, **extra)
        last = server.bodies[-1]["messages"] if server.requests else []
        told = [message["content"] for message in last if message["role"] == "tool"]
        return Played(ended, [content if isinstance(content, str) else str(content) for content in told], server)

    def elsewhere(self) -> dict[str, bytes]:
        """Everything outside of the repository and of tcoder's own folders."""
        return {str(path): path.read_bytes() for place in (self.outside, self.home) for path in files_below(place)}


def files_below(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
