"""Tool calls that a model wrote as text: a fenced JSON object of name and arguments, or `<tool_call>` tags."""

import json
import re
from collections.abc import Collection, Iterator
from typing import Any, cast

from msgspec import structs

from tcoder.models.dialects.schema import fits
from tcoder.protocol.messages import AssistantMessage, AssistantPart, TextPart, ToolCall, ToolSpec

_TAGGED = re.compile(r"<tool_call>\s*(.*?)\s*(?:</tool_call>|\Z)", re.DOTALL)
_FENCED = re.compile(r"^[ \t]*```[\w-]*[ \t]*\n(.*?)(?:\n[ \t]*```[ \t]*$|\Z)", re.DOTALL | re.MULTILINE)
_LIMIT = 1_000_000


def recognise(message: AssistantMessage, tools: tuple[ToolSpec, ...], taken: Collection[str] = ()) -> AssistantMessage:
    """`message` with calls in place of the text that spells them, if name and arguments fit an offered tool's schema;
    the very same message otherwise. Text that only resembles a call is left alone. New ids are none of `taken`."""
    text = message.text
    if not tools or "{" not in text or len(text) > _LIMIT:
        return message
    by_name = {tool.name: tool for tool in tools}
    calls: list[ToolCall] = []
    rest: list[str] = []
    end = 0
    number = len(taken) - 1
    for start, stop, body in _candidates(text):
        found = _calls_in(body, by_name)
        if not found:
            continue
        rest.append(text[end:start])
        end = stop
        for name, arguments in found:
            number += 1
            while f"call{number:05}" in taken:
                number += 1
            calls.append(ToolCall(f"call{number:05}", name, arguments))
    if not calls:
        return message
    rest.append(text[end:])
    remaining = "".join(rest).strip()
    kept: list[AssistantPart] = [part for part in message.parts if not isinstance(part, TextPart)]
    if remaining:
        kept.append(TextPart(remaining))
    return structs.replace(message, parts=(*kept, *calls), stop="tool_calls")


def _candidates(text: str) -> Iterator[tuple[int, int, str]]:
    """Start, end and inner text of whatever may be a call, in order and without overlap."""
    if text.lstrip().startswith("{") and text.rstrip().endswith("}"):
        yield 0, len(text), text
        return
    pattern = _TAGGED if "<tool_call>" in text else _FENCED
    for match in pattern.finditer(text):
        yield match.start(), match.end(), match[1]


def _calls_in(body: str, tools: dict[str, ToolSpec]) -> list[tuple[str, str]]:
    """Name and arguments of every call in `body`, which must hold calls and nothing else: one object, an array of them,
    or one to a line."""
    try:
        given: Any = json.loads(body)
    except (ValueError, RecursionError):
        given = _lines(body)
    items = cast("list[Any]", given if isinstance(given, list) else [given])
    found = [_call(item, tools) for item in items]
    return [call for call in found if call is not None] if all(found) else []


def _lines(body: str) -> list[Any]:
    try:
        return [json.loads(line) for line in body.splitlines() if line.strip()]
    except (ValueError, RecursionError):
        return [None]


def _call(item: Any, tools: dict[str, ToolSpec]) -> tuple[str, str] | None:
    if not isinstance(item, dict):
        return None
    given = cast("dict[str, Any]", item)
    if isinstance(given.get("function"), dict) and given.keys() <= {"type", "id", "function"}:
        given = cast("dict[str, Any]", given["function"])
    arguments: Any = given.get("arguments", given.get("parameters"))
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments)
        except (ValueError, RecursionError):
            return None
    tool = tools.get(str(given.get("name")))
    if tool is None or not isinstance(arguments, dict) or not given.keys() <= {"name", "arguments", "parameters", "id"}:
        return None
    closed = {"additionalProperties": False, **tool.parameters}
    if not fits(arguments, closed):
        return None
    return tool.name, json.dumps(arguments, ensure_ascii=False)
