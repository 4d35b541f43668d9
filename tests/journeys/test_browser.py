"""`tcoder web` in a real browser: the page draws the interface, keys reach it, an approval works there."""

import asyncio
import signal
from pathlib import Path
from typing import Any

import pytest
from support.browser import Page, colours, open_page
from support.desk import FIX, Desk

pytestmark = pytest.mark.browser
TITLE, BANNER, ADDED = bytes.fromhex("7aa2f7"), bytes.fromhex("e0af68"), bytes.fromhex("b9e08c")
"""Colours of the theme, in which the product's name, the browser's banner and added lines stand."""


async def test_a_task_is_done_in_a_browser(desk: Desk, serve: Any, tmp_path: Path) -> None:
    server = serve({"calls": [FIX]}, {"text": "Done."})
    with desk.start("web", "--base-url", server.url, "-m", "scripted") as process:
        try:
            assert process.stdout is not None
            address = (await asyncio.to_thread(process.stdout.readline)).strip()
            assert address.startswith("http://127.0.0.1:") and "token=" in address
            async with open_page(address) as page:
                await page.until("document.querySelector('.xterm-screen canvas, .xterm-rows') !== null")
                await page.until("!location.search.includes('token')")
                await _until_drawn(page, TITLE, BANNER)
                await page.evaluate("document.querySelector('.xterm-helper-textarea').focus()")
                await page.type("fix add")
                await page.press_enter()
                async with asyncio.timeout(30):
                    while not server.requests:
                        await asyncio.sleep(0.05)
                assert "fix add" in server.requests[0].raw.decode()
                while "return a + b" not in (desk.root / "calc.py").read_text():
                    await asyncio.sleep(1)  # an answer that comes too early is none
                    await page.type("1")
                shown = await page.picture()
                (tmp_path / "done.png").write_bytes(shown)
                assert colours(shown)[ADDED] > 20
        finally:
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=20)
    assert process.returncode == 0


async def _until_drawn(page: Page, *wanted: bytes) -> None:
    """Until the first lines of the page hold these colours, and more than a stray pixel of each."""
    async with asyncio.timeout(30):
        while True:
            found = colours(await page.picture(20))
            if all(found.get(colour, 0) >= 20 for colour in wanted):
                return
            await asyncio.sleep(0.1)
