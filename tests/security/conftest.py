"""The ground of each file of attacks."""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.ground import Ground


@pytest.fixture(scope="module")
def ground() -> Iterator[Ground]:
    """One for all tests of a file, because a session costs more than looking at what it did. Not below /tmp: commands
    have a /tmp of their own, so what lies there would be out of reach whatever the sandbox does."""
    place = Path.home() / ".cache" / "tcoder-tests"
    place.mkdir(parents=True, exist_ok=True)
    made = Ground(Path(tempfile.mkdtemp(prefix="ground-", dir=place)))
    yield made
    shutil.rmtree(made.top)
