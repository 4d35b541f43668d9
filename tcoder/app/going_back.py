"""Undo and redo from the command line."""

from typing import Literal

from tcoder.app.desk import open_desk
from tcoder.app.options import Options
from tcoder.app.printing import complain, say, say_json


async def change(options: Options, direction: Literal["undo", "redo"]) -> int:
    """Undo or redo the patch that is named, else the last one. Raises `WorkspaceError` when it cannot be done."""
    wanted = options.arguments[0] if options.arguments else ""
    async with open_desk(options) as desk:
        patch = await (desk.ledger.undo(wanted) if direction == "undo" else desk.ledger.redo(wanted))
        of = next(one for one in desk.ledger.patches if one.id == patch.cause.summary)
        desk.record_patches("undid" if direction == "undo" else "redid")
    if options.json:
        say_json(patch)
    else:
        files = ", ".join(file.path for file in patch.files)
        if direction == "undo" and of.lost:
            complain(f"not brought back, since git ignores it and nothing holds it: {', '.join(of.lost)}")
        say(f"{direction} of {patch.cause.summary}: {files} (+{patch.insertions} −{patch.deletions})\n")
    return 0
