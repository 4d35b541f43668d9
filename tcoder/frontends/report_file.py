"""Files that a front end writes because a person asks: never over another, readable by the user alone."""

import os
from pathlib import Path

from tcoder.frontends.startup import Startup


def write_new(path: Path, text: str) -> Path:
    """Write a file that did not exist. Raises `OSError`."""
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(text)
    return path


def bug_file(startup: Startup, session_id: str) -> Path:
    """A new name beside tcoder's own log, or in the folder when there is none."""
    folder = Path(startup.log_file).parent if startup.log_file else Path(startup.workspace)
    stem = f"tcoder-bug-{session_id or 'no-session'}"
    numbered = (folder / f"{stem}{f'-{number}' if number else ''}.md" for number in range(1000))
    return next(path for path in numbered if not path.exists())
