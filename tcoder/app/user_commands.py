"""Slash commands from files: shipped, the user's own, and those of a folder that is trusted."""

from pathlib import Path

from tcoder.app.place import Place
from tcoder.protocol.queries import UserCommand
from tcoder.resources import prompt

MOST = 100
LONGEST = 20_000
"""Characters of a command's text: it is sent as a message."""


def find(place: Place) -> tuple[UserCommand, ...]:
    """`NAME.md` in `commands/` of the user's settings and, when it is trusted, of the folder's `.tcoder/`; the first
    line that is no heading's mark describes it. A folder's command does not replace one of the user's."""
    found = {"init": UserCommand("init", "Write AGENTS.md for this repository", prompt("commands/init"), "tcoder")}
    folders = [(place.config.folders.config / "commands", "yours")]
    if place.trusted:
        folders.append((place.root / ".tcoder" / "commands", ".tcoder/commands"))
    for folder, source in folders:
        for file in sorted(folder.glob("*.md"))[:MOST]:
            if file.stem not in found and (text := _read(file)):
                found[file.stem] = UserCommand(file.stem, text.split("\n", 1)[0].lstrip("# ")[:100], text, source)
    return tuple(found.values())


def _read(file: Path) -> str:
    """The command's text; empty for a file that cannot be one."""
    try:
        return file.read_text(encoding="utf-8")[:LONGEST].strip()
    except (OSError, UnicodeDecodeError):
        return ""
