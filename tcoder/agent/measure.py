"""How long messages are, and what that comes to in tokens: pure. The provider's counts are the truth; in between,
lengths are scaled to the last of them. No tokenizer is loaded."""

from collections.abc import Iterable

from msgspec import Struct

from tcoder.protocol.messages import (
    AssistantMessage,
    AssistantPart,
    ImagePart,
    Message,
    ReasoningPart,
    TextPart,
    ToolCall,
    ToolResult,
    ToolResults,
    UserMessage,
)

CHARACTERS_PER_TOKEN = 3.6
IMAGE_CHARACTERS = 5_400  # vendors count a screenshot at about 1,500 tokens
_FEWEST, _MOST = 1.2, 8.0


class Measured(Struct, frozen=True):
    """A count that holds: `characters` of conversation, with what stands above it, came to `tokens`."""

    characters: int
    tokens: int


def length(message: Message) -> int:
    """Characters of a message as the model reads it."""
    match message:
        case UserMessage():
            return sum(IMAGE_CHARACTERS if isinstance(part, ImagePart) else len(part.text) for part in message.parts)
        case AssistantMessage():
            size = 0
            for part in message.parts:
                size += _part_length(part)
            return size
        case ToolResults():
            size = 0
            for result in message.results:
                size += result_length(result)
            return size


def _part_length(part: AssistantPart) -> int:
    match part:
        case TextPart():
            return len(part.text)
        case ReasoningPart():
            return max(len(part.text), len(part.opaque))
        case ToolCall():
            return len(part.name) + len(part.arguments)


def result_length(result: ToolResult) -> int:
    return len(result.content) + IMAGE_CHARACTERS * len(result.images)


def total(messages: Iterable[Message]) -> int:
    return sum(map(length, messages))


def ratio(measured: Measured | None, above: int) -> float:
    """Characters per token, calibrated by the last count; `above` is the length of what stands above the conversation
    (system prompt and tools)."""
    if measured is None or not measured.tokens:
        return CHARACTERS_PER_TOKEN
    return min(_MOST, max(_FEWEST, (measured.characters + above) / measured.tokens))


def tokens(characters: int, per_token: float) -> int:
    return round(characters / per_token)


def used(measured: Measured | None, characters: int, above: int) -> int:
    """Tokens of a request with `characters` of conversation: the last count, and an estimate for what came since."""
    per_token = ratio(measured, above)
    if measured is None or characters < measured.characters:
        return tokens(characters + above, per_token)
    return measured.tokens + tokens(characters - measured.characters, per_token)
