"""`tcoder review [accept|reject|open ID…|all] [--message REASON]`: what the agent changed, hunk by hunk."""

from tcoder.agent.reviewing import since_of
from tcoder.app.desk import Desk, open_desk
from tcoder.app.options import Options
from tcoder.app.printing import say, say_json
from tcoder.protocol.errors import UsageError
from tcoder.protocol.events import NoteAdded
from tcoder.protocol.review import Review

VERDICTS = {"accept": "accepted", "reject": "rejected", "open": "open"}
MARKS = {"open": "·", "accepted": "✓", "rejected": "✗", "stale": "!", "mixed": "◐"}


async def run(options: Options) -> int:
    what, *ids = options.arguments or ("",)
    if what and (what not in (*VERDICTS, "split") or not ids):
        raise UsageError(
            f"unknown: review {' '.join(options.arguments)}", "review accept|reject|open ID… or all; split ID"
        )
    async with open_desk(options) as desk:
        since = since_of(desk.state)
        if what == "split":
            for one in ids:
                await desk.reviewer.split(since, one)
        elif what:
            await _judge(desk, since, tuple(ids), VERDICTS[what], options.message)
        current = await desk.reviewer.look(since)
        desk.record_patches("changed or took back")
    _show(current, as_json=options.json)
    return 0


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
