"""Whole screens as text, over sizes and states. `--update-screens` stores them anew: look at the difference."""

import pytest

from tcoder.frontends.tui.app import TcoderApp
from tests.support.screens import interface, same_as_golden, say, settle, text_of

SIZES = {"wide": (140, 40), "dock": (120, 36), "usual": (80, 24), "small": (40, 15)}


@pytest.mark.parametrize("size", SIZES)
async def test_empty(size: str, update_screens: bool) -> None:
    async with interface(size=SIZES[size]) as (app, _):
        same_as_golden(f"empty-{size}", text_of(app), update=update_screens)


@pytest.mark.parametrize("size", SIZES)
async def test_done(size: str, update_screens: bool) -> None:
    async with interface(size=SIZES[size]) as (app, pilot):
        await say(pilot, "make the login retry test pass")
        same_as_golden(f"done-{size}", text_of(app), update=update_screens)


@pytest.mark.parametrize("size", ["dock", "usual", "small"])
async def test_approval(size: str, update_screens: bool) -> None:
    async with interface("ask", size=SIZES[size]) as (app, pilot):
        await say(pilot, "make the login retry test pass")
        app.main._tick = 0
        same_as_golden(f"approval-{size}", _without_time(text_of(app)), update=update_screens)


async def test_ascii(update_screens: bool) -> None:
    async with interface(size=(80, 24), ascii_glyphs=True) as (app, pilot):
        await say(pilot, "make the login retry test pass")
        text = text_of(app)
        assert text.isascii()
        same_as_golden("done-ascii", text, update=update_screens)


@pytest.mark.parametrize("command", ["help", "context", "why", "cost", "status", "permissions", "tools", "nonsense"])
async def test_reports(command: str, update_screens: bool) -> None:
    async with interface(size=(100, 40)) as (app, pilot):
        await say(pilot, f"/{command}")
        same_as_golden(f"report-{command}", text_of(app), update=update_screens)


@pytest.mark.parametrize("command", ["keys", "palette", "checkpoints", "diff", "resume", "model", "theme", "mode"])
async def test_overlays(command: str, update_screens: bool) -> None:
    async with interface(size=(100, 30)) as (app, pilot):
        await say(pilot, f"/{command}")
        same_as_golden(f"overlay-{command}", text_of(app), update=update_screens)


async def test_dock_over_the_conversation_on_narrow_screens(update_screens: bool) -> None:
    async with interface(size=(80, 24)) as (app, pilot):
        await say(pilot, "make the login retry test pass")
        await pilot.press("alt+p")
        await settle(pilot)
        same_as_golden("dock-narrow", text_of(app), update=update_screens)


async def test_evil_text_is_only_text(update_screens: bool) -> None:
    async with interface("evil", size=(120, 36)) as (app, pilot):
        await say(pilot, "go")
        text = text_of(app)
        assert not {"\x1b", "\x07", "\x9b", "\u202e", "\r"} & set(text)
        assert "[@click=app.quit]x[/]" in text
        same_as_golden("evil", _without_time(text), update=update_screens)


def _without_time(text: str) -> str:
    """The running clock of the status line is left out."""
    head, _, last = text.rstrip("\n").rpartition("\n")
    return head + "\n" + last.split(" asks you")[0] + "\n"


async def test_the_dom_stays_small() -> None:
    async with interface("long", size=(120, 40)) as (app, pilot):
        await settle(pilot)
        assert isinstance(app, TcoderApp)
        assert len(app.desk.transcript.blocks) > 1_500
        assert len(list(app.screen.walk_children())) <= 150
