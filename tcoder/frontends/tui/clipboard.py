"""Copying that says where the text went: a native tool, the terminal (OSC 52), or a file."""

import asyncio
import base64
import os
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

from tcoder.frontends.figures import plural

LARGEST_OSC52 = 74_000
"""Bytes of base64 that terminals take; more is cut by some of them without a word."""
TOOLS: tuple[tuple[str, ...], ...] = (
    ("pbcopy",),
    ("wl-copy",),
    ("xclip", "-selection", "clipboard"),
    ("xsel", "--clipboard", "--input"),
    ("clip.exe",),
)


def native_tool(environment: Mapping[str, str], which: Callable[[str], str | None] = shutil.which) -> tuple[str, ...]:
    """The clipboard tool of this desktop; none over SSH, where it would fill somebody else's clipboard."""
    if environment.get("SSH_CONNECTION") or environment.get("SSH_TTY"):
        return ()
    for tool in TOOLS:
        if tool[0] == "wl-copy" and not environment.get("WAYLAND_DISPLAY"):
            continue
        if tool[0] in ("xclip", "xsel") and not environment.get("DISPLAY"):
            continue
        if which(tool[0]):
            return tool
    return ()


def osc52(text: str, *, tmux: bool) -> str | None:
    """The escape sequence that asks the terminal to take `text`; in tmux bare and wrapped. None when it is too long."""
    data = base64.b64encode(text.encode()).decode()
    if len(data) > LARGEST_OSC52:
        return None
    bare = f"\x1b]52;c;{data}\x07"
    return bare + f"\x1bPtmux;\x1b{bare}\x1b\\" if tmux else bare


async def run_tool(command: tuple[str, ...], text: str) -> bool:
    """Give `text` to a clipboard tool; False when it fails or takes more than a second."""
    try:
        process = await asyncio.create_subprocess_exec(
            *command,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.DEVNULL,
        )
    except OSError:
        return False
    try:
        await asyncio.wait_for(process.communicate(text.encode()), 1.0)
    except (TimeoutError, BrokenPipeError):
        if process.returncode is None:
            process.kill()
            await process.wait()
        return False
    return process.returncode == 0


def save(path: str, text: str) -> bool:
    """Keep the text in a private file; False when that cannot be done."""
    try:
        fd = os.open(Path(path), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(fd, "w", encoding="utf-8") as file:
            file.write(text)
    except OSError:
        return False
    return True


async def copy(text: str, *, write: Callable[[str], None], fallback: str, environment: Mapping[str, str]) -> str:
    """Copy by the best way there is and return the sentence that says which. `write` sends to the real terminal."""
    size = plural(len(text), "character")
    tool = native_tool(environment)
    if tool and await run_tool(tool, text):
        return f"copied, {size} ({tool[0]})"
    sequence = osc52(text, tmux=bool(environment.get("TMUX")))
    if sequence is not None and environment.get("TERM", "dumb") not in ("dumb", "linux"):
        write(sequence)
        return f"sent to the terminal, {size} (OSC 52, which cannot be verified)"
    if fallback and save(fallback, text):
        return f"clipboard unavailable, {size} saved to {fallback}"
    return "clipboard unavailable, nothing was copied"
