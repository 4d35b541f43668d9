"""A model request and the parts of its answer."""

from typing import Any, Literal

from msgspec import Struct

from tcoder.protocol.errors import ErrorKind
from tcoder.protocol.messages import AssistantMessage, Message, ToolSpec
from tcoder.protocol.variant import ModelVariant, Served


class Fill(Struct, frozen=True):
    """A gap to fill: what comes between `before` and `after`, for variants with a `fill_…` quirk."""

    before: str
    after: str


class ModelRequest(Struct, frozen=True):
    """Exactly what is sent. `messages` only ever grows at its end between two compactions, so that prompt caches hold
    and a dialect can keep the bytes of every message that it has encoded before.

    `response_schema` asks for constrained decoding where the variant offers it. `cache_key` is stable for a session.
    With `fill` only the gap is sent, and messages are ignored.
    """

    variant: ModelVariant
    system: str
    messages: tuple[Message, ...]
    tools: tuple[ToolSpec, ...] = ()
    max_output: int | None = None
    temperature: float | None = None
    seed: int | None = None
    stop: tuple[str, ...] = ()
    response_schema: dict[str, Any] | None = None
    cache_key: str = ""
    fill: Fill | None = None


class TextDelta(Struct, frozen=True, tag="text_delta"):
    text: str


class ReasoningDelta(Struct, frozen=True, tag="reasoning_delta"):
    text: str


class CallDelta(Struct, frozen=True, tag="call_delta"):
    """A piece of a tool call that is still arriving: for showing progress only, never for running it."""

    index: int
    name: str
    arguments: str


class RetryDelta(Struct, frozen=True, tag="retry"):
    """The request failed and is sent again after `after_s` seconds; what was streamed before does not count."""

    kind: ErrorKind
    reason: str
    after_s: float
    attempt: int


class ModelReply(Struct, frozen=True, tag="reply"):
    """The whole answer: the last part of every stream that did not raise."""

    message: AssistantMessage
    served: Served


ModelPart = TextDelta | ReasoningDelta | CallDelta | RetryDelta | ModelReply
CacheBreak = Literal["", "compaction", "variant", "rewind"]
