"""Short ways to make requests and to read streams in the tests of models."""

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import Any

from support.model_server import Step, anthropic_events, chat_events, responses_events

from tcoder.models.dialects import anthropic, openai_chat, openai_responses
from tcoder.models.dialects.dialect import DialectCodec
from tcoder.models.dialects.sse import SseParser
from tcoder.protocol.errors import ModelError
from tcoder.protocol.messages import Message, TextPart, ToolSpec, UserMessage
from tcoder.protocol.request import (
    CallDelta,
    ModelPart,
    ModelReply,
    ModelRequest,
    ReasoningDelta,
    RetryDelta,
    TextDelta,
)
from tcoder.protocol.variant import Dialect, ModelVariant

READ = ToolSpec(
    "read",
    "Read a file",
    {
        "type": "object",
        "properties": {"path": {"type": "string"}, "limit": {"type": "integer"}},
        "required": ["path"],
        "additionalProperties": False,
    },
)

CODECS: dict[Dialect, DialectCodec] = {
    "openai-chat": openai_chat,
    "openai-responses": openai_responses,
    "anthropic": anthropic,
}
EVENTS: dict[Dialect, Callable[[Step, int, str], list[bytes]]] = {
    "openai-chat": chat_events,
    "openai-responses": responses_events,
    "anthropic": anthropic_events,
}
DIALECTS: tuple[Dialect, ...] = tuple(CODECS)


def variant(dialect: Dialect = "openai-chat", **fields: Any) -> ModelVariant:
    base: dict[str, Any] = {
        "id": "vendor/model",
        "model": "model",
        "provider": "vendor",
        "base_url": "http://127.0.0.1:9/v1",
        "dialect": dialect,
        "api_key_env": "VENDOR_API_KEY",
    }
    return ModelVariant(**base | fields)


def user(text: str) -> UserMessage:
    return UserMessage((TextPart(text),))


def request(of: ModelVariant, *messages: Message, **fields: Any) -> ModelRequest:
    base: dict[str, Any] = {"system": "Be brief.", "tools": (READ,)}
    return ModelRequest(of, messages=messages or (user("Hello"),), **base | fields)


@dataclass
class Heard:
    """A stream, put together again."""

    text: str = ""
    reasoning: str = ""
    calls: tuple[tuple[str, str], ...] = ()
    retries: tuple[RetryDelta, ...] = ()
    reply: ModelReply | None = None
    error: ModelError | None = None

    @classmethod
    def of(cls, parts: list[ModelPart], error: ModelError | None = None) -> "Heard":
        heard = cls(error=error)
        calls: dict[int, list[str]] = {}
        for part in parts:
            match part:
                case TextDelta():
                    heard.text += part.text
                case ReasoningDelta():
                    heard.reasoning += part.text
                case CallDelta():
                    call = calls.setdefault(part.index, [part.name, ""])
                    call[1] += part.arguments
                case RetryDelta():
                    heard.retries += (part,)
                case ModelReply():
                    heard.reply = part
        heard.calls = tuple((name, arguments) for name, arguments in calls.values())
        return heard


async def hear(stream: AsyncIterator[ModelPart]) -> Heard:
    """All of a stream, and the `ModelError` that ended it if one did."""
    parts: list[ModelPart] = []
    try:
        async for part in stream:
            parts.append(part)  # noqa: PERF401 - what came before an error counts
    except ModelError as error:
        return Heard.of(parts, error)
    return Heard.of(parts)


def fold(dialect: Dialect, chunks: list[bytes], **fields: Any) -> tuple[Heard, Any]:
    """The deltas of a recorded stream and its answer, fed chunk by chunk."""
    asked = request(variant(dialect), **fields)
    folding = CODECS[dialect].open_fold(asked)
    parser = SseParser()
    parts: list[ModelPart] = []
    for chunk in chunks:
        parts += folding.feed(parser.feed(chunk))
    if last := parser.close():
        parts += folding.feed(last)
    return Heard.of(parts), folding.finish()
