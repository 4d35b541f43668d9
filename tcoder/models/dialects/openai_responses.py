"""The OpenAI Responses dialect, stateless: nothing is stored by the provider, reasoning is replayed encrypted.

Quirks that it knows (see the catalogue): `no_temperature`, `no_encrypted_reasoning`, `no_reasoning_summary`, and
`text_calls` (calls that come as text are recognised).
"""

import re
from collections.abc import Collection
from typing import Any, cast

import msgspec
from msgspec import Struct

from tcoder.models.dialects.assembly import Assembly, Block, decode_event, wire_id
from tcoder.models.dialects.dialect import Answer, History, WireRequest, body_of, encode_json, plain_usage
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

PATH = "/responses"
_EFFORT = {"max": "xhigh"}
_ID = re.compile(r"[^\x00-\x1f]{1,64}")


# -- to the wire -------------------------------------------------------------------------------------------------------


def to_wire(request: ModelRequest, history: History | None = None) -> WireRequest:
    """The request as one POST; with `history`, messages that were sent before are not encoded again."""
    variant = request.variant
    quirks = variant.quirks
    head: dict[str, Any] = {"model": variant.model, "stream": True, "store": False}
    if "no_encrypted_reasoning" not in quirks:
        head["include"] = ["reasoning.encrypted_content"]
    limit = request.max_output or variant.max_output
    if limit:
        head["max_output_tokens"] = limit
    if request.temperature is not None and "no_temperature" not in quirks:
        head["temperature"] = request.temperature
    if variant.effort is not None:
        reasoning: dict[str, Any] = {"effort": _EFFORT.get(variant.effort, variant.effort)}
        if variant.effort != "none" and "no_reasoning_summary" not in quirks:
            reasoning["summary"] = "auto"
        head["reasoning"] = reasoning
    if request.response_schema is not None and variant.json_schema:
        head["text"] = {
            "format": {"type": "json_schema", "name": "answer", "strict": True, "schema": request.response_schema}
        }
    if variant.tier:
        head["service_tier"] = variant.tier
    if request.cache_key:
        head["prompt_cache_key"] = request.cache_key
    if request.system:
        head["instructions"] = request.system
    if request.tools:
        head["tools"] = [
            {
                "type": "function",
                "name": tool.name,
                "description": tool.description,
                "parameters": tool.parameters,
                "strict": False,
            }
            for tool in request.tools
        ]

    def encode(message: Message) -> bytes:
        return b",".join(map(encode_json, _items(message, variant.id, images=variant.images)))

    items = (history or History()).encoded((PATH, variant.id, variant.images), request.messages, encode)
    return WireRequest(PATH, {}, body_of(head, "input", items))


def _items(message: Message, model_id: str, *, images: bool) -> list[dict[str, Any] | msgspec.Raw]:
    match message:
        case UserMessage():
            blocks = [_block(part, images=images) for part in message.parts]
            return [{"type": "message", "role": "user", "content": blocks}] if blocks else []
        case ToolResults():
            return [_result(result, images=images) for result in message.results]
        case AssistantMessage():
            items = [_said(part, model_id) for part in message.parts]
            return _without_lone_reasoning([item for item in items if item is not None])


def _without_lone_reasoning(items: list[dict[str, Any] | msgspec.Raw]) -> list[dict[str, Any] | msgspec.Raw]:
    """A reasoning item must be followed by what it led to; an interrupted answer may end with one."""
    while items and isinstance(items[-1], msgspec.Raw):
        items.pop()
    return items


def _block(part: TextPart | ImagePart, *, images: bool) -> dict[str, Any]:
    if isinstance(part, TextPart):
        return {"type": "input_text", "text": part.text}
    if not images:
        return {"type": "input_text", "text": "[an image that this model cannot see]"}
    return {"type": "input_image", "image_url": f"data:{part.media_type};base64,{part.data}"}


def _result(result: ToolResult, *, images: bool) -> dict[str, Any]:
    output: str | list[dict[str, Any]] = result.content or f"({result.status}, no output)"
    if result.images and images:
        output = [{"type": "input_text", "text": output}, *(_block(image, images=True) for image in result.images)]
    return {"type": "function_call_output", "call_id": wire_id(result.call_id, _ID), "output": output}


def _said(part: TextPart | ReasoningPart | ToolCall, model_id: str) -> dict[str, Any] | msgspec.Raw | None:
    match part:
        case TextPart():
            if not part.text:
                return None
            return {
                "type": "message",
                "role": "assistant",
                "content": [{"type": "output_text", "text": part.text, "annotations": []}],
            }
        case ReasoningPart():
            return msgspec.Raw(part.opaque.encode()) if part.opaque and part.model == model_id else None
        case ToolCall():
            return {
                "type": "function_call",
                "call_id": wire_id(part.id, _ID),
                "name": part.name,
                "arguments": part.arguments or "{}",
            }


# -- from the wire -----------------------------------------------------------------------------------------------------


class _InputDetails(Struct):
    cached_tokens: int | None = None
    cache_write_tokens: int | None = None


class _OutputDetails(Struct):
    reasoning_tokens: int | None = None


class _Usage(Struct):
    input_tokens: int | None = None
    output_tokens: int | None = None
    input_tokens_details: _InputDetails | None = None
    output_tokens_details: _OutputDetails | None = None


class _Incomplete(Struct):
    reason: str | None = None


class _Response(Struct):
    model: str | None = None
    service_tier: str | None = None
    usage: _Usage | None = None
    error: Any = None
    incomplete_details: _Incomplete | None = None


class _Event(Struct):
    type: str = ""
    output_index: int | None = None
    item_id: str | None = None
    delta: str | None = None
    item: dict[str, Any] | None = None
    response: _Response | None = None
    error: Any = None
    message: str | None = None
    code: str | None = None


_decoder = msgspec.json.Decoder(_Event)

_INCOMPLETE: dict[str, StopReason] = {"max_output_tokens": "length", "content_filter": "filtered"}


class ResponsesFold:
    """Folds one stream; see `Fold`."""

    def __init__(self, request: ModelRequest, taken: Collection[str] = ()) -> None:
        self._request = request
        self._taken = taken
        self._assembly = Assembly(request.variant.id, taken)
        self._blocks: dict[str, Block] = {}
        self._stop: StopReason = "end"
        self._refused = False
        self._usage: Usage | None = None
        self._model = ""
        self._tier = ""
        self.ended = False

    @property
    def complete(self) -> bool:
        return self.ended

    def feed(self, events: list[bytes]) -> list[ModelPart]:
        out: list[ModelPart] = []
        for data in events:
            if data.startswith(b"[DONE]"):  # not in the API, but compatible servers send it
                continue
            event = decode_event(data, _decoder, _Event, _tidy)
            match event.type:
                case "response.output_text.delta":
                    self._assembly.text(event.delta or "", out)
                case "response.refusal.delta":
                    self._refused = True
                    self._assembly.text(event.delta or "", out)
                case "response.reasoning_summary_text.delta" | "response.reasoning_text.delta":
                    self._assembly.reasoning(event.delta or "", out)
                case "response.function_call_arguments.delta":
                    block = self._blocks.get(_place(event))
                    if block is not None:
                        self._assembly.grow_call(block, event.delta or "", out)
                case "response.output_item.added":
                    self._begin(event, out)
                case "response.output_item.done":
                    self._end(event, out)
                case "response.completed" | "response.incomplete":
                    self._finish(event.response or _Response())
                case "response.failed":
                    raise stream_error((event.response and event.response.error) or "the response failed")
                case "error":
                    raise stream_error(event.error or {"message": event.message, "code": event.code})
                case _:
                    if event.error:
                        raise stream_error(event.error)
        self._assembly.flush(out)
        return out

    def _begin(self, event: _Event, out: list[ModelPart]) -> None:
        item = event.item or {}
        match item.get("type"):
            case "function_call":
                block = self._assembly.begin_call(str(item.get("call_id") or ""), str(item.get("name") or ""), out)
            case "reasoning":
                self._assembly.flush(out)
                block = self._assembly.begin("reasoning")
            case _:
                self._assembly.flush(out)
                block = self._assembly.begin("text")
        self._blocks[_place(event)] = block

    def _end(self, event: _Event, out: list[ModelPart]) -> None:
        """The whole item is the truth; deltas only showed it growing, and some servers leave them out."""
        item = event.item or {}
        if _place(event) not in self._blocks:
            self._begin(event, out)
        block = self._blocks[_place(event)]
        match item.get("type"):
            case "function_call":
                arguments = str(item.get("arguments") or "")
                if not block.pieces:
                    self._assembly.grow_call(block, arguments, out)
                elif arguments:
                    block.pieces = [arguments]
            case "reasoning":
                if item.get("encrypted_content"):  # without it the provider could not find the item again
                    block.opaque = encode_json(item).decode()
            case "message":
                whole = "".join(
                    str(part.get("text") or part.get("refusal") or "") for part in item.get("content") or ()
                )
                if whole and not block.pieces:
                    self._assembly.text(whole, out)
            case _:
                pass
        self._assembly.end()

    def _finish(self, response: _Response) -> None:
        self.ended = True
        self._model = response.model or ""
        self._tier = response.service_tier or ""
        if response.usage is not None:
            self._usage = _normal(response.usage)
        if response.incomplete_details is not None:
            self._stop = _INCOMPLETE.get(response.incomplete_details.reason or "", "unknown")

    def finish(self) -> Answer:
        if not self.complete:
            raise ModelError("truncated", "The answer broke off before its end")
        stop = self._stop
        if self._refused:
            stop = "refusal"
        elif self._assembly.has_calls and stop in ("end", "unknown"):
            stop = "tool_calls"
        message = self._assembly.message(stop, self._usage)
        if "text_calls" in self._request.variant.quirks and not message.calls and stop in ("end", "unknown"):
            message = recognise(message, self._request.tools, self._taken)
        return Answer(message, self._model, self._tier)


def open_fold(request: ModelRequest, taken: Collection[str] = ()) -> ResponsesFold:
    """A fold for the response to `request`; `taken` are call ids that the conversation already uses."""
    return ResponsesFold(request, taken)


def _place(event: _Event) -> str:
    """Which item an event is about: its index, or its id where a server leaves the index out."""
    if event.output_index is not None:
        return str(event.output_index)
    return event.item_id or str((event.item or {}).get("id", ""))


def _normal(given: _Usage) -> Usage:
    details = given.input_tokens_details or _InputDetails()
    return plain_usage(
        given.input_tokens or 0,
        details.cached_tokens or 0,
        details.cache_write_tokens or 0,
        given.output_tokens or 0,
        (given.output_tokens_details or _OutputDetails()).reasoning_tokens or 0,
    )


def _tidy(value: Any) -> Any:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}
