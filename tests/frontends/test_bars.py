"""The header: what a person must know stays on narrow screens."""

import pytest

from tcoder.frontends.bars import header
from tcoder.frontends.lines import plain
from tcoder.frontends.view import View, fold
from tcoder.protocol.events import Recorded, SessionResumed
from tests.support.stories import VARIANT, started


@pytest.mark.parametrize(("mode", "warns"), [("bubblewrap", False), ("reduced", True), ("off", True), ("none", True)])
@pytest.mark.parametrize("width", [140, 80, 40])
def test_a_weak_sandbox_is_a_warning_at_every_width(mode: str, warns: bool, width: int) -> None:
    view = View(sandbox=mode, workspace="/src/app")
    shown = header(view, title="make the login retry test pass and more", branch="main", width=width)
    assert (f"▲ sandbox: {mode}" in plain(shown)) == warns
    assert [span.role for span in shown if "sandbox" in span.text] in ([], ["warn" if warns else "dim"])
    assert len(plain(shown)) <= width


def test_a_session_that_goes_on_has_the_sandbox_of_now() -> None:
    view = fold(View(), Recorded(1, "2026-12-01T14:00:00Z", started()))
    assert view.sandbox == "workspace"
    view = fold(view, Recorded(2, "2026-12-01T15:00:00Z", SessionResumed("0.1.0", VARIANT, "s-1", "reduced")))
    assert view.sandbox == "reduced"
    assert fold(view, Recorded(3, "2026-12-01T15:00:00Z", SessionResumed("0.1.0", VARIANT))).sandbox == "reduced"
