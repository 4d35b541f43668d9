"""`tcoder sessions [list|show ID|export ID|rm ID]`: stored sessions of this repository."""

import shutil
import sys
from pathlib import Path

from tcoder.agent.export import markdown
from tcoder.agent.journal import Journal, load
from tcoder.agent.stored import summarise_all
from tcoder.app.options import Options
from tcoder.app.place import Place, find_place, find_session
from tcoder.app.printing import complain, say, say_json
from tcoder.frontends.sanitise import escape_json
from tcoder.protocol.errors import UsageError


async def run(options: Options) -> int:
    what, *rest = options.arguments or ("list",)
    place = find_place(options)
    if what == "list":
        _list(options, place)
        return 0
    if what not in ("show", "export", "rm"):
        raise UsageError(f"unknown: sessions {what}", "use list, show ID, export ID or rm ID")
    path = find_session(place, rest[0] if rest else "")
    if what == "rm":
        _remove(path)
    elif options.json:
        sys.stdout.write(escape_json(path.read_text(encoding="utf-8", errors="replace")))
    else:
        say(markdown([recorded.event for recorded in load(path).events]))
    return 0


def _list(options: Options, place: Place) -> None:
    summaries, problems = summarise_all(place.sessions)
    for problem in problems:
        complain(problem)
    if options.json:
        say_json({"sessions": summaries})
        return
    if not summaries:
        complain(f"no stored sessions for {place.root}")
    for summary in summaries:
        say(f"{summary.id}  {summary.updated}  {summary.turns:3} turns  {summary.title}\n")


def _remove(path: Path) -> None:
    """Remove a session that nobody has open, with what it kept beside the journal."""
    Journal(path).close()
    path.unlink()
    shutil.rmtree(path.with_suffix(""), ignore_errors=True)
