"""Makes room in the conversation: old tool results go first, without a model; only then a summary is asked of the fast
variant. The plan is pure; `make_room` and `summarise` carry it out. The whole journal stays on disk in any case.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from tcoder.agent import halt, measure
from tcoder.agent.budget import compact_at
from tcoder.agent.digest import cut_middle, digest, is_digest, text_of
from tcoder.agent.halt import Halt
from tcoder.agent.state import SessionState, say
from tcoder.protocol.errors import ModelError
from tcoder.protocol.events import Compacted
from tcoder.protocol.messages import (
    AssistantMessage,
    Message,
    ReasoningPart,
    ToolCall,
    ToolResult,
    ToolResults,
    UserMessage,
)
from tcoder.protocol.request import ModelRequest
from tcoder.protocol.variant import ModelVariant
from tcoder.resources import prompt

if TYPE_CHECKING:
    from tcoder.agent.turn import Turn

KEPT_RESULTS = 6
SMALL_RESULT = 200
ERROR_TAIL = 300
ENOUGH = 0.6
TAIL_SHARE = 0.25
SAID_SHARE = 0.2
SUMMARY_TOKENS = 2_000
RENDERED_RESULT = 800
RENDERED_TEXT = 4_000


# -- the plan ----------------------------------------------------------------------------------------------------------


def drop_results(messages: Sequence[Message], kept: int = KEPT_RESULTS) -> tuple[Message, ...]:
    """The conversation with all but the last `kept` tool results replaced by what they were: which tool, how long, and
    of a failure its end. Messages that do not change stay the same objects."""
    names = {call.id: call for message in messages if isinstance(message, AssistantMessage) for call in message.calls}
    total = sum(len(message.results) for message in messages if isinstance(message, ToolResults))
    seen = 0
    lean: list[Message] = []
    last = _last_answer(messages)
    for message in messages:
        if not isinstance(message, ToolResults):
            lean.append(message if message is last else without_thoughts(message))
            continue
        old = [seen + at < total - kept for at in range(len(message.results))]
        seen += len(message.results)
        results = tuple(
            _stub(result, names.get(result.call_id)) if is_old else result
            for result, is_old in zip(message.results, old, strict=True)
        )
        same = all(one is other for one, other in zip(results, message.results, strict=True))
        lean.append(message if same else ToolResults(results))
    return tuple(lean)


def _stub(result: ToolResult, call: ToolCall | None) -> ToolResult:
    if len(result.content) <= SMALL_RESULT and not result.images:
        return result
    tail = f" It ended with:\n{result.content[-ERROR_TAIL:]}" if result.status == "error" else ""
    if result.status == "error" and len(result.content) <= ERROR_TAIL + SMALL_RESULT:
        return result
    name = call.name if call else "a tool"
    text = f"[The result of {name} was left out to save room: {len(result.content)} characters.{tail}]"
    return replace(result, content=text, display=(), images=())


def ending(messages: Sequence[Message], room: int) -> tuple[Message, ...]:
    """The end of the conversation that stays as it is: from an answer of the model on, within `room` characters. Of
    the last round at least the beginning and end of each result stay."""
    starts = [at for at, message in enumerate(messages) if isinstance(message, AssistantMessage)]
    if not starts:
        return ()
    chosen, size, following = starts[-1], 0, len(messages)
    for at in reversed(starts):
        size += measure.total(messages[at:following])
        following = at
        if size > room:
            break
        chosen = at
    last = messages[starts[-1]]
    kept = tuple(message if message is last else without_thoughts(message) for message in messages[chosen:])
    over = measure.total(kept) - room
    return tuple(_shortened(message, room // 2) for message in kept) if over > 0 else kept


def _last_answer(messages: Sequence[Message]) -> Message | None:
    return next((message for message in reversed(messages) if isinstance(message, AssistantMessage)), None)


def without_thoughts(message: Message) -> Message:
    """Vendors refuse thoughts in another conversation than the one in which they were thought; only those of the
    last answer are asked back while its calls are answered."""
    if not isinstance(message, AssistantMessage):
        return message
    parts = tuple(part for part in message.parts if not isinstance(part, ReasoningPart))
    return replace(message, parts=parts) if len(parts) < len(message.parts) else message


def _shortened(message: Message, room: int) -> Message:
    if not isinstance(message, ToolResults):
        return message
    share = max(room // len(message.results), SMALL_RESULT)
    return ToolResults(tuple(replace(r, content=cut_middle(r.content, share), images=()) for r in message.results))


def rendered(messages: Iterable[Message], summary: str, room: int) -> str:
    """The conversation as text for the model that summarises it, at most about `room` characters."""
    pieces: list[str] = []
    names: dict[str, str] = {}
    for message in messages:
        match message:
            case UserMessage():
                earlier = is_digest(message) and summary
                pieces.append(f"[earlier summary]\n{summary}" if earlier else f"[user]\n{text_of(message)}")
            case AssistantMessage():
                names |= {call.id: call.name for call in message.calls}
                if message.text.strip():
                    pieces.append(f"[agent]\n{cut_middle(message.text.strip(), RENDERED_TEXT)}")
                pieces += [
                    f"[call {call.name}] {cut_middle(call.arguments, RENDERED_RESULT)}" for call in message.calls
                ]
            case ToolResults():
                pieces += [_rendered_result(result, names) for result in message.results]
    return cut_middle("\n\n".join(pieces), room)


def _rendered_result(result: ToolResult, names: Mapping[str, str]) -> str:
    name = names.get(result.call_id, "a tool")
    return f"[result of {name}, {result.status}]\n{cut_middle(result.content, RENDERED_RESULT)}"


def replaced(state: SessionState, summary: str, room: int) -> tuple[Message, ...]:
    """The conversation after a summary: the digest, then its end. `room` is in characters."""
    first = digest(state, summary, int(room * SAID_SHARE))
    left = room - measure.length(first)
    return (first, *ending(state.messages, max(0, min(int(room * TAIL_SHARE), left))))


# -- carrying it out ---------------------------------------------------------------------------------------------------


async def make_room(turn: "Turn", *, full: bool = False) -> bool:
    """Compact when the next request would pass the threshold; with `full` the provider has said that it does. False =
    nothing was to do. Raises `Halt` when no room could be made: the history stays as it was."""
    state = turn.state
    above = turn.frame.length
    limit = compact_at(turn.env.budget, turn.variant)
    before = measure.used(state.measured, state.characters, above)
    if state.pending or not state.messages or (before < limit and not full):
        return False
    per_token = measure.ratio(state.measured, above)
    lean = drop_results(state.messages)
    after = measure.tokens(measure.total(lean) + above, per_token)
    if not full and after <= ENOUGH * limit:
        turn.record(Compacted(lean, before, after, "results_dropped"))
        return True
    await summarise(turn)
    return True


async def summarise(turn: "Turn", focus: str = "") -> None:
    """Replace the older conversation by a digest. Raises `Halt` when no summary can be had or it would not help."""
    state = turn.state
    above = turn.frame.length
    per_token = measure.ratio(state.measured, above)
    before = measure.used(state.measured, state.characters, above)
    limit = compact_at(turn.env.budget, turn.variant)
    summary = await _ask_for_summary(turn, state, focus, per_token, before)
    room = int(min(limit, before) * ENOUGH * per_token) - above
    came_since = turn.state.messages[len(state.messages) :]  # a person may write while the summary is made
    messages = (*replaced(state, summary, max(room, 2_000)), *came_since)
    after = measure.tokens(measure.total(messages) + above, per_token)
    if after >= before and after >= limit:
        raise _no_room(f"a summary would need {after} tokens instead of {before}")
    turn.record(Compacted(messages, before, after, "summary", summary))
    await turn.renew_frame()


async def _ask_for_summary(turn: "Turn", state: SessionState, focus: str, per_token: float, before: int) -> str:
    """Ask the fast variant, then the standard one."""
    variants = turn.env.variants
    wanted = f"\n\nThe person asks to keep above all: {focus}" if focus else ""
    problem = "the model wrote no summary"
    for variant in dict.fromkeys((variants.get("fast") or variants["standard"], variants["standard"])):
        room = int(min(variant.context_window * 0.7 - SUMMARY_TOKENS, max(before, 2_000)) * min(per_token, 3.0))
        text = rendered(state.messages, state.summary, max(room, 2_000))
        try:
            message = await turn.ask(_request(variant, text + wanted), aside=True, reason="summary")
        except ModelError as error:
            problem = error.message
            continue
        if message.text.strip():
            return message.text.strip()
    raise _no_room(problem)


def _request(variant: ModelVariant, text: str) -> ModelRequest:
    limit = min(SUMMARY_TOKENS, variant.max_output or SUMMARY_TOKENS)
    return ModelRequest(variant, prompt("system/summary"), (say(text),), max_output=limit)


def _no_room(why: str) -> Halt:
    stop = halt.budget_spent(f"the conversation has no room left and could not be summarised: {why}")
    stop.hint = "nothing was lost: try /compact again, take a model with a larger context, or begin with /new"
    return stop
