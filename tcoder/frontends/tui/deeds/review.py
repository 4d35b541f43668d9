"""Actions on what was changed: review, timeline, attempts, plan."""

from tcoder.frontends.tui.screens.attempts import AttemptsScreen
from tcoder.frontends.tui.screens.main import Deeds, MainScreen
from tcoder.frontends.tui.screens.plan import PlanScreen
from tcoder.frontends.tui.screens.review import ReviewScreen
from tcoder.frontends.tui.screens.text import TextScreen
from tcoder.frontends.tui.screens.timeline import TimelineScreen
from tcoder.protocol.queries import (
    ChangePreview,
    PreviewChange,
    ReadReview,
    ReadTimeline,
    ReviewState,
    SessionChoice,
    Timeline,
)


async def review(screen: MainScreen, message: str) -> None:
    """What changed, by file and hunk; as one diff where the session cannot tell hunks apart."""
    desk = screen.desk
    await desk.ready.wait()
    state = await desk.session.query(ReadReview()) if desk.session is not None else None
    if isinstance(state, ReviewState):
        screen.show_screen(ReviewScreen(desk, state, screen.edit_outside, message))
        return
    preview = await desk.ask(PreviewChange(), ChangePreview)
    if preview is not None:
        screen.show_screen(TextScreen.diff("Changes of this session", preview.diff, desk.palette))


async def commit(screen: MainScreen, message: str) -> None:
    """The review with the message at hand; nothing is committed before `C` there."""
    await review(screen, message)


async def _timeline(screen: MainScreen, back: int = 0) -> None:
    found = await screen.desk.ask(ReadTimeline(), Timeline)
    if found is not None:

        async def done(checkpoint: str | None) -> None:
            if checkpoint is not None:
                await screen.reconnect(SessionChoice("fork", screen.desk.view.session_id, checkpoint))

        screen.host.push_screen(TimelineScreen(screen.desk, found, back), done)


async def timeline(screen: MainScreen, _: str) -> None:
    await _timeline(screen)


async def step_back(screen: MainScreen, _: str) -> None:
    """Open the timeline one step back; the same keys go on from there."""
    await _timeline(screen, 1)


async def attempts(screen: MainScreen, _: str) -> None:
    screen.show_screen(AttemptsScreen(screen.desk))


async def plan(screen: MainScreen, _: str) -> None:
    screen.show_screen(PlanScreen(screen.desk))


DEEDS: Deeds = {
    "review.open": review,
    "review.commit": commit,
    "timeline.open": timeline,
    "timeline.back": step_back,
    "timeline.forward": timeline,
    "attempts.open": attempts,
    "plan.open": plan,
}
