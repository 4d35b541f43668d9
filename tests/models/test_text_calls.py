import json
from typing import Any

import pytest
from support.model_calls import CODECS, EVENTS, READ, fold, request, variant
from support.model_server import chat_events

from tcoder.models.dialects.schema import fits
from tcoder.models.dialects.text_calls import recognise
from tcoder.protocol.messages import AssistantMessage, ReasoningPart, TextPart, ToolSpec
from tcoder.protocol.variant import Dialect

SHELL = ToolSpec(
    "shell", "Run", {"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]}
)
GOOD = '{"name": "read", "arguments": {"path": "a.py"}}'


def found(text: str) -> tuple[list[tuple[str, Any]], str]:
    message = recognise(AssistantMessage((TextPart(text),)), (READ, SHELL))
    return [(call.name, json.loads(call.arguments)) for call in message.calls], message.text


@pytest.mark.parametrize(
    ("text", "calls", "rest"),
    [
        (GOOD, [("read", {"path": "a.py"})], ""),
        (f"```json\n{GOOD}\n```", [("read", {"path": "a.py"})], ""),
        (
            f"I will read it.\n```\n{GOOD}\n```\nThen I go on.",
            [("read", {"path": "a.py"})],
            "I will read it.\n\nThen I go on.",
        ),
        (f"```json\n{GOOD}", [("read", {"path": "a.py"})], ""),
        (f"<tool_call>\n{GOOD}\n</tool_call>", [("read", {"path": "a.py"})], ""),
        (f"<tool_call>{GOOD}</tool_call><tool_call>{GOOD}</tool_call>", [("read", {"path": "a.py"})] * 2, ""),
        (f"<tool_call>\n{GOOD}", [("read", {"path": "a.py"})], ""),
        (f"```json\n[{GOOD}, {GOOD}]\n```", [("read", {"path": "a.py"})] * 2, ""),
        (f"```json\n{GOOD}\n{GOOD}\n```", [("read", {"path": "a.py"})] * 2, ""),
        ('{"name": "shell", "parameters": {"command": "ls"}}', [("shell", {"command": "ls"})], ""),
        ('{"name": "read", "arguments": "{\\"path\\": \\"a\\"}"}', [("read", {"path": "a"})], ""),
        ('{"type": "function", "function": ' + GOOD + "}", [("read", {"path": "a.py"})], ""),
    ],
)
def test_calls_written_as_text(text: str, calls: list[tuple[str, Any]], rest: str) -> None:
    assert found(text) == (calls, rest)


@pytest.mark.parametrize(
    "text",
    [
        "Nothing here.",
        '{"name": "write", "arguments": {"path": "a.py"}}',
        '{"name": "read", "arguments": {"file": "a.py"}}',
        '{"name": "read", "arguments": {"path": 3}}',
        '{"name": "read", "arguments": {"path": "a", "limit": "3"}}',
        '{"name": "read", "arguments": {"path": "a", "mode": "r"}}',
        '{"name": "shell", "arguments": {"command": "ls", "extra": 1}}',
        '{"name": "read", "arguments": ["a.py"]}',
        '{"name": "read", "arguments": {"path": "a.py"}, "because": "x"}',
        '{"name": "read", "arguments": {"path": "a.p',
        '{"name": "read"}',
        '```python\nread = {"name": "read"}\n```',
        f"The call {GOOD} in a sentence is no call.",
        f"```json\n[{GOOD}, 1]\n```",
        "{" * 3000,
    ],
)
def test_text_that_only_looks_like_a_call_is_left_alone(text: str) -> None:
    message = AssistantMessage((TextPart(text),))
    assert recognise(message, (READ, SHELL)) is message


def test_reasoning_stays_and_ids_are_new() -> None:
    message = AssistantMessage((ReasoningPart("hm"), TextPart(f"{GOOD}")), stop="end")
    made = recognise(message, (READ,), {"call00001", "x"})
    assert [type(part).__name__ for part in made.parts] == ["ReasoningPart", "ToolCall"]
    assert made.calls[0].id == "call00002"
    assert made.stop == "tool_calls"


@pytest.mark.parametrize("dialect", ["openai-responses", "anthropic"])
def test_the_other_dialects_recognise_them_where_the_catalogue_says_so(dialect: Dialect) -> None:
    events = [event.partition(b"data: ")[2].strip() for event in EVENTS[dialect]({"text": GOOD}, 0, "m")]
    for quirks, names in [(("text_calls",), ["read"]), ((), [])]:
        folding = CODECS[dialect].open_fold(request(variant(dialect, quirks=quirks)))
        folding.feed(events)
        assert [call.name for call in folding.finish().message.calls] == names


def test_the_chat_fold_recognises_them_unless_the_answer_was_cut() -> None:
    step = {"text": f"```json\n{GOOD}\n```"}
    _, answer = fold("openai-chat", chat_events(step, 0, "m"))
    assert [call.name for call in answer.message.calls] == ["read"]
    _, cut = fold("openai-chat", chat_events({**step, "stop": "length"}, 0, "m"))
    assert cut.message.calls == ()
    _, without_tools = fold("openai-chat", chat_events(step, 0, "m"), tools=())
    assert without_tools.message.calls == ()


@pytest.mark.parametrize(
    ("schema", "good", "bad"),
    [
        ({"type": "integer"}, [1, 2.0], [1.5, True, "1"]),
        ({"type": "number"}, [1, 1.5], [False, None]),
        ({"type": ["string", "null"]}, ["a", None], [1]),
        ({"enum": ["a", 1]}, ["a", 1], ["b"]),
        ({"const": 3}, [3], [4]),
        ({"type": "array", "items": {"type": "string"}, "minItems": 1}, [["a"]], [[], [1], "a"]),
        ({"type": "string", "minLength": 2, "pattern": "^a"}, ["ab"], ["a", "ba"]),
        ({"type": "integer", "minimum": 1, "exclusiveMaximum": 3}, [1, 2], [0, 3]),
        ({"anyOf": [{"type": "string"}, {"type": "integer"}]}, ["a", 1], [1.5]),
        ({"allOf": [{"minimum": 1}, {"maximum": 2}]}, [1, 2], [3]),
        ({"$ref": "#/$defs/x", "$defs": {"x": {"type": "string"}}}, ["a"], [1]),
        ({"$ref": "#/$defs/gone"}, [], ["a"]),
        ({"$ref": "#"}, [], ["endless"]),
        (
            {"properties": {"a": {"type": "string"}}, "additionalProperties": {"type": "integer"}},
            [{"b": 1}],
            [{"b": "x"}],
        ),
        ({"additionalProperties": False}, [{}], [{"a": 1}]),
    ],
)
def test_schema(schema: dict[str, Any], good: list[Any], bad: list[Any]) -> None:
    assert [value for value in good if not fits(value, schema)] == []
    assert [value for value in bad if fits(value, schema)] == []
