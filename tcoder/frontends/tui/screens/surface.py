"""What every action may use of the screen: the desk, other screens, the clipboard, programs outside."""

import os
from typing import cast

from textual.app import App
from textual.screen import Screen

from tcoder.frontends.lines import line
from tcoder.frontends.tui import clipboard, outside
from tcoder.frontends.tui.desk import Desk
from tcoder.frontends.tui.screens.text import TextScreen


class Surface(Screen[None]):
    """A screen on a desk."""

    def __init__(self, desk: Desk) -> None:
        super().__init__(id="main")
        self.desk = desk

    @property
    def host(self) -> App[int]:
        """The app, with its type."""
        return cast("App[int]", self.app)  # pyright: ignore[reportUnknownMemberType]  Textual leaves it open

    def show_screen(self, screen: Screen[None]) -> None:
        self.host.push_screen(screen)

    def leave(self, code: int = 0) -> None:
        self.host.exit(code)

    async def copy(self, text: str) -> None:
        if self.desk.startup.browser:
            # What is written to a browser's terminal does not reach its clipboard.
            lines = [line(of.expandtabs(4)) for of in text.split("\n")]
            self.show_screen(TextScreen("Select and copy with the browser", lines, self.desk.palette))
            return
        fallback = self.desk.startup.clip_file
        self.desk.note(await clipboard.copy(text, write=self.to_terminal, fallback=fallback, environment=os.environ))

    def to_terminal(self, data: str) -> None:
        """Send an escape sequence of tcoder's own to the real terminal."""
        driver = self.host._driver  # pyright: ignore[reportPrivateUsage]  Textual has no other way
        if driver is not None:
            driver.write(data)
            driver.flush()

    def edit_outside(self, text: str, suffix: str) -> str | None:
        """The text as it comes back from the editor; None when it was left as it is."""
        edited, problem = outside.edit(text, suffix, self.host.suspend, os.environ)
        if problem:
            self.desk.note(problem, "warning")
        return edited

    def run_outside(self, text: str) -> None:
        """Show a text in the pager."""
        if problem := outside.page(text, self.host.suspend, os.environ):
            self.desk.note(problem, "warning")
