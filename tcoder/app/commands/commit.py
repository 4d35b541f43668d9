"""`tcoder commit [--all] [-m TEXT]`: commit the accepted hunks and nothing else; with `--all`, what the agent changed
is accepted first. Your own changes, staged or not, stay as they are."""

import sys

from tcoder.agent.reviewing import draft_message, since_of
from tcoder.app.desk import Desk, open_desk
from tcoder.app.options import Options
from tcoder.app.printing import complain, say, say_json
from tcoder.frontends.sanitise import clean
from tcoder.protocol.errors import WorkspaceError


async def run(options: Options) -> int:
    """Exit code 0 = committed, 2 = it cannot be tried, also where the repository's own hooks would run and nobody has
    trusted it, 3 = a hook or git refused."""
    async with open_desk(options) as desk:
        message = options.message or draft_message(desk.state)
        since = await _choose(desk, everything=options.all)
        done = await desk.reviewer.commit(since, message, hooks=not options.no_hooks)
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


async def _choose(desk: Desk, *, everything: bool) -> str:
    """The checkpoint since which there is something to commit. Raises `WorkspaceError` when there is nothing."""
    if not desk.state.checkpoints:
        raise WorkspaceError("this session has changed nothing", "there is nothing to commit")
    since = since_of(desk.state)
    current = await desk.reviewer.look(since)
    if everything:
        made = tuple(hunk.id for hunk in current.hunks if hunk.state == "open" and hunk.origin == "agent")
        await desk.reviewer.judge(since, made, "accepted")
    elif current.hunks and not any(hunk.state == "accepted" for hunk in current.hunks):
        hint = "`tcoder review --accept ID…` accepts hunks, `tcoder commit --all` all that the agent changed"
        raise WorkspaceError("nothing is accepted", hint)
    if not current.hunks:
        raise WorkspaceError("nothing is left that this session changed", "there is nothing to commit")
    return since
