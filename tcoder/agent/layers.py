"""What a request is made of, by layer, and what the prompt cache did with it: pure."""

from collections.abc import Iterator

from msgspec.structs import replace

from tcoder.agent import measure
from tcoder.agent.budget import compact_at, context_limit
from tcoder.agent.context import Frame
from tcoder.agent.digest import is_digest
from tcoder.agent.state import SessionState
from tcoder.protocol.budget import Budget, Usage
from tcoder.protocol.messages import AssistantMessage, ToolResult, ToolResults
from tcoder.protocol.queries import ContextLayer, ContextReport
from tcoder.protocol.variant import ModelVariant

LEAST_CACHED = 2_048  # providers cache no shorter prompts


def context_report(state: SessionState, frame: Frame, variant: ModelVariant, budget: Budget) -> ContextReport:
    """Tokens by layer in the order in which they are sent. Lengths are scaled to the provider's last count, and are
    that count exactly while nothing has come since."""
    used = measure.used(state.measured, state.characters, frame.length)
    sizes, largest = _sizes(state, frame)
    total = sum(size for _, size, _ in sizes) or 1
    tokens = _shared(used, [size for _, size, _ in sizes], total)
    answers = _usages(state)
    last = next(answers, None)
    layers = [ContextLayer(name, count, stable) for (name, _, stable), count in zip(sizes, tokens, strict=True)]
    if last is not None:
        layers = _cached(layers, last)
    if largest is not None:
        layers[-1] = replace(layers[-1], largest=_named(state, largest, measure.ratio(state.measured, frame.length)))
    exact = state.measured is not None and state.measured.characters == state.characters and not state.cache_break
    return ContextReport(
        layers=tuple(layers),
        window=context_limit(budget, variant),
        estimated=not exact,
        compact_at=compact_at(budget, variant),
        last_break=_break(state, last, next(answers, None)),
    )


def _sizes(state: SessionState, frame: Frame) -> tuple[list[tuple[str, int, bool]], ToolResult | None]:
    """Name, length and stability of each layer, and the longest tool result."""
    layers = [(name, size, True) for name, size in frame.layers] or [("system", len(frame.system), True)]
    results, longest, size = 0, None, 0
    for message in state.messages:
        if isinstance(message, ToolResults):
            for result in message.results:
                length = measure.result_length(result)
                results += length
                if length > size:
                    longest, size = result, length
    spoken = state.characters - results
    if state.messages and is_digest(state.messages[0]):
        summary = measure.length(state.messages[0])
        layers.append(("summary", summary, False))
        spoken -= summary
    return [*layers, ("conversation", spoken, False), ("tool results", results, False)], longest


def _shared(tokens: int, sizes: list[int], total: int) -> list[int]:
    """`tokens` shared out by size, to the last one."""
    shares: list[int] = []
    before = given = 0
    for size in sizes:
        before += size
        shares.append(round(tokens * before / total) - given)
        given += shares[-1]
    return shares


def _cached(layers: list[ContextLayer], last: Usage) -> list[ContextLayer]:
    """A prefix cache holds the beginning: layers above the conversation are in it one after the other, and what is left
    of it is a share of the conversation, in which messages and results alternate."""
    left = float(last.cache_read)
    stable = [layer for layer in layers if layer.stable]
    rest = [layer for layer in layers if not layer.stable]
    marked: list[ContextLayer] = []
    for layer in stable:
        share = min(1.0, left / layer.tokens) if layer.tokens else 1.0
        left = max(0.0, left - layer.tokens)
        marked.append(replace(layer, cached=round(share, 3)))
    spoken = sum(layer.tokens for layer in rest)
    share = min(1.0, left / spoken) if spoken else 0.0
    return [*marked, *(replace(layer, cached=round(share, 3)) for layer in rest)]


def _named(state: SessionState, result: ToolResult, per_token: float) -> str:
    size = measure.tokens(measure.result_length(result), per_token)
    for message in reversed(state.messages):
        if isinstance(message, AssistantMessage):
            for call in message.calls:
                if call.id == result.call_id:
                    return f"{call.name}, ~{size} tokens"
    return f"~{size} tokens"


def _usages(state: SessionState) -> Iterator[Usage]:
    """What the provider counted for the answers of the conversation, the last one first."""
    return (m.usage for m in reversed(state.messages) if isinstance(m, AssistantMessage) and m.usage and m.usage.prompt)


def _break(state: SessionState, last: Usage | None, previous: Usage | None) -> str:
    """What broke the cache last: our own doing, or the provider's forgetting."""
    if state.cache_break:
        return f"{state.cache_break}: the next request begins anew"
    if last is None or previous is None or last.prompt < previous.prompt or previous.prompt < LEAST_CACHED:
        return state.last_break
    cached_before = previous.cache_read + previous.cache_write
    if cached_before >= LEAST_CACHED and last.cache_read < previous.prompt // 2:
        return f"the provider found only {last.cache_read} of {previous.prompt} tokens in its cache (expired?)"
    return state.last_break
