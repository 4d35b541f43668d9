"""Screens as text: the interface on a story, in process, with a fixed clock and size."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from textual.pilot import Pilot

from tcoder.frontends.startup import Startup
from tcoder.frontends.tui.app import TcoderApp
from tcoder.protocol.host import Host
from tests.support.open_story import open_story

GOLDEN = Path(__file__).parents[1] / "screens" / "golden"

WHEN = 1_796_133_602.0
"""Seconds since 1970 of the moment at which the stories begin: a turn is as old as it has been running in the test."""


def text_of(app: TcoderApp) -> str:
    """What is on the screen, line by line, without trailing blanks."""
    width, height = app.size
    strips = app.screen._compositor.render_strips(app.size)
    assert len(strips) <= height
    return "\n".join(strip.text[:width].rstrip() for strip in strips).rstrip() + "\n"


def startup(**changes: object) -> Startup:
    settings: dict[str, object] = {
        "workspace": "/src/app",
        "branch": "main",
        "sandbox": "workspace",
        "reduced_motion": True,
    }
    return Startup(**{**settings, **changes})  # type: ignore[arg-type]  settings by name


@asynccontextmanager
async def interface(
    story: str = "fixed", *, size: tuple[int, int] = (80, 24), host: Host | None = None, **changes: object
) -> AsyncIterator[tuple[TcoderApp, "Pilot[int]"]]:
    """The running interface."""
    app = TcoderApp(startup(**changes), open_story(story), host=host)
    app.main.wall = lambda: WHEN
    async with app.run_test(size=size) as pilot:
        await app.desk.ready.wait()
        await pilot.pause()
        yield app, pilot


async def say(pilot: "Pilot[int]", text: str) -> None:
    """Type a line into the prompt and send it."""
    app = pilot.app
    assert isinstance(app, TcoderApp)
    app.main.prompt.insert(text)
    await pilot.press("enter")
    await settle(pilot)


async def settle(pilot: "Pilot[int]") -> None:
    """Wait until the session has nothing more to say and everything is drawn."""
    app = pilot.app
    assert isinstance(app, TcoderApp)
    seen = -1
    while seen != (seen := len(app.desk.transcript.blocks)):
        await pilot.pause(0.07)
    app.main.conversation.on_resize()  # heights that were guesses on the way depend on the batches
    await pilot.pause()


def same_as_golden(name: str, text: str, *, update: bool) -> None:
    """Compare with the stored screen; with `--update-screens` store it."""
    path = GOLDEN / f"{name}.txt"
    if update or not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        assert update, f"{path.name} is new: look at it and commit it"
    assert text == path.read_text(encoding="utf-8"), f"{path.name} differs; --update-screens takes the new screen"
