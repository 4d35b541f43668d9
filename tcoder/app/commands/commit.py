"""`tcoder commit [-m TEXT]`: commit the accepted hunks and nothing else; your own staged changes stay as they are."""

import sys

from tcoder.agent.reviewing import draft_message, since_of
from tcoder.app.desk import open_desk
from tcoder.app.options import Options
from tcoder.app.printing import complain, say, say_json
from tcoder.frontends.sanitise import clean


async def run(options: Options) -> int:
    """Exit code 0 = committed, 2 = it cannot be tried, also where the repository's own hooks would run and nobody has
    trusted it, 3 = a hook or git refused."""
    async with open_desk(options) as desk:
        message = options.message or draft_message(desk.state)
        done = await desk.reviewer.commit(since_of(desk.state), message, hooks=not options.no_hooks)
        desk.record_patches("changed")
    if options.json:
        say_json(done)
    else:
        sys.stderr.write(clean(done.output))
        for notice in done.notices:
            complain(notice)
        if done.commit:
            left = f", {done.left_out} hunks left out" if done.left_out else ""
            say(f"{done.commit[:10]} {message.splitlines()[0]} ({len(done.files)} files{left})\n")
    return 0 if done.commit else 3
