"""`tcoder apply [FILE|-]`: apply a patch in any supported edit format, as a whole or not at all."""

import sys
from pathlib import Path

from msgspec import Struct

from tcoder.app.options import Options
from tcoder.app.place import find_place
from tcoder.app.printing import say, say_json
from tcoder.protocol.edits import FileChange
from tcoder.protocol.errors import PatchError, UsageError, WorkspaceError
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
    text = _read(options.arguments[0] if options.arguments else "-")
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
            files.commit_writes(result, {path: file.digest for path, file in read.items()})
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


def _read(name: str) -> str:
    if name == "-":
        return sys.stdin.buffer.read().decode("utf-8", "surrogateescape")
    try:
        return Path(name).read_bytes().decode("utf-8", "surrogateescape")
    except OSError as error:
        raise UsageError(f"cannot read {name}: {error.strerror}") from error
