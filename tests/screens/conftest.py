import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-screens", action="store_true", help="store the screens as they are now")


@pytest.fixture
def update_screens(request: pytest.FixtureRequest) -> bool:
    return bool(request.config.getoption("--update-screens"))
