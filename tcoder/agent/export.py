"""A session to take along, event by event however long it is: as Markdown for people, as one JSON object for programs.
Pure."""

from collections.abc import Callable, Iterable, Iterator

from tcoder.protocol.checks import CheckReport
from tcoder.protocol.codec import encode, encode_line
from tcoder.protocol.events import (
    SCHEMA,
    ChecksRan,
    Compacted,
    Event,
    ModelAnswered,
    NoteAdded,
    PatchApplied,
    Recorded,
    SessionNamed,
    SessionStarted,
    ToolFinished,
    ToolStarted,
    TurnFinished,
    TurnStarted,
)
from tcoder.protocol.messages import TextPart
from tcoder.protocol.queries import SessionSummary

RESULT_LINES = 40


def as_json(
    summary: SessionSummary, recorded: Iterable[Recorded], problems: Callable[[], list[str]]
) -> Iterator[bytes]:
    """`{"schema": 1, "session": {…}, "events": [{…}, …], "problems": ["…"]}` in pieces: the session as `sessions list`
    shows it, every event as `stream-json` and the journal have it, one a line, and at the end what of the journal could
    not be read."""
    yield b'{"schema":%d,"session":%b,"events":[' % (SCHEMA, encode(summary))
    separator = b"\n"
    for one in recorded:
        yield separator + encode_line(one).rstrip()
        separator = b",\n"
    yield b'\n],"problems":%b}\n' % encode(problems())


def markdown(events: Iterable[Event]) -> Iterator[str]:
    """The whole session in parts that are joined by an empty line; long tool results are shortened."""
    for event in events:
        part = _part(event)
        if part:
            yield part


def _part(event: Event) -> str:
    match event:
        case SessionStarted():
            return f"# {event.workspace}\n\n{event.variant.id}, tcoder {event.version}, {event.session_id}"
        case SessionNamed():
            return f"**{event.name}**"
        case TurnStarted():
            text = "".join(part.text for part in event.message.parts if isinstance(part, TextPart))
            return f"## {text.strip() or '(no text)'}"
        case ModelAnswered(aside=False):
            return event.message.text.strip()
        case NoteAdded():
            return f"> {event.topic}: " + event.text.replace("\n", "\n> ")
        case ToolStarted():
            return f"**{event.call.name}** {event.title}"
        case ToolFinished():
            return _fenced(event.result.content)
        case PatchApplied():
            return _fenced(event.diff, "diff") if event.diff else ""
        case ChecksRan():
            return f"{event.phase}: {_counts(event.report)}"
        case Compacted():
            return f"> The conversation was made shorter: {event.tokens_before} → {event.tokens_after} tokens"
        case TurnFinished():
            outcome = event.outcome
            return f"---\n{outcome.status}, verified: {outcome.verified}. {outcome.reason}"
        case _:
            return ""


def _counts(report: CheckReport) -> str:
    return f"`{report.command}` {report.problem or f'{report.passed} passed, {len(report.failing)} failed'}"


def _fenced(text: str, language: str = "") -> str:
    lines = text.rstrip("\n").split("\n")
    if len(lines) > RESULT_LINES and not language:
        lines = [*lines[:RESULT_LINES], f"… {len(lines) - RESULT_LINES} more lines"]
    longest = max((len(line) - len(line.lstrip("`")) for line in lines), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n" + "\n".join(lines) + f"\n{fence}"
