"""Undo and redo from the command line: the ledger of a stored session, opened again; the journal learns of it."""

import sys
from typing import Literal

from tcoder.agent.journal import Journal, load
from tcoder.agent.state import replay
from tcoder.app.options import Options
from tcoder.app.place import find_place, find_session
from tcoder.protocol.codec import encode
from tcoder.protocol.events import NoteAdded, PatchApplied
from tcoder.workspace.ledger import Ledger


async def change(options: Options, direction: Literal["undo", "redo"]) -> int:
    """Undo or redo the patch that is named, else the last one. Raises `WorkspaceError` when it cannot be done."""
    place = find_place(options)
    path = find_session(place, options.resume or "")
    loaded = load(path)
    state = replay(recorded.event for recorded in loaded.events)
    journal = Journal(path, next_seq=loaded.events[-1].seq + 1 if loaded.events else 1)
    ledger = await Ledger.open(place.root, place.config.folders.state, path.stem)
    try:
        wanted = options.arguments[0] if options.arguments else ""
        patch = await (ledger.undo(wanted) if direction == "undo" else ledger.redo(wanted))
        for changed in ledger.patches:
            if changed not in state.patches:
                journal.append(PatchApplied(changed))
        files = ", ".join(file.path for file in patch.files)
        verb = "undid" if direction == "undo" else "redid"
        journal.append(NoteAdded("undo", f"The person {verb} changes in: {files}. Read these files again."))
    finally:
        journal.close()
        await ledger.close()
    if options.json:
        sys.stdout.write(encode(patch).decode() + "\n")
    else:
        sys.stdout.write(f"{direction} of {patch.cause.summary}: {files} (+{patch.insertions} −{patch.deletions})\n")
    return 0
