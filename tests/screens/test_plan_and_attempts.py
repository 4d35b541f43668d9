"""The plan and the attempts as screens of their own."""

from msgspec.structs import replace

from tcoder.frontends.tui.screens.attempts import AttemptsScreen
from tcoder.frontends.tui.screens.plan import PlanScreen
from tcoder.protocol.attempt import Attempt
from tcoder.protocol.plan import PlanStep
from tests.support.screens import interface, say, settle, text_of

DIFF = "--- a/r.py\n+++ b/r.py\n@@ -1 +1 @@\n-old\n"
ATTEMPTS = (
    Attempt(1, "cap is missing", DIFF + "+one\n", 2, 2, "same", "E1", "p1", 3.0, "fast"),
    Attempt(2, "min, not max", DIFF + "+two\n", 2, 0, "solved", "", "p2", 4.0, "standard"),
)


async def test_a_plan_is_ticked_struck_moved_and_grown() -> None:
    async with interface(size=(100, 30)) as (app, pilot):
        await say(pilot, "/plan")
        assert isinstance(app.screen, PlanScreen)
        assert "there is no plan yet" in text_of(app)
        for text in ("one", "two"):
            await pilot.press("a")
            await pilot.pause()
            await pilot.press(*text, "enter")
            await settle(pilot)
        assert [step.text for step in app.desk.view.plan] == ["one", "two"]
        await pilot.press("up", "space", "down", "x")
        await settle(pilot)
        assert app.desk.view.plan == (PlanStep("one", "done"), PlanStep("two", "dropped"))
        await pilot.press("alt+up")
        await settle(pilot)
        assert [step.text for step in app.desk.view.plan] == ["two", "one"]
        await pilot.press("escape")
        await pilot.pause()
        assert app.screen is app.main


async def test_attempts_are_read_compared_and_gone_back_from() -> None:
    async with interface(size=(120, 30)) as (app, pilot):
        app.desk.view = replace(app.desk.view, attempts=ATTEMPTS)
        await say(pilot, "/attempts")
        assert isinstance(app.screen, AttemptsScreen)
        shown = text_of(app)
        assert "min, not max" in shown and "+two" in shown and "+one" not in shown
        await pilot.press("=", "up")
        await pilot.pause()
        shown = text_of(app)
        assert "+one" in shown and "+two" in shown and "left: E1" in shown
        await pilot.press("b")
        await pilot.pause()
        assert "b again to roll the files back" in text_of(app)
        await pilot.press("down")
        await pilot.pause()
        assert "b again" not in text_of(app)
