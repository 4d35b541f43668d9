"""The card that stands in an empty conversation when there is no model to use. Pure."""

from typing import Literal

from tcoder.frontends.figures import size
from tcoder.frontends.sanitise import clean_line
from tcoder.protocol.host import LocalOffer, Offers

Way = Literal["key", "environment", "server", "local", "demo", "look"]
WAYS: tuple[Way, ...] = ("key", "environment", "server", "local", "demo", "look")
NO_MODEL = "none"
"""The model id of a session that has none."""


def card(offers: Offers) -> str:
    """The ways to a model, numbered as `WAYS`; what works without one. Names of variables only, never their values."""
    found = [clean_line(of.variable, 60) for of in offers.keys if of.present]
    local = next(iter(offers.local), None)
    environment = ", ".join(found) + " is set" if found else "none of the usual variables is set"
    lines = [
        "No model is configured yet. Type a number and press Enter; /setup shows the same later.",
        "",
        "1  paste a key          tried with one token, kept in a file that only you can read",
        f"2  a key you have       {environment}",
        "3  a server here        looks for one on ports 11434, 8000, 8080 and 1234 of this machine",
        f"4  a model here         {describe(local) if local else 'this build has no engine'}",
        "5  a demo               a script mends a toy repository: streams, edits, fails a test, mends it",
        "6  look around          /diff, /checkpoints, /resume, !command and @file need no model",
    ]
    return "\n".join(lines)


def describe(offer: LocalOffer) -> str:
    """`local/qwen2.5-coder-1.5b, 1.1 GB, not here yet, 12 tokens/s with 2 threads`."""
    here = "here" if offer.present else "to be fetched once"
    return ", ".join(part for part in (clean_line(offer.id, 60), size(offer.bytes), here, offer.speed) if part)


def way(text: str) -> Way | None:
    """The way that a number or its name asks for."""
    text = text.strip().lower()
    if text.isdecimal() and 0 < int(text) <= len(WAYS):
        return WAYS[int(text) - 1]
    return next((name for name in WAYS if name == text), None)
