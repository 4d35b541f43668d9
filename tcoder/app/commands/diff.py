"""`tcoder diff`: what has changed since the last session began, or `-r ID`, as it stands now."""

import sys

from tcoder.app.desk import open_desk
from tcoder.app.options import Options
from tcoder.protocol.codec import encode


async def run(options: Options) -> int:
    async with open_desk(options) as desk:
        checkpoints = desk.state.checkpoints
        diff = await desk.ledger.diff(checkpoints[0].id) if checkpoints else ""
        session_id = desk.state.session_id
    if options.json:
        sys.stdout.write(encode({"session_id": session_id, "diff": diff}).decode() + "\n")
    else:
        sys.stdout.write(diff)
    return 0
