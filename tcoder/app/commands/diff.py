"""`tcoder diff`: what has changed since the last session began, or `-r ID`, as it stands now."""

import sys

from tcoder.app.desk import open_desk
from tcoder.app.options import Options
from tcoder.app.printing import say_json
from tcoder.frontends.sanitise import clean


async def run(options: Options) -> int:
    async with open_desk(options) as desk:
        checkpoints = desk.state.checkpoints
        diff = await desk.ledger.diff(checkpoints[0].id) if checkpoints else ""
        session_id = desk.state.session_id
    if options.json:
        say_json({"session_id": session_id, "diff": diff})
    else:
        # a pipe gets the patch itself, byte for byte, so that it can be applied
        sys.stdout.write(clean(diff) if sys.stdout.isatty() else diff)
    return 0
