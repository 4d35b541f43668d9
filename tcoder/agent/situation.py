"""What the slider's rules look at, read off the state: pure."""

from collections.abc import Iterable

from tcoder.agent.state import SessionState
from tcoder.models.routing import Phase, Sample, Situation, sample_of
from tcoder.protocol.edits import Patch
from tcoder.protocol.events import ModelAnswered, ModelAsked, Recorded
from tcoder.protocol.messages import AssistantMessage, UserMessage
from tcoder.protocol.variant import VariantName

READING = frozenset({"read", "search", "outline"})
CHANGING = frozenset({"edit", "write", "shell"})


def situation(state: SessionState) -> Situation:
    """The situation before the next call of the conversation."""
    changed = {change.path for patch in _own_patches(state) for change in patch.files}
    return Situation(
        phase=_phase(state),
        files=len(changed),
        attempts=len(state.attempts),
        failed=_failed_in_a_row(state),
        prompt_tokens=next((m.usage.prompt for m in _answers(state) if m.usage), 0),
        calls_on_stop=state.calls - state.switched_at,
    )


def _own_patches(state: SessionState) -> list[Patch]:
    """What tcoder itself has changed in this turn."""
    return [patch for patch in state.patches if patch.cause.turn == state.turn and patch.cause.kind != "user"]


def _answers(state: SessionState) -> Iterable[AssistantMessage]:
    return (message for message in reversed(state.messages) if isinstance(message, AssistantMessage))


def _phase(state: SessionState) -> Phase:
    """By the last calls: planning, changing or looking around; review once tests have disproven what the model thought
    was done."""
    checks = state.checks
    told = bool(state.messages) and isinstance(state.messages[-1], UserMessage)
    if told and checks is not None and not checks.ok and not state.edited_since_checks and _own_patches(state):
        return "review"
    last = next(iter(_answers(state)), None)
    names = {call.name for call in last.calls} if last else set[str]()
    if "plan" in names:
        return "plan"
    if names & CHANGING:
        return "edit"
    if names and names <= READING:
        return "explore"
    return ""


def _failed_in_a_row(state: SessionState) -> int:
    """Attempts at the end of the ledger that failed with the same error."""
    count = 0
    for attempt in reversed(state.attempts):
        if attempt.verdict == "solved" or attempt.signature != state.attempts[-1].signature:
            break
        count += 1
    return count


def samples(log: Iterable[Recorded]) -> list[Sample]:
    """The figures of every answered call."""
    stops: dict[int, VariantName] = {}
    found: list[Sample] = []
    for recorded in log:
        match recorded.event:
            case ModelAsked() as asked:
                stops[asked.call] = asked.variant
            case ModelAnswered() as answered if answered.call in stops:
                found.append(sample_of(stops[answered.call], answered.message, answered.served))
            case _:
                pass
    return found
