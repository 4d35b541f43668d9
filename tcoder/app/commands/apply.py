"""`tcoder apply [FILE|-]`: apply a patch in any supported edit format, as a whole or not at all.

It goes into the timeline of the last session, or of `-r ID`, so that `tcoder undo` takes it back; where there is no
session yet, one is begun for it. `--no-session` leaves it out.
"""

import sys
from collections.abc import Callable
from pathlib import Path

from msgspec import Struct

from tcoder.app.desk import open_desk
from tcoder.app.options import Options
from tcoder.app.place import find_place
from tcoder.app.printing import complain, say, say_json
from tcoder.protocol.edits import FileChange
from tcoder.protocol.errors import JournalError, PatchError, UsageError, WorkspaceError
from tcoder.workspace.files.files import FileText, WorkspaceFiles
from tcoder.workspace.patching.engine import apply_edits
from tcoder.workspace.patching.formats import parse


class Applied(Struct, frozen=True):
    """The JSON of `apply`: `error` is null when it applied."""

    applied: bool
    files: tuple[FileChange, ...]
    error: str | None = None


async def run(options: Options) -> int:
    """Exit code 0 = applied (or would, with --check), 2 = it does not apply."""
    name = options.arguments[0] if options.arguments else "-"
    text = _read(name)
    files = WorkspaceFiles(find_place(options).root)
    read: dict[str, FileText] = {}

    def contents(path: str) -> FileText | None:
        file = files.read_if_there(path)
        if file is not None:
            read[file.path] = file
        return file

    try:
        result = apply_edits(parse(text), contents)
        if not options.check:

            def write() -> None:
                files.commit_writes(result, {path: file.digest for path, file in read.items()})

            await _recorded(options, f"tcoder apply {name}", write)
    except (PatchError, WorkspaceError) as error:
        if not options.json:
            raise
        say_json(Applied(False, (), str(error)))
        return 2
    if options.json:
        say_json(Applied(not options.check, result.changes))
    else:
        for change in result.changes:
            how = f" (matched by {change.matched_by})" if change.matched_by else ""
            counts = f"+{change.insertions} −{change.deletions}"
            say(f"{change.change:9} {change.path}  {counts}{how}\n")
    return 0


async def _recorded(options: Options, summary: str, write: Callable[[], None]) -> None:
    """Write, so that it can be undone. A session that is open in another tcoder takes it as a change of the person."""
    if options.no_session:
        write()
        return
    try:
        async with open_desk(options, begins=summary) as desk:
            await desk.change(summary, write)
    except JournalError as busy:
        if options.resume is not None:
            raise
        write()
        complain(f"applied, but `tcoder undo` does not know of it: {busy.message}")


def _read(name: str) -> str:
    if name == "-":
        return sys.stdin.buffer.read().decode("utf-8", "surrogateescape")
    try:
        return Path(name).read_bytes().decode("utf-8", "surrogateescape")
    except OSError as error:
        raise UsageError(f"cannot read {name}: {error.strerror}") from error
