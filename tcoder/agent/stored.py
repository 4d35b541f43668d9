"""Stored sessions of one repository, as a list shows them."""

import fcntl
from datetime import UTC, datetime
from pathlib import Path

from tcoder.agent.journal import load
from tcoder.agent.state import SessionState, replay
from tcoder.protocol.errors import JournalError
from tcoder.protocol.events import SessionStarted
from tcoder.protocol.messages import TextPart, UserMessage
from tcoder.protocol.queries import SessionSummary


def journals(folder: Path) -> list[Path]:
    """Journals in a project's folder, newest first."""
    return sorted(folder.glob("*.jsonl"), key=lambda path: path.stat().st_mtime, reverse=True)


def summarise(path: Path) -> SessionSummary:
    """What a list shows of a journal. Raises `JournalError` for one that cannot be read."""
    events = [recorded.event for recorded in load(path).events]
    state = replay(events)
    started = next((event for event in events if isinstance(event, SessionStarted)), None)
    updated = datetime.fromtimestamp(path.stat().st_mtime, UTC).isoformat(timespec="seconds")
    return SessionSummary(
        id=path.stem,
        title=title_of(state),
        updated=updated.replace("+00:00", "Z"),
        turns=state.turn,
        usage=state.usage,
        model=started.variant.id if started else "",
        parent=started.parent if started else "",
        busy=is_open(path),
    )


def summarise_all(folder: Path) -> tuple[tuple[SessionSummary, ...], tuple[str, ...]]:
    """Every stored session, newest first, and one sentence for each that cannot be read."""
    summaries: list[SessionSummary] = []
    problems: list[str] = []
    for path in journals(folder):
        try:
            summaries.append(summarise(path))
        except JournalError as error:
            problems.append(str(error))
    return tuple(summaries), tuple(problems)


def title_of(state: SessionState) -> str:
    """The first line a person wrote."""
    first = next((message for message in state.messages if isinstance(message, UserMessage)), None)
    text = "".join(part.text for part in first.parts if isinstance(part, TextPart)) if first else ""
    return text.strip().split("\n")[0][:80]


def is_open(path: Path) -> bool:
    """Whether some process holds the journal."""
    with path.open("rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except OSError:
            return True
        return False
