"""A session that goes on as a copy of another begins with what is on record there, so that it can take it back."""

import os
from pathlib import Path

from tcoder.protocol.errors import WorkspaceError
from tcoder.workspace.ledger.ledger import ledger_folder
from tcoder.workspace.ledger.refs import ref_folder


def fork(root: Path, state_dir: Path, parent: str, session_id: str) -> None:
    """Begin the ledger of a session with the patches and checkpoints of its parent; its refs follow when it is opened.
    Does nothing when the parent has none. Raises `WorkspaceError`, also when the session has a ledger already."""
    folder = ledger_folder(root.resolve(), state_dir)
    try:
        data = (folder / f"{ref_folder(parent)}.jsonl").read_bytes()
    except FileNotFoundError:
        return
    except OSError as error:
        raise WorkspaceError(f"the ledger of {parent} cannot be read: {error.strerror}") from error
    place = folder / f"{ref_folder(session_id)}.jsonl"
    try:
        fd = os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        with os.fdopen(fd, "wb") as file:
            file.write(data[: data.rfind(b"\n") + 1])  # the parent may be in the middle of a line
    except OSError as error:
        raise WorkspaceError(f"the ledger cannot be written: {place}: {error.strerror}") from error
