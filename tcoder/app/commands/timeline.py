"""`tcoder timeline`: patches and checkpoints of the last session, or of `-r ID`."""

from tcoder.agent.queries import timeline
from tcoder.agent.recall import recall
from tcoder.app.options import Options
from tcoder.app.place import find_place, find_session
from tcoder.app.printing import say, say_json


async def run(options: Options) -> int:
    path = find_session(find_place(options), options.resume or "")
    entries = timeline(recall(path).state).entries
    if options.json:
        rows = [
            {
                "id": entry.id,
                "time": entry.time,
                "kind": entry.kind,
                "cause": entry.cause,
                "turn": entry.turn,
                "attempt": entry.attempt,
                "files": entry.files,
                "insertions": entry.insertions,
                "deletions": entry.deletions,
                "checks": entry.checks,
                "undone": entry.undone,
                "uncovered": entry.uncovered,
            }
            for entry in entries
        ]
        say_json(rows)
        return 0
    for entry in entries:
        mark = "◆" if entry.kind == "checkpoint" else " "
        size = f"+{entry.insertions} −{entry.deletions}" if entry.kind == "patch" else ""
        undone = " (undone)" if entry.undone else ""
        files = ", ".join(entry.files[:4]) + (" …" if len(entry.files) > 4 else "")
        say(f"{mark} {entry.id:5} {entry.time[11:19]}  {entry.cause[:60]}{undone}  {files}  {size}\n")
        if entry.kind == "patch":
            say("".join(f"        not covered: {text}\n" for text in entry.uncovered))
    return 0
