"""A few pictures with their colours. `--update-screens` stores them anew: look at them in a browser."""

import pytest

from tests.support.screens import GOLDEN
from tests.support.screenshots import picture


@pytest.mark.parametrize("name", ["review", "slider", "light"])
async def test_picture(name: str, update_screens: bool) -> None:
    path = GOLDEN / f"{name}.svg"
    now = await picture(name)
    if update_screens:
        path.write_text(now, encoding="utf-8")
    assert now == path.read_text(encoding="utf-8"), f"{path.name} differs; --update-screens takes the new picture"
