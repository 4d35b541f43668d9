"""Which model is used, and how."""

from decimal import Decimal
from typing import Literal

from msgspec import Struct

Dialect = Literal["openai-chat", "openai-responses", "anthropic"]
Effort = Literal["none", "low", "medium", "high", "xhigh", "max"]
VariantName = Literal["fast", "standard"]
Strategy = Literal["agent", "guided"]


class Price(Struct, frozen=True):
    """US dollars per million tokens, as listed on `dated` (ISO date). A request whose prompt is longer than `long_from`
    tokens costs `long` instead, all of it."""

    input: Decimal
    output: Decimal
    cache_read: Decimal | None = None
    cache_write: Decimal | None = None
    dated: str = ""
    long_from: int = 0
    long: "Price | None" = None


class ModelVariant(Struct, frozen=True):
    """Everything that says which model answers and how, except the key (which never enters a value that is stored).

    `id` is `provider/model` as people write it, `model` the name on the wire. `base_url` has no trailing slash and
    ends where the dialect's path begins (`/chat/completions`, `/responses`, `/messages`). Limits are in tokens.
    `price` is for what is asked for; `base_price` is what is paid when the provider serves the standard tier instead.
    `quirks` name the vendor's deviations from its dialect, as the catalogue lists them.
    """

    id: str
    model: str
    provider: str
    base_url: str
    dialect: Dialect = "openai-chat"
    name: VariantName = "standard"
    api_key_env: str = ""
    tier: str = ""
    speed: str = ""
    effort: Effort | None = None
    max_output: int | None = None
    context_window: int = 128_000
    strategy: Strategy = "agent"
    price: Price | None = None
    images: bool = False
    json_schema: bool = False
    base_price: Price | None = None
    quirks: tuple[str, ...] = ()

    @property
    def on_this_machine(self) -> bool:
        """Whether it is served here: it may take its time, and nobody sends a bill."""
        here = ("http://127.", "http://localhost", "http://[::1]")
        return self.provider == "local" or self.base_url.startswith(here)


class Served(Struct, frozen=True):
    """What the response said really ran; empty = it did not say. Times in seconds from sending the request. `warning`
    is what a person should know about this answer."""

    model: str = ""
    tier: str = ""
    first_token_s: float | None = None
    duration_s: float = 0.0
    retries: int = 0
    warning: str = ""
