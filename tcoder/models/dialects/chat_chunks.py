"""What a Chat Completions stream is made of, with the vendors' odd types put right."""

from typing import Any, cast

import msgspec
from msgspec import Struct

from tcoder.models.dialects.dialect import encode_json, plain_usage
from tcoder.protocol.budget import Usage


class Function(Struct):
    name: str | None = None
    arguments: str | None = None


class CallPiece(Struct):
    index: int | None = None
    id: str | None = None
    function: Function | None = None


class Delta(Struct):
    content: str | None = None
    tool_calls: list[CallPiece] | None = None
    refusal: str | None = None
    reasoning_content: str | None = None
    reasoning: str | None = None
    reasoning_details: list[dict[str, Any]] | None = None
    function_call: Function | None = None


class CacheDetails(Struct):
    cached_tokens: int | None = None
    cache_write_tokens: int | None = None


class OutputDetails(Struct):
    reasoning_tokens: int | None = None


class WireUsage(Struct):
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    prompt_tokens_details: CacheDetails | None = None
    completion_tokens_details: OutputDetails | None = None
    prompt_cache_hit_tokens: int | None = None  # DeepSeek
    cached_tokens: int | None = None  # Moonshot


class Choice(Struct):
    delta: Delta | None = None
    message: Delta | None = None  # a server that ignores `stream` answers with the whole
    finish_reason: str | None = None
    usage: WireUsage | None = None  # Moonshot


class Chunk(Struct):
    choices: list[Choice] | None = None
    usage: WireUsage | None = None
    model: str | None = None
    service_tier: str | None = None
    error: Any = None


decoder = msgspec.json.Decoder(Chunk)


def usage_of(given: WireUsage) -> Usage | None:
    if given.prompt_tokens is None and given.completion_tokens is None:
        return None
    details = given.prompt_tokens_details or CacheDetails()
    output = given.completion_tokens_details or OutputDetails()
    cached = details.cached_tokens or given.prompt_cache_hit_tokens or given.cached_tokens or 0
    return plain_usage(
        given.prompt_tokens or 0,
        cached,
        details.cache_write_tokens or 0,
        given.completion_tokens or 0,
        output.reasoning_tokens or 0,
    )


def tidy(value: Any) -> Any:
    """Odd types put right: content as a list of blocks, arguments as an object, numbers as text."""
    if not isinstance(value, dict):
        return {}
    chunk = cast("dict[str, Any]", value)
    for choice in chunk.get("choices") or ():
        for name in ("delta", "message"):
            delta = choice.get(name)
            if isinstance(delta, dict):
                _tidy_delta(cast("dict[str, Any]", delta))
    return chunk


def _tidy_delta(delta: dict[str, Any]) -> None:
    content: Any = delta.get("content")
    if isinstance(content, list):
        blocks = cast("list[Any]", content)
        delta["content"] = "".join(str(b.get("text") or "") if isinstance(b, dict) else str(b) for b in blocks)  # pyright: ignore[reportUnknownMemberType, reportUnknownArgumentType] - free JSON
    if not isinstance(delta.get("reasoning"), str | None):
        delta["reasoning"] = None
    for call in delta.get("tool_calls") or ():
        function = call.get("function")
        if isinstance(function, dict) and not isinstance(function.get("arguments"), str | None):  # pyright: ignore[reportUnknownMemberType] - free JSON
            function["arguments"] = encode_json(function["arguments"]).decode()
        if not isinstance(call.get("id"), str | None):
            call["id"] = str(call["id"])
