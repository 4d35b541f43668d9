"""The card that stands in an empty conversation when there is no model to use. Pure."""

from tcoder.frontends.explain import columns
from tcoder.frontends.sanitise import clean
from tcoder.protocol.queries import ModelList


def card(why: str, models: ModelList | None, *, session: bool) -> str:
    """Why there is no model, the ways to one, and (with a session) what works without one. Names of keys only, never
    their values."""
    lines = [
        clean(why),
        "",
        "1  a key: set OPENAI_API_KEY, ANTHROPIC_API_KEY or OPENROUTER_API_KEY, then start again",
        "2  your own server: tcoder --base-url http://127.0.0.1:11434/v1 --model openai/NAME",
        "3  a model on this machine: tcoder models list, then tcoder models pull",
    ]
    if session:
        lines.append("4  look around: /diff, /checkpoints, /resume, !command and @file work without a model")
    if models is not None and models.models:
        shown = [(("usable" if of.usable else "not yet"), of.id, of.note) for of in models.models[:8]]
        lines += ["", columns(shown)]
    return "\n".join(lines)
