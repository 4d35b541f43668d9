"""The ground of each file of attacks."""

import pytest
from support.ground import Ground


@pytest.fixture(scope="module")
def ground(tmp_path_factory: pytest.TempPathFactory) -> Ground:
    """One for all tests of a file, because a session costs more than looking at what it did."""
    return Ground(tmp_path_factory.mktemp("ground"))
