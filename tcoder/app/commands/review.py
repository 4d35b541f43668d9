"""`tcoder review [--accept ID…|--all] [--reject ID…] [-m REASON]`: what the agent changed, hunk by hunk.

The same in words: `review accept|reject|open ID…` or `all`; `review split ID` cuts a hunk in two.
"""

import sys

from tcoder.agent.reviewing import since_of
from tcoder.app.desk import Desk, open_desk
from tcoder.app.options import Options
from tcoder.app.printing import complain, say, say_json
from tcoder.protocol.errors import UsageError
from tcoder.protocol.events import NoteAdded
from tcoder.protocol.review import Review

VERDICTS = {"accept": "accepted", "reject": "rejected", "open": "open"}
MARKS = {"open": "·", "accepted": "✓", "rejected": "✗", "stale": "!", "mixed": "◐"}


async def run(options: Options) -> int:
    async with open_desk(options) as desk:
        since = since_of(desk.state)
        for what, ids in _asked(options):
            if what == "split":
                for one in ids:
                    await desk.reviewer.split(since, one)
            else:
                await _judge(desk, since, ids, VERDICTS[what], options.message)
        current = await desk.reviewer.look(since)
        desk.record_patches("changed or took back")
    _show(current, as_json=options.json)
    if sys.stdout.isatty() and any(hunk.state == "open" for hunk in current.hunks):
        complain("decide with --accept ID…, --reject ID… or --accept --all; then `tcoder commit -m TEXT`")
    return 0


def _asked(options: Options) -> list[tuple[str, tuple[str, ...]]]:
    """What is to be done with which hunks, in this order: `all` comes last, so that it means the others. Raises
    `UsageError`."""
    what, *ids = options.arguments or ("",)
    asked = [
        (flag, named) for flag, named in (("accept", options.accept), ("reject", options.reject)) if named is not None
    ]
    if what:
        asked.insert(0, (what, tuple(ids)))
    asked = [(what, named or ("all",) if options.all else named) for what, named in asked]
    unknown = what and what not in (*VERDICTS, "split")
    if unknown or not all(named for _, named in asked) or (options.all and not asked):
        raise UsageError(
            "tcoder review does not know what to do with which hunks",
            "review --accept ID…, --reject ID…, or --accept --all; review open ID…, split ID",
        )
    return sorted(asked, key=lambda one: one[1] == ("all",))


async def _judge(desk: Desk, since: str, ids: tuple[str, ...], verdict: str, reason: str) -> None:
    taken_back = await desk.reviewer.judge(since, ids, verdict, reason)
    if taken_back is not None:
        told = desk.reviewer.rejections()
        if told:
            desk.record(NoteAdded("review", told))


def _show(current: Review, *, as_json: bool) -> None:
    if as_json:
        files = [
            {
                "path": file.path,
                "state": file.state,
                "change": file.change,
                "hunks": [
                    {
                        "id": hunk.id,
                        "header": hunk.header,
                        "lines": hunk.lines,
                        "origin": hunk.origin,
                        "state": hunk.state,
                        "kind": hunk.kind,
                    }
                    for hunk in file.hunks
                ],
            }
            for file in current.files
        ]
        say_json({"files": files})
        return
    if not current.files:
        say("nothing has changed\n")
    for file in current.files:
        say(f"{MARKS[file.state]} {file.path}  {file.change} +{file.insertions} −{file.deletions}\n")
        for hunk in file.hunks:
            whose = " (yours)" if hunk.origin == "user" else ""
            say(f"  {MARKS[hunk.state]} {hunk.id}  {hunk.header}{whose}\n")
            say("".join(f"      {line}\n" for line in hunk.lines))
