"""The conversation: what a person said, what the model answered, what the tools returned."""

from typing import Any, Literal

from msgspec import Struct

from tcoder.protocol.budget import Usage
from tcoder.protocol.display import Display

StopReason = Literal["end", "tool_calls", "length", "refusal", "filtered", "context_full", "unknown"]
ResultStatus = Literal["ok", "error", "denied", "cancelled"]


class TextPart(Struct, frozen=True, tag="text"):
    text: str


class ImagePart(Struct, frozen=True, tag="image"):
    """An image; `data` is base64."""

    media_type: str
    data: str


class ReasoningPart(Struct, frozen=True, tag="reasoning"):
    """What a model thought. `opaque` is the vendor's own JSON, replayed word for word to `model` and to no other."""

    text: str
    opaque: str = ""
    model: str = ""


class ToolCall(Struct, frozen=True, tag="tool_call"):
    """A call as the model wrote it: `arguments` is JSON text that nobody has checked yet."""

    id: str
    name: str
    arguments: str


UserPart = TextPart | ImagePart
AssistantPart = TextPart | ReasoningPart | ToolCall


class UserMessage(Struct, frozen=True, tag="user"):
    parts: tuple[UserPart, ...]


class AssistantMessage(Struct, frozen=True, tag="assistant"):
    """One model response. `model` is the variant's id that was asked for."""

    parts: tuple[AssistantPart, ...]
    model: str = ""
    stop: StopReason = "end"
    usage: Usage | None = None

    @property
    def text(self) -> str:
        return "".join(part.text for part in self.parts if isinstance(part, TextPart))

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        return tuple(part for part in self.parts if isinstance(part, ToolCall))


class ToolResult(Struct, frozen=True):
    """`content` is for the model, `display` for people."""

    call_id: str
    content: str
    status: ResultStatus = "ok"
    display: tuple[Display, ...] = ()
    images: tuple[ImagePart, ...] = ()


class ToolResults(Struct, frozen=True, tag="results"):
    """The results of one assistant message's calls: each call exactly once, in the order of the calls."""

    results: tuple[ToolResult, ...]


Message = UserMessage | AssistantMessage | ToolResults


class ToolSpec(Struct, frozen=True):
    """A tool as it is offered to the model; `parameters` is a JSON Schema object."""

    name: str
    description: str
    parameters: dict[str, Any]
