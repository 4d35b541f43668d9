"""A session as Markdown for people: pure."""

from collections.abc import Iterable

from tcoder.protocol.checks import CheckReport
from tcoder.protocol.events import (
    ChecksRan,
    Event,
    ModelAnswered,
    NoteAdded,
    PatchApplied,
    SessionStarted,
    ToolFinished,
    ToolStarted,
    TurnFinished,
    TurnStarted,
)
from tcoder.protocol.messages import TextPart

RESULT_LINES = 40


def markdown(events: Iterable[Event]) -> str:
    """The whole session, long tool results shortened."""
    parts: list[str] = []
    for event in events:
        match event:
            case SessionStarted():
                parts.append(f"# {event.workspace}\n\n{event.variant.id}, tcoder {event.version}, {event.session_id}")
            case TurnStarted():
                text = "".join(part.text for part in event.message.parts if isinstance(part, TextPart))
                parts.append(f"## {text.strip() or '(no text)'}")
            case ModelAnswered(aside=False) if event.message.text.strip():
                parts.append(event.message.text.strip())
            case NoteAdded():
                parts.append(f"> {event.topic}: " + event.text.replace("\n", "\n> "))
            case ToolStarted():
                parts.append(f"**{event.call.name}** {event.title}")
            case ToolFinished():
                parts.append(_fenced(event.result.content))
            case PatchApplied() if event.diff:
                parts.append(_fenced(event.diff, "diff"))
            case ChecksRan():
                parts.append(f"{event.phase}: {_counts(event.report)}")
            case TurnFinished():
                outcome = event.outcome
                parts.append(f"---\n{outcome.status}, verified: {outcome.verified}. {outcome.reason}")
            case _:
                pass
    return "\n\n".join(parts) + "\n"


def _counts(report: CheckReport) -> str:
    return f"`{report.command}` {report.problem or f'{report.passed} passed, {len(report.failing)} failed'}"


def _fenced(text: str, language: str = "") -> str:
    lines = text.rstrip("\n").split("\n")
    if len(lines) > RESULT_LINES and not language:
        lines = [*lines[:RESULT_LINES], f"… {len(lines) - RESULT_LINES} more lines"]
    longest = max((len(line) - len(line.lstrip("`")) for line in lines), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n" + "\n".join(lines) + f"\n{fence}"
