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
    environment = ", ".join(found) + " is set" if found else "no usual variable is set"
    lines = [
        "No model is configured yet. Type a number and press Enter:",
        "",
        "1  paste a key       tried with one token, kept for you alone",
        f"2  a key you have    {environment}",
        "3  a server here     looks on ports 11434, 8000, 8080 and 1234",
        f"4  a model here      {describe(local) if local else 'this build has no engine'}",
        "5  a demo            a script mends a toy repository",
        "6  look around       files, changes and commands need no model",
        "",
        "/setup shows this again.",
    ]
    return "\n".join(lines)


def describe(offer: LocalOffer) -> str:
    """`local/qwen2.5-coder-1.5b, 1.1 GB, 12 tokens/s`; the size is what has to be fetched once."""
    here = "here" if offer.present else size(offer.bytes)
    return ", ".join(part for part in (clean_line(offer.id, 60), here, offer.speed) if part)


def way(text: str) -> Way | None:
    """The way that a number or its name asks for."""
    text = text.strip().lower()
    if text.isdecimal() and 0 < int(text) <= len(WAYS):
        return WAYS[int(text) - 1]
    return next((name for name in WAYS if name == text), None)
