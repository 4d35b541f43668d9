"""Asks before a home folder, or all of a disk, is opened as if it were a project. Imports next to nothing: it comes
before the first frame."""

import sys
from pathlib import Path

from tcoder.app.options import Options
from tcoder.protocol.errors import UsageError

HINT = "start in a project, or name the folder if you mean all of it: tcoder ~"


def ask(options: Options) -> None:
    """Return when the folder is no wide one, was named, or the person says yes. Raises `UsageError`."""
    if options.path != ".":
        return
    try:
        where, home = Path.cwd().resolve(), Path.home().resolve()
    except (FileNotFoundError, RuntimeError):  # no such folder any more, no home: that is for others to say
        return
    if not home.is_relative_to(where):
        return
    what = "your home folder" if where == home else f"{where}, which holds your home folder and more"
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise UsageError(f"this is {what}, not a project", HINT)
    sys.stderr.write(f"This is {what}. tcoder would read and watch everything in it.\nOpen it all the same? [y/N] ")
    sys.stderr.flush()
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise UsageError("nothing was opened", HINT)
