"""The prompts of a project: stepping back through them, searching, keeping them in a private file."""

import os
import re
from pathlib import Path

import msgspec

KEPT = 1_000
_SECRET = re.compile(
    r"\b(sk-[\w-]{16,}|gh[pousr]_\w{20,}|AKIA[0-9A-Z]{16}|xox[abp]-[\w-]{10,}|eyJ[\w-]{20,}\.[\w-]{20,})"
)


class History:
    """Prompts, oldest first, each once. `path` empty = kept in memory only. A file that cannot be written is left
    alone: history is a convenience."""

    def __init__(self, path: str = "") -> None:
        self._path = Path(path) if path else None
        self.entries: list[str] = _load(self._path) if self._path else []
        self._at: int | None = None
        self._draft = ""

    def add(self, text: str) -> None:
        """Remember a prompt, unless it looks as if it held a key."""
        self._at = None
        text = text.strip("\n")
        if not text.strip() or _SECRET.search(text):
            return
        if text in self.entries:
            self.entries.remove(text)
        self.entries.append(text)
        del self.entries[:-KEPT]
        self._save()

    def older(self, draft: str) -> str | None:
        """The prompt before the shown one; `draft` is what is in the prompt now."""
        if not self.entries or self._at == 0:
            return None
        if self._at is None:
            self._draft, self._at = draft, len(self.entries)
        self._at -= 1
        return self.entries[self._at]

    def newer(self) -> str | None:
        """The prompt after the shown one, at last the draft."""
        if self._at is None:
            return None
        self._at += 1
        if self._at >= len(self.entries):
            self._at = None
            return self._draft
        return self.entries[self._at]

    def search(self, wanted: str) -> list[str]:
        """Prompts that hold `wanted`, newest first."""
        folded = wanted.casefold()
        return [entry for entry in reversed(self.entries) if folded in entry.casefold()]

    def _save(self) -> None:
        if self._path is None:
            return
        data = msgspec.json.encode(self.entries)
        temporary = self._path.with_suffix(".tmp")
        try:
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            with os.fdopen(fd, "wb") as file:
                file.write(data)
            temporary.replace(self._path)
        except OSError:
            self._path = None


def _load(path: Path) -> list[str]:
    try:
        return msgspec.json.decode(path.read_bytes(), type=list[str])[-KEPT:]
    except (OSError, msgspec.MsgspecError):
        return []
