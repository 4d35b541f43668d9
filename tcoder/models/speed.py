"""How fast an answer was written. Pure."""

from tcoder.protocol.messages import AssistantMessage, ReasoningPart

MEASURABLE_S = 0.1
"""A shorter stream came in a burst: its length says nothing about the model."""


def tokens_per_s(message: AssistantMessage, first_token_s: float | None, duration_s: float) -> float | None:
    """Output tokens a second between the first token and the end; None when that cannot be said: no count, no stream,
    or everything at once. Thoughts that are counted but never shown are over before the first token is seen."""
    usage = message.usage
    if usage is None or first_token_s is None:
        return None
    shown_thoughts = any(isinstance(part, ReasoningPart) and part.text for part in message.parts)
    written = usage.output if shown_thoughts else usage.output - usage.reasoning
    streaming = duration_s - first_token_s
    return written / streaming if written > 1 and streaming >= MEASURABLE_S else None
