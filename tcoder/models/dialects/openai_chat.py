"""The OpenAI Chat Completions dialect, as OpenAI and some fifty compatible vendors and servers speak it.

Quirks that it knows (see the catalogue): `max_completion_tokens`, `no_stream_usage`, `echo_reasoning`,
`reasoning_object`, `reasoning_effort`, `short_call_ids`, `typed_schemas`, `filled_content`, `cache_key`,
`no_temperature`, `no_seed`.
"""

import re
from collections.abc import Collection
from typing import Any

import msgspec

from tcoder.models.dialects.assembly import Assembly, Block, decode_event, wire_id
from tcoder.models.dialects.chat_chunks import CallPiece, Choice, Chunk, decoder, tidy, usage_of
from tcoder.models.dialects.dialect import Answer, History, WireRequest, body_of, encode_json
from tcoder.models.dialects.schema import with_types
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
    ToolResults,
    ToolSpec,
    UserMessage,
    UserPart,
)
from tcoder.protocol.request import ModelPart, ModelRequest

PATH = "/chat/completions"
_EFFORT = {"max": "xhigh"}
_ANY_ID = re.compile(r"[^\x00-\x1f]{1,64}")
_SHORT_ID = re.compile(r"[A-Za-z0-9]{9}")


# -- to the wire -------------------------------------------------------------------------------------------------------


def to_wire(request: ModelRequest, history: History | None = None) -> WireRequest:
    """The request as one POST; with `history`, messages that were sent before are not encoded again."""
    variant = request.variant
    quirks = variant.quirks
    head: dict[str, Any] = {"model": variant.model, "stream": True}
    if "no_stream_usage" not in quirks:
        head["stream_options"] = {"include_usage": True}
    limit = request.max_output or variant.max_output
    if limit:
        head["max_completion_tokens" if "max_completion_tokens" in quirks else "max_tokens"] = limit
    if request.temperature is not None and "no_temperature" not in quirks:
        head["temperature"] = request.temperature
    if request.seed is not None and "no_seed" not in quirks:
        head["seed"] = request.seed
    if request.stop:
        head["stop"] = request.stop
    if variant.tier:
        head["service_tier"] = variant.tier
    if variant.effort is not None:
        effort = _EFFORT.get(variant.effort, variant.effort)
        if "reasoning_object" in quirks:
            head["reasoning"] = {"effort": effort}
        elif "reasoning_effort" in quirks:
            head["reasoning_effort"] = effort
    if request.cache_key and "cache_key" in quirks:
        head["prompt_cache_key"] = request.cache_key
    if request.response_schema is not None and variant.json_schema:
        head["response_format"] = {
            "type": "json_schema",
            "json_schema": {"name": "answer", "strict": True, "schema": request.response_schema},
        }
    if request.tools:
        head["tools"] = [_tool(tool, typed="typed_schemas" in quirks) for tool in request.tools]

    def encode(message: Message) -> bytes:
        objects = _messages(message, variant.id, quirks, images=variant.images)
        return b",".join(map(encode_json, objects))

    key = (PATH, variant.id, quirks, variant.images)
    items = (history or History()).encoded(key, request.messages, encode)
    if request.system:
        system = encode_json({"role": "system", "content": request.system})
        items = system + b"," + items if items else system
    return WireRequest(PATH, {}, body_of(head, "messages", items))


def _tool(tool: ToolSpec, *, typed: bool) -> dict[str, Any]:
    parameters = with_types(tool.parameters) if typed else tool.parameters
    return {
        "type": "function",
        "function": {"name": tool.name, "description": tool.description, "parameters": parameters},
    }


def _messages(message: Message, model_id: str, quirks: tuple[str, ...], *, images: bool) -> list[dict[str, Any]]:
    match message:
        case UserMessage():
            return [{"role": "user", "content": _content(message.parts, images=images)}]
        case ToolResults():
            return _results(message, quirks, images=images)
        case AssistantMessage():
            return _assistant(message, model_id, quirks)


def _content(parts: tuple[UserPart, ...], *, images: bool) -> str | list[dict[str, Any]]:
    if all(isinstance(part, TextPart) for part in parts):
        return "\n\n".join(part.text for part in parts if isinstance(part, TextPart))
    return [_block(part, images=images) for part in parts]


def _block(part: UserPart, *, images: bool) -> dict[str, Any]:
    if isinstance(part, TextPart):
        return {"type": "text", "text": part.text}
    if not images:
        return {"type": "text", "text": "[an image that this model cannot see]"}
    return {"type": "image_url", "image_url": {"url": f"data:{part.media_type};base64,{part.data}"}}


def _results(message: ToolResults, quirks: tuple[str, ...], *, images: bool) -> list[dict[str, Any]]:
    objects: list[dict[str, Any]] = [
        {
            "role": "tool",
            "tool_call_id": _call_id(result.call_id, quirks),
            "content": result.content or f"({result.status}, no output)",
        }
        for result in message.results
    ]
    shown: list[ImagePart] = [image for result in message.results for image in result.images]
    if shown and images:  # a tool message holds text only
        note = TextPart("Images from the results above:")
        objects.append({"role": "user", "content": _content((note, *shown), images=True)})
    return objects


def _assistant(message: AssistantMessage, model_id: str, quirks: tuple[str, ...]) -> list[dict[str, Any]]:
    text, calls = message.text, message.calls
    if not text and not calls:
        return []  # vendors refuse an assistant message without content
    if text:
        content: str | None = text
    else:
        content = " " if "filled_content" in quirks else None
    said: dict[str, Any] = {"role": "assistant", "content": content}
    thoughts = [p for p in message.parts if isinstance(p, ReasoningPart) and p.model == model_id]
    if thoughts and "echo_reasoning" in quirks:
        details = [msgspec.Raw(part.opaque.encode()) for part in thoughts if part.opaque]
        if details:
            said["reasoning_details"] = details[-1]
        else:
            said["reasoning_content"] = "".join(part.text for part in thoughts)
    if calls:
        said["tool_calls"] = [
            {
                "id": _call_id(call.id, quirks),
                "type": "function",
                "function": {"name": call.name, "arguments": call.arguments or "{}"},
            }
            for call in calls
        ]
    return [said]


def _call_id(call_id: str, quirks: tuple[str, ...]) -> str:
    return wire_id(call_id, _SHORT_ID if "short_call_ids" in quirks else _ANY_ID)


# -- from the wire -----------------------------------------------------------------------------------------------------


_STOPS: dict[str, StopReason] = {
    "stop": "end",
    "eos": "end",
    "length": "length",
    "model_length": "context_full",
    "tool_calls": "tool_calls",
    "function_call": "tool_calls",
    "content_filter": "filtered",
    "refusal": "refusal",
}


class ChatFold:
    """Folds one stream; see `Fold`."""

    def __init__(self, request: ModelRequest, taken: Collection[str] = ()) -> None:
        self._request = request
        self._taken = taken
        self._assembly = Assembly(request.variant.id, taken)
        self._calls: dict[int, Block] = {}
        self._last_call: Block | None = None
        self._details: list[dict[str, Any]] = []
        self._finish = ""
        self._refused = False
        self._usage: Usage | None = None
        self._model = ""
        self._tier = ""
        self.ended = False

    @property
    def complete(self) -> bool:
        return self.ended or bool(self._finish)

    def feed(self, events: list[bytes]) -> list[ModelPart]:
        out: list[ModelPart] = []
        for data in events:
            if data.startswith(b"[DONE]"):
                self.ended = True
                break
            chunk = decode_event(data, decoder, Chunk, tidy)
            if chunk.error:
                raise stream_error(chunk.error)
            if chunk.usage is not None:
                self._usage = usage_of(chunk.usage)
            if chunk.model:
                self._model = chunk.model
            if chunk.service_tier:
                self._tier = chunk.service_tier
            for choice in chunk.choices or ():
                self._choice(choice, out)
        self._assembly.flush(out)
        return out

    def _choice(self, choice: Choice, out: list[ModelPart]) -> None:
        delta = choice.delta or choice.message
        if delta is not None:
            thought = delta.reasoning_content or delta.reasoning
            if thought:
                self._assembly.reasoning(thought, out)
            if delta.reasoning_details:
                self._details.extend(delta.reasoning_details)
                if not thought:
                    for detail in delta.reasoning_details:
                        self._assembly.reasoning(str(detail.get("text") or detail.get("summary") or ""), out)
            if delta.content:
                self._assembly.text(delta.content, out)
            if delta.refusal:
                self._refused = True
                self._assembly.text(delta.refusal, out)
            for piece in delta.tool_calls or ():
                self._call(piece, out)
            if delta.function_call is not None:
                self._call(CallPiece(index=0, function=delta.function_call), out)
        if choice.usage is not None:
            self._usage = usage_of(choice.usage)
        if choice.finish_reason:
            self._finish = choice.finish_reason

    def _call(self, piece: CallPiece, out: list[ModelPart]) -> None:
        name = (piece.function and piece.function.name) or ""
        arguments = (piece.function and piece.function.arguments) or ""
        block = self._calls.get(piece.index) if piece.index is not None else self._last_call
        if block is not None and self._begins_another(block, piece, name):
            block = None
        if block is None:
            block = self._assembly.begin_call(piece.id or "", name, out)
            self._calls[piece.index if piece.index is not None else len(self._calls)] = block
        elif name and not block.name:
            block.name = name
        if piece.id and not block.call_id:
            block.call_id = piece.id
        self._last_call = block
        self._assembly.grow_call(block, arguments, out)

    @staticmethod
    def _begins_another(block: Block, piece: CallPiece, name: str) -> bool:
        """Some servers leave `index` out or give every call the same one; a new id with a name is a new call, and so is
        a name after arguments when there are no ids. Others repeat id and name in every piece of one call."""
        if piece.id and block.call_id:
            return piece.id != block.call_id and bool(name)
        return bool(name) and bool(block.pieces) and not piece.id

    def finish(self) -> Answer:
        if not self.complete:
            raise ModelError("truncated", "The answer broke off before its end")
        stop = _STOPS.get(self._finish, "unknown")
        if self._refused:
            stop = "refusal"
        elif self._assembly.has_calls and stop in ("end", "unknown"):
            stop = "tool_calls"
        if self._details:
            self._keep_details()
        message = self._assembly.message(stop, self._usage)
        if not message.calls and stop in ("end", "unknown"):
            message = recognise(message, self._request.tools, self._taken)
        return Answer(message, self._model, self._tier)

    def _keep_details(self) -> None:
        """Attach `reasoning_details` as they must be sent back: the pieces of one entry joined, in order."""
        merged: list[dict[str, Any]] = []
        for detail in self._details:
            last = merged[-1] if merged else None
            same = last is not None and all(last.get(k) == detail.get(k) for k in ("type", "index"))
            if last is None or not same or detail.get("index") is None:
                merged.append(dict(detail))
                continue
            for field, value in detail.items():
                if field in ("text", "summary", "data") and isinstance(value, str):
                    last[field] = (last.get(field) or "") + value
                elif value is not None:
                    last[field] = value
        self._assembly.attach_reasoning(encode_json(merged).decode())


def open_fold(request: ModelRequest, taken: Collection[str] = ()) -> ChatFold:
    """A fold for the response to `request`; `taken` are call ids that the conversation already uses."""
    return ChatFold(request, taken)
