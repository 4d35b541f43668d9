"""What goes out: the bodies of the three dialects."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.model_calls import CODECS, DIALECTS, READ, request, user, variant

from tcoder.models.dialects.dialect import History
from tcoder.protocol.messages import (
    AssistantMessage,
    ImagePart,
    Message,
    ReasoningPart,
    TextPart,
    ToolCall,
    ToolResult,
    ToolResults,
    UserMessage,
)
from tcoder.protocol.request import ModelRequest
from tcoder.protocol.variant import Dialect

IMAGE = ImagePart("image/png", "iVBORw0KGgo=")
TALK: tuple[Message, ...] = (
    user("Fix it"),
    AssistantMessage(
        (
            ReasoningPart("think", '{"type":"thinking","thinking":"think","signature":"s"}', "vendor/model"),
            TextPart("Reading."),
            ToolCall("c1", "read", '{"path": "a.py"}'),
            ToolCall("c2", "read", '{"path": "b.py"}'),
        ),
        "vendor/model",
        "tool_calls",
    ),
    ToolResults((ToolResult("c1", "one"), ToolResult("c2", "", "error"))),
)


def body(asked: ModelRequest) -> dict[str, Any]:
    return json.loads(CODECS[asked.variant.dialect].to_wire(asked).body)


def test_chat_body() -> None:
    sent = body(request(variant(), *TALK, max_output=100, temperature=0.5, seed=7, stop=("END",)))
    assert sent["model"] == "model"
    assert sent["stream"] is True
    assert sent["stream_options"] == {"include_usage": True}
    assert (sent["max_tokens"], sent["temperature"], sent["seed"], sent["stop"]) == (100, 0.5, 7, ["END"])
    assert sent["tools"] == [
        {"type": "function", "function": {"name": "read", "description": "Read a file", "parameters": READ.parameters}}
    ]
    assert sent["messages"] == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Fix it"},
        {
            "role": "assistant",
            "content": "Reading.",
            "tool_calls": [
                {"id": "c1", "type": "function", "function": {"name": "read", "arguments": '{"path": "a.py"}'}},
                {"id": "c2", "type": "function", "function": {"name": "read", "arguments": '{"path": "b.py"}'}},
            ],
        },
        {"role": "tool", "tool_call_id": "c1", "content": "one"},
        {"role": "tool", "tool_call_id": "c2", "content": "(error, no output)"},
    ]


def test_responses_body() -> None:
    reasoning = '{"type":"reasoning","id":"rs","summary":[],"encrypted_content":"x"}'
    thought = AssistantMessage(
        (ReasoningPart("", reasoning, "vendor/model"), ToolCall("c1", "read", "{}")), "vendor/model"
    )
    asked = request(
        variant("openai-responses", effort="max", tier="fast"),
        user("Hi"),
        thought,
        ToolResults((ToolResult("c1", "one"),)),
        cache_key="session",
    )
    sent = body(asked)
    assert sent["store"] is False
    assert sent["include"] == ["reasoning.encrypted_content"]
    assert sent["instructions"] == "Be brief."
    assert sent["reasoning"] == {"effort": "xhigh", "summary": "auto"}
    assert sent["prompt_cache_key"] == "session"
    assert sent["service_tier"] == "fast"
    assert sent["tools"][0]["name"] == "read"
    assert sent["input"] == [
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Hi"}]},
        json.loads(reasoning),
        {"type": "function_call", "call_id": "c1", "name": "read", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c1", "output": "one"},
    ]


def test_anthropic_body() -> None:
    sent = body(request(variant("anthropic", effort="low", speed="fast", context_window=1000), *TALK))
    assert sent["max_tokens"] == 500
    assert sent["speed"] == "fast"
    assert sent["output_config"] == {"effort": "low"}
    assert sent["messages"][1]["content"] == [
        {"type": "thinking", "thinking": "think", "signature": "s"},
        {"type": "text", "text": "Reading."},
        {"type": "tool_use", "id": "c1", "name": "read", "input": {"path": "a.py"}},
        {"type": "tool_use", "id": "c2", "name": "read", "input": {"path": "b.py"}},
    ]
    results = sent["messages"][2]
    assert results["role"] == "user"
    assert [block["tool_use_id"] for block in results["content"]] == ["c1", "c2"]
    assert [block.get("is_error", False) for block in results["content"]] == [False, True]


def test_anthropic_sets_at_most_four_cache_breakpoints_and_none_in_the_conversation() -> None:
    raw = CODECS["anthropic"].to_wire(request(variant("anthropic"), *TALK)).body
    head, _, conversation = raw.partition(b'"messages":[')
    assert head.count(b'"cache_control"') == 3
    assert b"cache_control" not in conversation
    bare = variant("anthropic", quirks=("no_cache_control",))
    assert b"cache_control" not in CODECS["anthropic"].to_wire(request(bare, *TALK)).body


@pytest.mark.parametrize(
    ("effort", "quirks", "expected"),
    [
        (None, (), {}),
        ("none", ("adaptive_thinking",), {}),
        ("high", ("adaptive_thinking",), {"thinking": {"type": "adaptive"}, "output_config": {"effort": "high"}}),
        ("low", ("budget_thinking",), {"thinking": {"type": "enabled", "budget_tokens": 2048}}),
    ],
)
def test_anthropic_thinking(effort: Any, quirks: tuple[str, ...], expected: dict[str, Any]) -> None:
    sent = body(request(variant("anthropic", effort=effort, quirks=quirks), max_output=1000))
    assert {key: sent[key] for key in ("thinking", "output_config") if key in sent} == expected
    assert sent["max_tokens"] == (3048 if "budget_thinking" in quirks else 1000)


def test_a_beta_quirk_becomes_a_header() -> None:
    wire = CODECS["anthropic"].to_wire(request(variant("anthropic", quirks=("beta:fast-mode-2026-02-01",))))
    assert wire.headers == {"anthropic-beta": "fast-mode-2026-02-01"}


@pytest.mark.parametrize(
    ("quirk", "present", "absent"),
    [
        ("max_completion_tokens", {"max_completion_tokens": 9}, ["max_tokens"]),
        ("no_stream_usage", {}, ["stream_options"]),
        ("no_temperature", {}, ["temperature"]),
        ("no_seed", {}, ["seed"]),
        ("reasoning_object", {"reasoning": {"effort": "high"}}, ["reasoning_effort"]),
        ("reasoning_effort", {"reasoning_effort": "high"}, ["reasoning"]),
        ("cache_key", {"prompt_cache_key": "k"}, []),
        ("none of them", {"max_tokens": 9, "temperature": 0.0, "seed": 1}, ["prompt_cache_key", "reasoning_effort"]),
    ],
)
def test_chat_quirks_change_the_parameters(quirk: str, present: dict[str, Any], absent: list[str]) -> None:
    of = variant(effort="high", quirks=(quirk,))
    sent = body(request(of, max_output=9, temperature=0.0, seed=1, cache_key="k"))
    assert {key: sent[key] for key in present} == present
    assert [key for key in absent if key in sent] == []


def test_chat_quirks_change_the_messages() -> None:
    long_id = AssistantMessage((ToolCall("toolu_01/abc", "read", ""),))
    answered = ToolResults((ToolResult("toolu_01/abc", "x"),))
    sent = body(request(variant(quirks=("short_call_ids", "filled_content")), user("a"), long_id, answered))
    call = sent["messages"][2]
    assert call["content"] == " "
    assert call["tool_calls"][0]["function"]["arguments"] == "{}"
    assert len(call["tool_calls"][0]["id"]) == 9
    assert call["tool_calls"][0]["id"].isalnum()
    assert sent["messages"][3]["tool_call_id"] == call["tool_calls"][0]["id"]
    assert body(request(variant(), user("a"), long_id, answered))["messages"][2]["content"] is None


def test_schemas_get_types_where_a_vendor_wants_them() -> None:
    from tcoder.protocol.messages import ToolSpec

    tool = ToolSpec("t", "d", {"properties": {"a": {"enum": ["x"]}, "b": {"items": {"const": 1}}, "c": {}}})
    sent = body(request(variant(quirks=("typed_schemas",)), tools=(tool,)))
    assert sent["tools"][0]["function"]["parameters"] == {
        "type": "object",
        "properties": {
            "a": {"type": "string", "enum": ["x"]},
            "b": {"type": "array", "items": {"type": "integer", "const": 1}},
            "c": {"type": "string"},
        },
    }


@pytest.mark.parametrize("dialect", DIALECTS)
def test_response_schema_is_sent_only_where_it_is_offered(dialect: Dialect) -> None:
    schema = {"type": "object"}
    assert schema in _values(body(request(variant(dialect, json_schema=True), response_schema=schema, tools=())))
    assert schema not in _values(body(request(variant(dialect), response_schema=schema, tools=())))


def _values(value: Any) -> list[Any]:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [value, *(found for item in inner for found in _values(item))]


@pytest.mark.parametrize(
    ("dialect", "opaque", "marker"),
    [
        ("openai-chat", "", '"reasoning_content"'),
        ("openai-chat", '[{"type":"reasoning.text"}]', '"reasoning_details"'),
        ("openai-responses", '{"type":"reasoning","encrypted_content":"x"}', '"encrypted_content":"x"'),
        ("anthropic", '{"type":"thinking","signature":"s"}', '"signature"'),
    ],
)
def test_reasoning_goes_back_word_for_word_to_the_model_that_made_it_and_to_no_other(
    dialect: Dialect, opaque: str, marker: str
) -> None:
    def sent(model: str) -> str:
        part = ReasoningPart("because", opaque, model)
        message = AssistantMessage((part, TextPart("so")), model)
        of = variant(dialect, quirks=("echo_reasoning",))
        return CODECS[dialect].to_wire(request(of, user("q"), message)).body.decode()

    assert marker in sent("vendor/model")
    assert opaque in sent("vendor/model")
    assert marker not in sent("vendor/other")
    assert "because" not in sent("vendor/other")


@pytest.mark.parametrize("dialect", DIALECTS)
def test_images_go_in_where_the_model_sees_and_are_named_where_not(dialect: Dialect) -> None:
    messages = (
        UserMessage((TextPart("look"), IMAGE)),
        AssistantMessage((ToolCall("c", "read", "{}"),)),
        ToolResults((ToolResult("c", "a picture", images=(IMAGE,)),)),
    )
    seen = CODECS[dialect].to_wire(request(variant(dialect, images=True), *messages)).body.decode()
    blind = CODECS[dialect].to_wire(request(variant(dialect), *messages)).body.decode()
    assert seen.count(IMAGE.data) == 2
    assert IMAGE.data not in blind
    assert "cannot see" in blind


@pytest.mark.parametrize("dialect", DIALECTS)
def test_an_empty_answer_leaves_no_trace(dialect: Dialect) -> None:
    empty = AssistantMessage(())
    name = "input" if dialect == "openai-responses" else "messages"
    with_it = body(request(variant(dialect), user("a"), empty, user("b")))
    without = body(request(variant(dialect), user("a"), user("b")))
    assert with_it[name] == without[name]


def test_broken_arguments_still_make_a_valid_anthropic_request() -> None:
    for arguments, expected in [("", {}), ("[1]", {"invalid": "[1]"}), ('{"a":', {"invalid": '{"a":'})]:
        message = AssistantMessage((ToolCall("c", "read", arguments),))
        assert body(request(variant("anthropic"), user("q"), message))["messages"][1]["content"][0]["input"] == expected


texts = st.text(max_size=30)
call_ids = st.text("abc/é ", min_size=1, max_size=5)


@st.composite
def conversations(draw: st.DrawFn) -> tuple[Message, ...]:
    messages: list[Message] = [user(draw(texts))]
    for _ in range(draw(st.integers(0, 4))):
        ids = draw(st.lists(call_ids, unique=True, max_size=3))
        parts = (TextPart(draw(texts)), *(ToolCall(i, "read", draw(texts)) for i in ids))
        messages.append(AssistantMessage(parts, "vendor/model"))
        messages.append(ToolResults(tuple(ToolResult(i, draw(texts)) for i in ids)) if ids else user(draw(texts)))
    return tuple(messages)


@pytest.mark.parametrize("dialect", DIALECTS)
@settings(max_examples=40, deadline=None)
@given(messages=conversations())
def test_each_body_begins_with_the_one_before_and_equals_one_made_from_nothing(
    dialect: Dialect, messages: tuple[Message, ...]
) -> None:
    codec, history, before = CODECS[dialect], History(), b""
    for length in range(1, len(messages) + 1):
        asked = request(variant(dialect), *messages[:length])
        sent = codec.to_wire(asked, history).body
        assert sent.startswith(before)
        assert sent.endswith(b"]}")
        assert sent == codec.to_wire(asked).body
        json.loads(sent)
        before = sent[:-2]


def test_history_survives_asides_and_compaction_and_encodes_each_message_once() -> None:
    encoded: list[Message] = []

    def encode(message: Message) -> bytes:
        encoded.append(message)
        return str(len(encoded)).encode()

    history = History(kept=2)
    assert history.encoded("k", TALK[:1], encode) == b"1"
    assert history.encoded("k", (user("aside"),), encode) == b"2"
    assert history.encoded("k", TALK, encode) == b"1,3,4"
    assert set(history.call_ids) == {"c1", "c2"}
    assert history.encoded("k", TALK, encode) == b"1,3,4"
    assert history.encoded("k", (TALK[0], user("summary")), encode) == b"1,5"
    assert set(history.call_ids) == set()
    assert history.encoded("another model", TALK[:1], encode) == b"6"
    assert history.encoded("k", (user("new"),), encode) == b"7"
    assert history.encoded("k", (TALK[0],), encode) == b"8"  # the oldest conversation was let go
