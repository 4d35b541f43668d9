"""What a call costs, in exact decimals."""

from decimal import Decimal

from tcoder.protocol.budget import Usage
from tcoder.protocol.variant import ModelVariant, Price

_MILLION = Decimal(1_000_000)
_STANDARD_TIERS = frozenset({"default", "standard", "auto"})


def cost(usage: Usage, price: Price | None) -> Decimal | None:
    """US dollars for `usage`; None when the price is unknown. Cached tokens without a price of their own cost as much
    as uncached ones, so that an estimate errs upwards."""
    if price is None:
        return None
    if price.long is not None and usage.prompt > price.long_from:
        price = price.long
    read = price.input if price.cache_read is None else price.cache_read
    write = price.input if price.cache_write is None else price.cache_write
    total = (
        usage.input_uncached * price.input
        + usage.cache_read * read
        + usage.cache_write * write
        + usage.output * price.output
    )
    return total / _MILLION


def price_served(variant: ModelVariant, tier: str) -> Price | None:
    """The price of what ran: the base price when a faster tier was asked for and the standard one answered."""
    asked = variant.tier or variant.speed
    if asked and tier in _STANDARD_TIERS and asked not in _STANDARD_TIERS and variant.base_price is not None:
        return variant.base_price
    return variant.price
