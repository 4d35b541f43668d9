"""Writing to the standard streams so that neither a closed pipe nor a narrow encoding ends the run."""

import os
from typing import TextIO


class Stream:
    """A text stream that may go away: after a broken pipe, writes do nothing and `broken` is True."""

    def __init__(self, file: TextIO) -> None:
        self._file = file
        self.broken = False
        self.is_terminal = file.isatty()
        encoding = (file.encoding or "utf-8").lower().replace("-", "")
        self._narrow = "" if encoding.startswith("utf") else file.encoding

    def write(self, text: str) -> None:
        """Write and flush `text`."""
        if self.broken:
            return
        if self._narrow:
            text = text.encode(self._narrow, "backslashreplace").decode(self._narrow)
        try:
            self._file.write(text)
            self._file.flush()
        except (BrokenPipeError, ConnectionResetError):
            self._silence()

    def _silence(self) -> None:
        """Point the stream to nowhere, so that Python's own flush at exit does not fail again."""
        self.broken = True
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, self._file.fileno())
        os.close(nowhere)


def wants_colour(stream: Stream, color: str, environment: dict[str, str]) -> bool:
    """`--color` first, then `NO_COLOR` and `FORCE_COLOR`, then whether the stream is a capable terminal."""
    if color in ("always", "never"):
        return color == "always"
    if environment.get("NO_COLOR"):
        return False
    if environment.get("FORCE_COLOR"):
        return True
    return stream.is_terminal and environment.get("TERM", "dumb") != "dumb"
