"""Puts `tests/` on the path, so that tests can import `support`; the desk of a journey and the server of its model."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from support.desk import CALC, TESTS, Desk, git
from support.model_server import ModelServer, Step


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    root = tmp_path / "repo"
    root.mkdir()
    (root / "calc.py").write_text(CALC)
    (root / "test_calc.py").write_text(TESTS)
    git(root, "init", "-q")
    git(root, "config", "user.name", "A Person")
    git(root, "config", "user.email", "person@localhost")
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "start")
    return Desk(root, tmp_path / "home")


@pytest.fixture
def serve() -> Iterator[Any]:
    """`serve(step, …)` gives a running server that plays the steps."""
    running: list[ModelServer] = []

    def start(*steps: Step) -> ModelServer:
        server = ModelServer(list(steps))
        running.append(server.__enter__())
        return server

    yield start
    for server in running:
        server.__exit__(None, None, None)
