"""What may be spent and what was."""

from decimal import Decimal
from typing import Literal

from msgspec import Struct

Tier = Literal["small", "medium", "long"]


class Usage(Struct, frozen=True):
    """Tokens of one or more model calls. The prompt is `input_uncached + cache_read + cache_write`; `reasoning` is
    part of `output`. `cost` is in US dollars, None when a price is unknown (never 0 for unknown)."""

    input_uncached: int = 0
    cache_read: int = 0
    cache_write: int = 0
    output: int = 0
    reasoning: int = 0
    cost: Decimal | None = None
    calls: int = 0

    @property
    def prompt(self) -> int:
        return self.input_uncached + self.cache_read + self.cache_write

    @property
    def total(self) -> int:
        return self.prompt + self.output

    def __add__(self, other: "Usage") -> "Usage":
        """Sum; the cost stays unknown once one priced call was unknown."""
        if not self.calls:
            return other
        if not other.calls:
            return self
        known = self.cost is not None and other.cost is not None
        return Usage(
            input_uncached=self.input_uncached + other.input_uncached,
            cache_read=self.cache_read + other.cache_read,
            cache_write=self.cache_write + other.cache_write,
            output=self.output + other.output,
            reasoning=self.reasoning + other.reasoning,
            cost=(self.cost or Decimal(0)) + (other.cost or Decimal(0)) if known else None,
            calls=self.calls + other.calls,
        )


class Budget(Struct, frozen=True):
    """Limits of a run; None = unlimited. A turn here is one model response. Money in US dollars, time in seconds.

    Of the model's context window at most `max_context` tokens are used, and compaction begins at `compact_at` of what
    may be used. `tool_output` is how many characters of one tool result the model is shown, `outline` how many tokens
    the repository's outline above the conversation may have. `cost_asked` says that a person set `max_cost`, not the
    size of the task."""

    max_turns: int | None = None
    max_cost: Decimal | None = None
    max_tokens: int | None = None
    max_time_s: float | None = None
    max_context: int | None = None
    compact_at: float = 0.8
    tool_output: int = 24_000
    outline: int = 0
    cost_asked: bool = False
