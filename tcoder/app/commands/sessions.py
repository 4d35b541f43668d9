"""`tcoder sessions [list|show ID|export ID|rm ID]`: stored sessions of this repository."""

import shutil
import sys
from datetime import UTC, datetime
from pathlib import Path

from msgspec import Struct

from tcoder.agent.export import markdown
from tcoder.agent.journal import Journal, load
from tcoder.agent.state import SessionState, replay
from tcoder.app.build import Place, find_place, find_session, stored_sessions
from tcoder.app.options import Options
from tcoder.protocol.codec import encode
from tcoder.protocol.errors import JournalError, UsageError
from tcoder.protocol.messages import TextPart, UserMessage


class Summary(Struct, frozen=True):
    """One stored session. `updated` is ISO 8601 UTC."""

    id: str
    title: str
    updated: str
    turns: int
    bytes: int


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
        sys.stdout.buffer.write(path.read_bytes())
    else:
        sys.stdout.write(markdown([recorded.event for recorded in load(path).events]))
    return 0


def summarise(path: Path) -> Summary:
    """What a list shows of a journal. Raises `JournalError` for one that cannot be read."""
    state = replay(recorded.event for recorded in load(path).events)
    updated = datetime.fromtimestamp(path.stat().st_mtime, UTC).isoformat(timespec="seconds")
    return Summary(path.stem, title_of(state), updated.replace("+00:00", "Z"), state.turn, path.stat().st_size)


def title_of(state: SessionState) -> str:
    """The first line a person wrote."""
    first = next((message for message in state.messages if isinstance(message, UserMessage)), None)
    text = "".join(part.text for part in first.parts if isinstance(part, TextPart)) if first else ""
    return text.strip().split("\n")[0][:80]


def _list(options: Options, place: Place) -> None:
    summaries: list[Summary] = []
    for path in stored_sessions(place)[: options.limit if options.limit != 10 else None]:
        try:
            summaries.append(summarise(path))
        except JournalError as error:
            sys.stderr.write(f"tcoder: {error}\n")
    if options.json:
        sys.stdout.write(encode({"sessions": summaries}).decode() + "\n")
        return
    if not summaries:
        sys.stderr.write(f"no stored sessions for {place.root}\n")
    for summary in summaries:
        sys.stdout.write(f"{summary.id}  {summary.updated}  {summary.turns:3} turns  {summary.title}\n")


def _remove(path: Path) -> None:
    """Remove a session that nobody has open, with what it kept beside the journal."""
    Journal(path).close()
    path.unlink()
    shutil.rmtree(path.with_suffix(""), ignore_errors=True)
