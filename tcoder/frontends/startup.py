"""What a front end is told before it has a session."""

from typing import Literal

from msgspec import Struct

from tcoder.protocol.queries import UserCommand

MouseMode = Literal["on", "off", "scroll-only"]
ThemeName = Literal[
    "tcoder-dark", "tcoder-light", "high-contrast-dark", "high-contrast-light", "colour-blind", "ansi", "mono"
]


LINES = -1
"""What the interface ends with when the person goes on in line mode."""


class Startup(Struct, frozen=True):
    """Settings of the interface. `workspace` is an absolute path. `task` is sent as the first message. `keys` maps
    action ids to keys. `log_file` takes everything that would be written on standard error while the screen is in use;
    `history_file` keeps the prompts of this project; `clip_file` is where copied text goes when no clipboard can be
    had. `no_model` says why there is no model to use, empty = there is one. `ask_trust` = the folder has settings of
    its own that count only when the person says so. `user_commands` are slash commands from files. `browser` = the
    terminal is a browser's tab. An empty path = not kept."""

    workspace: str
    version: str = ""
    title: str = ""
    branch: str = ""
    sandbox: str = ""
    task: str = ""
    theme: ThemeName = "tcoder-dark"
    mouse: MouseMode = "on"
    reduced_motion: bool = False
    ascii_glyphs: bool = False
    colour: bool = True
    keys: dict[str, str] = {}
    log_file: str = ""
    history_file: str = ""
    clip_file: str = ""
    no_model: str = ""
    ask_trust: bool = False
    user_commands: tuple[UserCommand, ...] = ()
    browser: bool = False
