"""What a task may spend by its size, and whether there is anything left: pure, asked before each model call and each
tool call."""

from decimal import Decimal

from msgspec import Struct

from tcoder.protocol.budget import Budget, Tier, Usage
from tcoder.protocol.variant import ModelVariant

WARN_AT = 0.8
OUTPUT_RESERVE = 4_096

TIERS: dict[Tier, Budget] = {
    "small": Budget(40, Decimal(1), None, 1_800, max_context=32_000, tool_output=8_000, outline=200),
    "medium": Budget(200, Decimal(10), None, 4 * 3_600, max_context=128_000, tool_output=24_000, outline=400),
    "long": Budget(2_000, Decimal(100), None, 24 * 3_600, max_context=1_000_000, tool_output=24_000, outline=1_500),
}


class Spending(Struct, frozen=True):
    """`spent` names the limit that is reached, `low` the ones past four fifths; both empty when there is room."""

    spent: str = ""
    low: tuple[str, ...] = ()


def review(budget: Budget, usage: Usage, elapsed_s: float) -> Spending:
    """Hold the spending of a turn against its budget. Money of unknown price cannot be held against a limit:
    see `unpriced`."""
    shares: list[tuple[str, float, float]] = []
    if budget.max_turns is not None:
        shares.append((f"{usage.calls} of {budget.max_turns} model calls", usage.calls, budget.max_turns))
    if budget.max_tokens is not None:
        shares.append((f"{usage.total} of {budget.max_tokens} tokens", usage.total, budget.max_tokens))
    if budget.max_cost is not None and usage.cost is not None:
        shares.append((f"${usage.cost} of ${budget.max_cost}", float(usage.cost), float(budget.max_cost)))
    if budget.max_time_s is not None:
        shares.append((f"{elapsed_s:.0f} of {budget.max_time_s:.0f} s", elapsed_s, budget.max_time_s))
    for text, used, limit in shares:
        if used >= limit:
            return Spending(spent=f"budget spent: {text}")
    return Spending(low=tuple(text for text, used, limit in shares if used >= WARN_AT * limit))


def unpriced(budget: Budget, variant: ModelVariant, usage: Usage) -> str:
    """Why the limit in money cannot be kept; empty when it can, or when there is no limit or no model."""
    if budget.max_cost is None or not variant.model:
        return ""
    if variant.price is None:
        return f"the price of {variant.id} is not known, so the limit of ${budget.max_cost} cannot be kept"
    if usage.calls and usage.cost is None:
        return f"{variant.id} does not say what it used, so the limit of ${budget.max_cost} cannot be kept"
    return ""


def outline_tokens(budget: Budget, variant: ModelVariant) -> int:
    """Tokens that the repository's outline may have; none for a model for which each token of a prompt is seconds."""
    slow = variant.provider == "local" or variant.strategy == "guided"
    return 0 if slow else min(budget.outline, context_limit(budget, variant) // 20)


def context_limit(budget: Budget, variant: ModelVariant) -> int:
    """Tokens that a request may have: the tier's share of the window, with room for the answer."""
    window = variant.context_window
    reserve = min(variant.max_output or OUTPUT_RESERVE, window // 4)
    room = window - reserve
    return room if budget.max_context is None else min(room, budget.max_context)


def compact_at(budget: Budget, variant: ModelVariant) -> int:
    """Tokens from which the conversation is made shorter before it goes on."""
    return int(context_limit(budget, variant) * budget.compact_at)
