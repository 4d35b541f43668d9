"""Whether there is anything left to spend: pure, asked before each model call and each tool call."""

from msgspec import Struct

from tcoder.protocol.budget import Budget, Usage

WARN_AT = 0.8


class Spending(Struct, frozen=True):
    """`spent` names the limit that is reached, `low` the ones past four fifths; both empty when there is room."""

    spent: str = ""
    low: tuple[str, ...] = ()


def review(budget: Budget, usage: Usage, elapsed_s: float) -> Spending:
    """Hold the spending of a turn against its budget. Money of unknown price cannot be held against a limit: that is
    said at the start of the run, not here."""
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
