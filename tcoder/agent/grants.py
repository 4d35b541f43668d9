"""The rules of a session: those of the settings, and what a person answered with "always"."""

import contextlib
import os
from pathlib import Path

from tcoder.protocol.errors import UsageError
from tcoder.protocol.permissions import Answer, Rule
from tcoder.tools.policy.rules import load_rules


class Grants:
    """Rules in the order in which they are tried. `file` keeps what is always allowed in this project; it lies in the
    user's own folders, never in the repository, and may be edited by hand."""

    def __init__(self, settings: tuple[Rule, ...], file: Path | None) -> None:
        self._settings = settings
        self._file = file
        self._session: list[Rule] = []
        self._kept = self._read()

    @property
    def rules(self) -> tuple[Rule, ...]:
        return (*self._settings, *self._kept, *self._session)

    def add(self, rule: Rule, answer: Answer) -> None:
        """Allow from now on: for this session, or with `project` for every later one too. Raises `UsageError` when it
        cannot be kept."""
        if answer == "session":
            self._session.append(rule)
        elif answer == "project":
            self._kept = (*self._kept, rule)
            self._write()

    def _read(self) -> tuple[Rule, ...]:
        if self._file is None:
            return ()
        with contextlib.suppress(FileNotFoundError):
            return load_rules(self._file.read_text(encoding="utf-8"), str(self._file))
        return ()

    def _write(self) -> None:
        if self._file is None:
            return
        tables = [
            f"[[rules]]\ndecision = {_quoted(r.decision)}\ntool = {_quoted(r.tool)}\nmatch = {_quoted(r.match)}\n"
            for r in self._kept
        ]
        temporary = self._file.with_suffix(".new")
        try:
            fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
            with os.fdopen(fd, "w", encoding="utf-8") as file:
                file.write("\n".join(tables))
            temporary.replace(self._file)
        except OSError as error:
            raise UsageError(f"the rule could not be kept in {self._file}: {error.strerror}") from error


def _quoted(text: str) -> str:
    """A TOML basic string."""
    escaped = "".join(f"\\u{ord(c):04x}" if ord(c) < 32 or c in '"\\\x7f' else c for c in text)
    return f'"{escaped}"'
