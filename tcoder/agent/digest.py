"""What takes the place of the older conversation: pure. The part read off the journal is always whole, whatever
the model's own summary says or leaves out."""

from collections.abc import Sequence

from tcoder.agent.state import SessionState
from tcoder.protocol.attempt import Attempt
from tcoder.protocol.checks import CheckReport
from tcoder.protocol.messages import ImagePart, Message, TextPart, UserMessage

HEAD = "The older part of this conversation was left out to save room. This is what came before."
MOST_FILES, MOST_ATTEMPTS, MOST_FAILING = 200, 60, 20
FEWEST_CHARACTERS = 400


def is_digest(message: Message) -> bool:
    return (
        isinstance(message, UserMessage)
        and isinstance(message.parts[0], TextPart)
        and message.parts[0].text.startswith(HEAD)
    )


def digest(state: SessionState, summary: str, room: int) -> UserMessage:
    """The digest of a session. What the person wrote stands in it word for word as long as it fits into `room`
    characters; longer messages are then cut in their middle, and it is said by how much."""
    sections = [HEAD, _said(state, room)]
    for title, lines in (
        ("Files changed in this session", _files(state)),
        ("Attempts, oldest first", [_attempt(attempt) for attempt in state.tried[-MOST_ATTEMPTS:]]),
        ("Plan", [f"[{step.state}] {step.text}" for step in state.plan]),
        ("Last test result", _checks(state.checks, stale=state.edited_since_checks)),
    ):
        if lines:
            sections.append(f"# {title}\n" + "\n".join(f"- {line}" for line in lines))
    if summary:
        sections.append(f"# Summary of the conversation\n{summary.strip()}")
    sections.append("Files may have changed since you read them: read them again before you edit them.")
    images = state.said[-1].parts if state.running and state.said else ()
    return UserMessage((TextPart("\n\n".join(sections)), *(part for part in images if isinstance(part, ImagePart))))


def _said(state: SessionState, room: int) -> str:
    texts = [text_of(message) for message in state.said]
    lines = [f"{number}. {text}" for number, text in enumerate(fitted(texts, room), 1)]
    if lines and state.running:
        lines[-1] += "\n(This last one is the task now.)"
    return "# What the person wrote, word for word\n" + "\n".join(lines)


def text_of(message: UserMessage) -> str:
    return "".join(part.text for part in message.parts if isinstance(part, TextPart)).strip() or "(no text)"


def fitted(texts: Sequence[str], room: int) -> list[str]:
    """Texts cut in their middle so that all together take about `room` characters: short ones stay whole, the longest
    give way first."""
    share = _share(sorted(map(len, texts)), room)
    return [cut_middle(text, share) for text in texts]


def _share(sizes: list[int], room: int) -> int:
    """The greatest length that every text may have."""
    left = room
    for done, size in enumerate(sizes):
        share = left // (len(sizes) - done)
        if size > share:
            return max(share, FEWEST_CHARACTERS)
        left -= size
    return max(sizes, default=0)


def cut_middle(text: str, most: int) -> str:
    """`text` with its middle left out and counted, when it is longer than `most`."""
    if len(text) <= most:
        return text
    half = max(most // 2, 1)
    return f"{text[:half]}\n[… {len(text) - 2 * half} characters left out …]\n{text[-half:]}"


def _files(state: SessionState) -> list[str]:
    """One line for each file with what became of it, the ones changed last at the end."""
    lines: dict[str, list[str]] = {}
    for patch in state.patches:
        who = "the person" if patch.cause.kind == "user" else patch.cause.kind
        for file in patch.files:
            undone = ", undone" if patch.undone else ""
            known = lines.pop(file.path, [])
            lines[file.path] = [*known, f"{file.change} +{file.insertions} −{file.deletions} by {who}{undone}"]
    shown = [f"{path}: {'; '.join(changes[-3:])}" for path, changes in lines.items()]
    if len(shown) <= MOST_FILES:
        return shown
    return [f"({len(shown) - MOST_FILES} more files before these)", *shown[-MOST_FILES:]]


def _attempt(attempt: Attempt) -> str:
    before = "?" if attempt.failing_before < 0 else attempt.failing_before
    failing = f"{before} → {attempt.failing_after} failing"
    left = f"; left: {attempt.signature}" if attempt.signature else ""
    kept = "" if attempt.kept else ", not kept"
    return f"{attempt.hypothesis}: {attempt.verdict} ({failing}{kept}){left}"


def _checks(report: CheckReport | None, *, stale: bool) -> list[str]:
    if report is None:
        return []
    said = report.problem or f"{report.passed} passed, {len(report.failing)} failed"
    lines = [f"`{report.command}`: {said}" + (" (files were changed since)" if stale else "")]
    lines += [f"{test.id}: {cut_middle(test.message, 300)}" for test in report.failing[:MOST_FAILING]]
    if len(report.failing) > MOST_FAILING:
        lines.append(f"({len(report.failing) - MOST_FAILING} more failing tests)")
    return lines
