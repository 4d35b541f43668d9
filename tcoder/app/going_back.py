"""Undo and redo from the command line."""

import sys
from typing import Literal

from tcoder.app.desk import open_desk
from tcoder.app.options import Options
from tcoder.protocol.codec import encode


async def change(options: Options, direction: Literal["undo", "redo"]) -> int:
    """Undo or redo the patch that is named, else the last one. Raises `WorkspaceError` when it cannot be done."""
    wanted = options.arguments[0] if options.arguments else ""
    async with open_desk(options) as desk:
        patch = await (desk.ledger.undo(wanted) if direction == "undo" else desk.ledger.redo(wanted))
        desk.record_patches("undid" if direction == "undo" else "redid")
    if options.json:
        sys.stdout.write(encode(patch).decode() + "\n")
    else:
        files = ", ".join(file.path for file in patch.files)
        sys.stdout.write(f"{direction} of {patch.cause.summary}: {files} (+{patch.insertions} −{patch.deletions})\n")
    return 0
