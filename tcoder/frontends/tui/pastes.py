"""Long pastes as chips: a short name in the prompt, the whole text when it is sent. Pure."""

import re

CHIP_LINES, CHIP_CHARACTERS = 10, 2_000
_PATH = re.compile(r"(?:file://)?(/[^\s'\"]+|'/[^']+')\s*")


class Pastes:
    """The chips of one prompt."""

    def __init__(self) -> None:
        self._kept: dict[str, str] = {}

    def take(self, text: str) -> str:
        """What to insert for a pasted text: itself, `@path` for a path, or a chip."""
        if (path := _PATH.fullmatch(text)) is not None:
            return "@" + path[1].strip("'") + " "
        lines = text.count("\n") + 1
        if lines <= CHIP_LINES and len(text) <= CHIP_CHARACTERS:
            return text
        chip = f"[paste {len(self._kept) + 1}: {lines} lines, {len(text)} characters]"
        self._kept[chip] = text
        return chip

    def expand(self, text: str) -> str:
        """`text` with every chip that is still whole replaced by what was pasted."""
        for chip, pasted in self._kept.items():
            text = text.replace(chip, pasted)
        return text

    def clear(self) -> None:
        self._kept.clear()
