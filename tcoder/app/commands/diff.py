"""`tcoder diff`: what the agent changed in the last session, or in `-r ID`, as it stands now."""

import sys

from tcoder.agent.journal import load
from tcoder.agent.state import replay
from tcoder.app.options import Options
from tcoder.app.place import find_place, find_session
from tcoder.protocol.codec import encode
from tcoder.workspace.ledger import Ledger


async def run(options: Options) -> int:
    place = find_place(options)
    path = find_session(place, options.resume or "")
    state = replay(recorded.event for recorded in load(path).events)
    diff = ""
    if state.checkpoints:
        ledger = await Ledger.open(place.root, place.config.folders.state, path.stem)
        try:
            diff = await ledger.diff(state.checkpoints[0].id)
        finally:
            await ledger.close()
    if options.json:
        sys.stdout.write(encode({"session_id": path.stem, "diff": diff}).decode() + "\n")
    else:
        sys.stdout.write(diff)
    return 0
