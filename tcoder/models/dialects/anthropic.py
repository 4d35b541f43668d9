"""The Anthropic Messages dialect.

Quirks that it knows (see the catalogue): `adaptive_thinking`, `budget_thinking`, `no_temperature`, `no_cache_control`,
`bearer`, `text_calls` (calls that come as text are recognised), and `beta:NAME` for a beta header.
"""

import re
from collections.abc import Collection
from typing import Any, cast

import msgspec
from msgspec import Struct

from tcoder.models.dialects.assembly import Assembly, Block, decode_event, wire_id
from tcoder.models.dialects.dialect import Answer, History, WireRequest, body_of, encode_json
from tcoder.models.dialects.text_calls import recognise
from tcoder.models.wire.faults import stream_error
from tcoder.protocol.budget import Usage
from tcoder.protocol.errors import ModelError
from tcoder.protocol.messages import (
    AssistantMessage,
    ImagePart,
    Message,
    ReasoningPart,
    StopReason,
    TextPart,
    ToolCall,
    ToolResult,
    ToolResults,
    UserMessage,
)
from tcoder.protocol.request import ModelPart, ModelRequest
from tcoder.protocol.variant import Effort

PATH = "/messages"
_DEFAULT_OUTPUT = 16_384
_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
_CACHE = {"type": "ephemeral"}
_THINKING_TOKENS: dict[Effort, int] = {"low": 2048, "medium": 8192, "high": 16_384, "xhigh": 24_576, "max": 32_768}


# -- to the wire -------------------------------------------------------------------------------------------------------


def to_wire(request: ModelRequest, history: History | None = None) -> WireRequest:
    """The request as one POST; with `history`, messages that were sent before are not encoded again.

    Cache breakpoints: the last tool, the system text, and the automatic one that the provider moves along the
    conversation itself; so the bytes of the conversation never change.
    """
    variant = request.variant
    quirks = variant.quirks
    cached = "no_cache_control" not in quirks
    limit = request.max_output or variant.max_output or min(_DEFAULT_OUTPUT, variant.context_window // 2)
    head: dict[str, Any] = {"model": variant.model, "max_tokens": limit, "stream": True}
    output: dict[str, Any] = {}
    if variant.effort not in (None, "none"):
        if "budget_thinking" in quirks:
            budget = _THINKING_TOKENS[variant.effort]
            head["thinking"] = {"type": "enabled", "budget_tokens": budget}
            head["max_tokens"] = limit + budget
        else:
            output["effort"] = variant.effort
            if "adaptive_thinking" in quirks:
                head["thinking"] = {"type": "adaptive"}
    if request.response_schema is not None and variant.json_schema:
        output["format"] = {"type": "json_schema", "schema": request.response_schema}
    if output:
        head["output_config"] = output
    if request.temperature is not None and "no_temperature" not in quirks and "thinking" not in head:
        head["temperature"] = request.temperature
    if request.stop:
        head["stop_sequences"] = request.stop
    if variant.speed:
        head["speed"] = variant.speed
    if variant.tier:
        head["service_tier"] = variant.tier
    if cached:
        head["cache_control"] = _CACHE
    if request.tools:
        tools = [{"name": t.name, "description": t.description, "input_schema": t.parameters} for t in request.tools]
        if cached:
            tools[-1]["cache_control"] = _CACHE
        head["tools"] = tools
    if request.system:
        block: dict[str, Any] = {"type": "text", "text": request.system}
        head["system"] = [block | {"cache_control": _CACHE} if cached else block]

    def encode(message: Message) -> bytes:
        said = _message(message, variant.id, images=variant.images)
        return encode_json(said) if said else b""

    items = (history or History()).encoded((PATH, variant.id, variant.images), request.messages, encode)
    betas = [quirk.removeprefix("beta:") for quirk in quirks if quirk.startswith("beta:")]
    headers = {"anthropic-beta": ",".join(betas)} if betas else {}
    return WireRequest(PATH, headers, body_of(head, "messages", items))


def _message(message: Message, model_id: str, *, images: bool) -> dict[str, Any] | None:
    match message:
        case UserMessage():
            blocks = [_block(part, images=images) for part in message.parts if not _is_blank(part)]
            return {"role": "user", "content": blocks} if blocks else None
        case ToolResults():
            return {"role": "user", "content": [_result(result, images=images) for result in message.results]}
        case AssistantMessage():
            said = [_said(part, model_id) for part in message.parts if not _is_blank(part)]
            blocks = [block for block in said if block is not None]
            thinks_only = all(isinstance(block, msgspec.Raw) for block in blocks)
            return {"role": "assistant", "content": blocks} if blocks and not thinks_only else None


def _is_blank(part: object) -> bool:
    return isinstance(part, TextPart) and not part.text.strip()  # the API refuses text blocks without text


def _block(part: TextPart | ImagePart, *, images: bool) -> dict[str, Any]:
    if isinstance(part, TextPart):
        return {"type": "text", "text": part.text}
    if not images:
        return {"type": "text", "text": "[an image that this model cannot see]"}
    return {"type": "image", "source": {"type": "base64", "media_type": part.media_type, "data": part.data}}


def _result(result: ToolResult, *, images: bool) -> dict[str, Any]:
    content: str | list[dict[str, Any]] = result.content or f"({result.status}, no output)"
    if result.images and images:
        content = [{"type": "text", "text": content}, *(_block(image, images=True) for image in result.images)]
    block: dict[str, Any] = {"type": "tool_result", "tool_use_id": wire_id(result.call_id, _ID), "content": content}
    if result.status != "ok":
        block["is_error"] = True
    return block


def _said(part: TextPart | ReasoningPart | ToolCall, model_id: str) -> dict[str, Any] | msgspec.Raw | None:
    match part:
        case TextPart():
            return {"type": "text", "text": part.text}
        case ReasoningPart():
            return msgspec.Raw(part.opaque.encode()) if part.opaque and part.model == model_id else None
        case ToolCall():
            return {"type": "tool_use", "id": wire_id(part.id, _ID), "name": part.name, "input": _input(part.arguments)}


def _input(arguments: str) -> msgspec.Raw:
    """Arguments as the object that the API insists on; what the model wrote, word for word, where it is one."""
    try:
        given: Any = msgspec.json.decode(arguments)
    except (msgspec.MsgspecError, RecursionError):
        given = None
    if isinstance(given, dict):
        return msgspec.Raw(arguments.encode())
    return msgspec.Raw(encode_json({"invalid": arguments} if arguments.strip() else {}))


# -- from the wire -----------------------------------------------------------------------------------------------------


class _Usage(Struct):
    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_creation_input_tokens: int | None = None
    cache_read_input_tokens: int | None = None
    service_tier: str | None = None
    speed: str | None = None


class _Delta(Struct):
    type: str = ""
    text: str | None = None
    partial_json: str | None = None
    thinking: str | None = None
    signature: str | None = None
    stop_reason: str | None = None


class _Message(Struct):
    model: str | None = None
    usage: _Usage | None = None


class _Event(Struct):
    type: str = ""
    index: int = 0
    message: _Message | None = None
    content_block: dict[str, Any] | None = None
    delta: _Delta | None = None
    usage: _Usage | None = None
    error: Any = None


_decoder = msgspec.json.Decoder(_Event)

_STOPS: dict[str, StopReason] = {
    "end_turn": "end",
    "stop_sequence": "end",
    "max_tokens": "length",
    "tool_use": "tool_calls",
    "refusal": "refusal",
    "model_context_window_exceeded": "context_full",
}


class AnthropicFold:
    """Folds one stream; see `Fold`."""

    def __init__(self, request: ModelRequest, taken: Collection[str] = ()) -> None:
        self._request = request
        self._taken = taken
        self._assembly = Assembly(request.variant.id, taken)
        self._blocks: dict[int, tuple[Block, dict[str, Any]]] = {}
        self._usage = _Usage()
        self._counted = False
        self._model = ""
        self._stop = ""
        self.ended = False

    @property
    def complete(self) -> bool:
        return self.ended or bool(self._stop)

    def feed(self, events: list[bytes]) -> list[ModelPart]:
        out: list[ModelPart] = []
        for data in events:
            event = decode_event(data, _decoder, _Event, _tidy)
            match event.type:
                case "content_block_delta":
                    if event.delta is not None:
                        self._grow(event.index, event.delta, out)
                case "content_block_start":
                    self._begin(event.index, event.content_block or {}, out)
                case "content_block_stop":
                    self._end(event.index)
                case "message_start":
                    if event.message is not None:
                        self._model = event.message.model or ""
                        self._count(event.message.usage)
                case "message_delta":
                    self._stop = (event.delta and event.delta.stop_reason) or self._stop
                    self._count(event.usage)
                case "message_stop":
                    self.ended = True
                case "error":
                    raise stream_error(event.error or "an error without a reason")
                case _:
                    if event.error:
                        raise stream_error(event.error)
        self._assembly.flush(out)
        return out

    def _begin(self, index: int, given: dict[str, Any], out: list[ModelPart]) -> None:
        kind = given.get("type")
        if kind == "tool_use":
            block = self._assembly.begin_call(str(given.get("id") or ""), str(given.get("name") or ""), out)
            if given.get("input"):  # some servers send the whole call here
                self._assembly.grow_call(block, encode_json(given["input"]).decode(), out)
        elif kind in ("thinking", "redacted_thinking"):
            self._assembly.flush(out)
            block = self._assembly.begin("reasoning")
            self._assembly.reasoning(str(given.get("thinking") or ""), out)
        else:
            self._assembly.flush(out)
            block = self._assembly.begin("text")
            self._assembly.text(str(given.get("text") or ""), out)
        self._blocks[index] = block, given

    def _grow(self, index: int, delta: _Delta, out: list[ModelPart]) -> None:
        if delta.text:
            self._assembly.text(delta.text, out)
        elif delta.thinking:
            self._assembly.reasoning(delta.thinking, out)
        elif delta.partial_json and index in self._blocks:
            self._assembly.grow_call(self._blocks[index][0], delta.partial_json, out)
        elif delta.signature and index in self._blocks:
            given = self._blocks[index][1]
            given["signature"] = str(given.get("signature") or "") + delta.signature

    def _end(self, index: int) -> None:
        if index not in self._blocks:
            return
        block, given = self._blocks[index]
        if block.kind == "reasoning":
            if given.get("type") == "thinking":
                given["thinking"] = "".join(block.pieces)
            if given.get("signature") or given.get("data"):
                block.opaque = encode_json(given).decode()
        self._assembly.end()

    def _count(self, given: _Usage | None) -> None:
        """Counts are cumulative: the last one that is there holds."""
        if given is None:
            return
        self._counted = True
        for name in self._usage.__struct_fields__:
            value = getattr(given, name)
            if value is not None:
                setattr(self._usage, name, value)

    def finish(self) -> Answer:
        if not self.complete:
            raise ModelError("truncated", "The answer broke off before its end")
        stop = _STOPS.get(self._stop, "unknown")
        if self._assembly.has_calls and stop in ("end", "unknown"):
            stop = "tool_calls"
        message = self._assembly.message(stop, self._normal_usage() if self._counted else None)
        if "text_calls" in self._request.variant.quirks and not message.calls and stop in ("end", "unknown"):
            message = recognise(message, self._request.tools, self._taken)
        return Answer(message, self._model, self._usage.speed or self._usage.service_tier or "")

    def _normal_usage(self) -> Usage:
        return Usage(
            input_uncached=self._usage.input_tokens or 0,
            cache_read=self._usage.cache_read_input_tokens or 0,
            cache_write=self._usage.cache_creation_input_tokens or 0,
            output=self._usage.output_tokens or 0,
            calls=1,
        )


def open_fold(request: ModelRequest, taken: Collection[str] = ()) -> AnthropicFold:
    """A fold for the response to `request`; `taken` are call ids that the conversation already uses."""
    return AnthropicFold(request, taken)


def _tidy(value: Any) -> Any:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}
