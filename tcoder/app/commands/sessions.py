"""`tcoder sessions [list|show ID|export ID|rm ID…]`: stored sessions of this repository.

`show` says what a session is and what its next request would hold, layer by layer; `export` writes all of it, as
Markdown or (`--json`) as one object.
"""

import shutil
import sys
from pathlib import Path

from tcoder.agent.export import as_json, markdown
from tcoder.agent.journal import Journal, Stored
from tcoder.agent.layers import context_report
from tcoder.agent.recall import recall
from tcoder.agent.stored import summarise, summarise_all
from tcoder.app import parts
from tcoder.app.options import Options
from tcoder.app.place import Place, find_place, find_session
from tcoder.app.printing import complain, say, say_json
from tcoder.app.variants import NOBODY
from tcoder.frontends import explain
from tcoder.frontends.sanitise import escape_json
from tcoder.protocol.errors import UsageError
from tcoder.protocol.events import SessionResumed, SessionStarted
from tcoder.protocol.queries import ContextReport, SessionSummary
from tcoder.tools import registry


async def run(options: Options) -> int:
    what, *rest = options.arguments or ("list",)
    place = find_place(options)
    if what == "list":
        _list(options, place)
        return 0
    if what not in ("show", "export", "rm"):
        raise UsageError(f"unknown: sessions {what}", "use list, show ID, export ID or rm ID")
    if what == "rm":
        _remove(options, place, rest)
        return 0
    path = find_session(place, rest[0] if rest else "")
    if what == "show":
        _show(options, place, path)
    else:
        _export(options, path)
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
        say(f"{_line(summary)}\n")


def _line(summary: SessionSummary) -> str:
    busy = "  (open in another tcoder)" if summary.busy else ""
    return f"{summary.id}  {summary.updated}  {summary.turns:3} turns  {summary.title}{busy}"


def _show(options: Options, place: Place, path: Path) -> None:
    """What it is and what its next request would hold, layer by layer."""
    summary, report = summarise(path), _context(options, place, path)
    if options.json:
        say_json({"session": summary, "context": report})
        return
    cost = "unknown" if summary.usage.cost is None else f"${summary.usage.cost}"
    say(f"{_line(summary)}\n")
    say(f"{summary.model}, {summary.usage.calls} model calls, {summary.usage.total} tokens, cost {cost}\n")
    if summary.parent:
        say(f"forked from {summary.parent}\n")
    say(f"\n{explain.context(report)}\n")


def _context(options: Options, place: Place, path: Path) -> ContextReport:
    recalled = recall(path)
    opened = (one.event for one in reversed(recalled.past) if isinstance(one.event, SessionStarted | SessionResumed))
    variant = next((event.variant for event in opened), NOBODY)
    tools = registry.shipped().specs
    frame = parts.frame(place, options, parts.find_checks(place, options), tools, path.stem, recalled.state.outline)
    return context_report(recalled.state, frame, variant, parts.budget_of(place.settings))


def _export(options: Options, path: Path) -> None:
    stored = Stored(path)
    if options.json:
        for piece in as_json(summarise(path), stored, lambda: stored.problems):
            sys.stdout.write(escape_json(piece.decode()))
        return
    for part in markdown(recorded.event for recorded in stored):
        say(f"{part}\n\n")
    for problem in stored.problems:
        complain(problem)


def _remove(options: Options, place: Place, ids: list[str]) -> None:
    """Remove the sessions that are named, with what they kept beside the journal; none when one of them is not there
    or is open elsewhere. No name, also an empty one, never means the last one."""
    if not ids or not all(ids):
        raise UsageError("tcoder sessions rm needs the id of a session", "see `tcoder sessions`; nothing was removed")
    paths = list(dict.fromkeys(find_session(place, one) for one in ids))
    for path in paths:
        Journal(path).close()
    for path in paths:
        path.unlink()
        shutil.rmtree(path.with_suffix(""), ignore_errors=True)
    if options.json:
        say_json({"removed": [path.stem for path in paths]})
    else:
        say("".join(f"removed {path.stem}\n" for path in paths))
