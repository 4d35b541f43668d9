"""What comes in: streams of the three dialects, put together, with every deviation that vendors are known for."""

import json
from typing import Any

import pytest
from support.model_calls import CODECS, DIALECTS, EVENTS, fold, request, variant

from tcoder.protocol.budget import Usage
from tcoder.protocol.errors import ErrorKind, ModelError
from tcoder.protocol.messages import ReasoningPart, TextPart, ToolCall
from tcoder.protocol.variant import Dialect

FULL = {
    "reasoning": "Let me thinkäß",
    "text": "Grüße 😀\u2028end",
    "calls": [{"name": "read", "arguments": {"path": "ü.py"}}, {"name": "read", "arguments": {"path": "b"}}],
    "usage": {"prompt": 100, "cached": 60, "output": 7},
    "tier": "fast",
    "piece": 3,
}


def sse(*payloads: Any, done: bool = True) -> bytes:
    lines = [b"data: " + (p if isinstance(p, bytes) else json.dumps(p).encode()) + b"\n\n" for p in payloads]
    return b"".join(lines) + (b"data: [DONE]\n\n" if done else b"")


def delta(finish: str | None = None, **fields: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": fields, "finish_reason": finish}]}


def call(name: str | None = None, arguments: Any = None, **fields: Any) -> dict[str, Any]:
    function = {key: value for key, value in (("name", name), ("arguments", arguments)) if value is not None}
    return {**fields, "function": function}


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_full_answer(dialect: Dialect) -> None:
    heard, answer = fold(dialect, [b"".join(EVENTS[dialect](FULL, 0, "m-1"))])
    message = answer.message
    assert heard.text == message.text == FULL["text"]
    assert heard.reasoning == FULL["reasoning"]
    assert next(part for part in message.parts if isinstance(part, ReasoningPart)).text == FULL["reasoning"]
    assert [json.loads(c.arguments) for c in message.calls] == [{"path": "ü.py"}, {"path": "b"}]
    assert heard.calls == tuple((c.name, c.arguments) for c in message.calls)
    assert [c.id for c in message.calls] == ["call00000", "call00001"]
    assert (message.stop, message.model) == ("tool_calls", "vendor/model")
    assert message.usage == Usage(input_uncached=40, cache_read=60, output=7, calls=1)
    assert (answer.model, answer.tier) == ("m-1", "fast")


@pytest.mark.parametrize("dialect", DIALECTS)
def test_r07_split_at_every_byte_gives_the_same_answer(dialect: Dialect) -> None:
    stream = b"".join(EVENTS[dialect](FULL, 0, "m-1"))
    whole_heard, whole = fold(dialect, [stream])
    for at in range(1, len(stream)):
        heard, answer = fold(dialect, [stream[:at], stream[at:]])
        assert answer == whole
        assert (heard.text, heard.reasoning, heard.calls) == (
            whole_heard.text,
            whole_heard.reasoning,
            whole_heard.calls,
        )
    assert fold(dialect, [stream[i : i + 1] for i in range(len(stream))])[1] == whole


@pytest.mark.parametrize("dialect", DIALECTS)
def test_r05_every_cut_before_the_end_is_an_error_and_never_an_answer_with_other_calls(dialect: Dialect) -> None:
    stream = b"".join(EVENTS[dialect](FULL, 0, "m-1"))
    _, whole = fold(dialect, [stream])
    answered = 0
    for at in range(len(stream)):
        try:
            _, answer = fold(dialect, [stream[:at]])
        except ModelError as error:
            assert error.failure in ("truncated", "bad_response")
            continue
        answered += 1
        assert answer.message.calls == whole.message.calls
        assert answer.message.text == whole.message.text
    assert answered < len(stream) / 3  # only where nothing but usage or the end mark is missing


CHAT_CALLS: list[tuple[str, list[Any], list[tuple[str, str]]]] = [
    (
        "index left out, id in the first piece",
        [
            delta(tool_calls=[call("read", "", id="a")]),
            delta(tool_calls=[call(arguments='{"path":')]),
            delta(tool_calls=[call(arguments='"x"}')]),
        ],
        [("a", '{"path":"x"}')],
    ),
    (
        "index left out, two calls",
        [
            delta(tool_calls=[call("read", '{"path":"x"}', id="a")]),
            delta(tool_calls=[call("read", '{"path":"y"}', id="b")]),
        ],
        [("a", '{"path":"x"}'), ("b", '{"path":"y"}')],
    ),
    (
        "id and name repeated in every piece",
        [
            delta(tool_calls=[call("read", '{"path":', index=0, id="a")]),
            delta(tool_calls=[call("read", '"x"}', index=0, id="a")]),
        ],
        [("a", '{"path":"x"}')],
    ),
    (
        "all calls with index 0, told apart by id",
        [
            delta(tool_calls=[call("read", '{"path":"x"}', index=0, id="a")]),
            delta(tool_calls=[call("read", '{"path":"y"}', index=0, id="b")]),
        ],
        [("a", '{"path":"x"}'), ("b", '{"path":"y"}')],
    ),
    (
        "whole calls at once",
        [
            delta(
                tool_calls=[
                    call("read", '{"path":"x"}', index=0, id="a"),
                    call("read", '{"path":"y"}', index=1, id="b"),
                ]
            )
        ],
        [("a", '{"path":"x"}'), ("b", '{"path":"y"}')],
    ),
    (
        "pieces of two calls interleaved",
        [
            delta(tool_calls=[call("read", '{"path":', index=0, id="a")]),
            delta(tool_calls=[call("read", '{"path":', index=1, id="b")]),
            delta(tool_calls=[call(arguments='"x"}', index=0)]),
            delta(tool_calls=[call(arguments='"y"}', index=1)]),
        ],
        [("a", '{"path":"x"}'), ("b", '{"path":"y"}')],
    ),
    (
        "R09 no id at all, and one id twice",
        [
            delta(tool_calls=[call("read", '{"path":"x"}', index=0)]),
            delta(tool_calls=[call("read", '{"path":"y"}', index=1, id="a")]),
            delta(tool_calls=[call("read", '{"path":"z"}', index=2, id="a")]),
        ],
        [("call00000", '{"path":"x"}'), ("a", '{"path":"y"}'), ("call00002", '{"path":"z"}')],
    ),
    (
        "arguments as an object, id as a number",
        [delta(tool_calls=[call("read", {"path": "x"}, index=0, id=7)])],
        [("7", '{"path":"x"}')],
    ),
    ("no arguments", [delta(tool_calls=[call("read", index=0, id="a")])], [("a", "{}")]),
    (
        "the old function_call",
        [delta(function_call={"name": "read", "arguments": '{"path":'}), delta(function_call={"arguments": '"x"}'})],
        [("call00000", '{"path":"x"}')],
    ),
]


@pytest.mark.parametrize(("what", "chunks", "expected"), CHAT_CALLS, ids=[case[0] for case in CHAT_CALLS])
def test_chat_calls(what: str, chunks: list[Any], expected: list[tuple[str, str]]) -> None:
    _, answer = fold("openai-chat", [sse(*chunks, delta("stop"))])
    assert [(c.id, c.arguments) for c in answer.message.calls] == expected
    assert answer.message.stop == "tool_calls"  # `stop` with calls present: the calls are trusted


@pytest.mark.parametrize(
    ("what", "chunks", "text", "stop"),
    [
        ("plain", [delta(content="a"), delta("stop", content="b")], "ab", "end"),
        ("content as blocks", [delta("stop", content=[{"type": "text", "text": "a"}, "b"])], "ab", "end"),
        ("cut", [delta("length", content="a")], "a", "length"),
        ("filtered", [delta("content_filter")], "", "filtered"),
        ("refused", [delta("stop", refusal="No.")], "No.", "refusal"),
        ("unknown reason", [delta("because", content="a")], "a", "unknown"),
        ("context full", [delta("model_length", content="a")], "a", "context_full"),
        (
            "whole message in one chunk",
            [{"choices": [{"message": {"content": "a"}, "finish_reason": "stop"}]}],
            "a",
            "end",
        ),
        ("null choices and odd chunks", [{"choices": None}, {}, delta("stop", content="a")], "a", "end"),
        ("lone surrogate", [b'{"choices":[{"delta":{"content":"a\\ud83d"},"finish_reason":"stop"}]}'], "a�", "end"),
        (
            "surrogate halves in two deltas",
            [
                b'{"choices":[{"delta":{"content":"\\ud83d"}}]}',
                b'{"choices":[{"delta":{"content":"\\ude00"},"finish_reason":"stop"}]}',
            ],
            "😀",
            "end",
        ),
    ],
)
def test_chat_text(what: str, chunks: list[Any], text: str, stop: str) -> None:
    _, answer = fold("openai-chat", [sse(*chunks)])
    assert (answer.message.text, answer.message.stop) == (text, stop)
    assert fold("openai-chat", [sse(chunk, done=False) for chunk in chunks])[1] == answer


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        (None, None),
        ({}, None),
        ({"prompt_tokens": 9, "completion_tokens": 3}, Usage(input_uncached=9, output=3, calls=1)),
        (
            {
                "prompt_tokens": 90,
                "completion_tokens": 30,
                "prompt_tokens_details": {"cached_tokens": 50, "cache_write_tokens": 10},
                "completion_tokens_details": {"reasoning_tokens": 20},
            },
            Usage(input_uncached=30, cache_read=50, cache_write=10, output=30, reasoning=20, calls=1),
        ),
        (
            {"prompt_tokens": 90, "completion_tokens": 1, "prompt_cache_hit_tokens": 60},
            Usage(input_uncached=30, cache_read=60, output=1, calls=1),
        ),
        (
            {"prompt_tokens": 90, "completion_tokens": 1, "cached_tokens": 60, "prompt_tokens_details": None},
            Usage(input_uncached=30, cache_read=60, output=1, calls=1),
        ),
        (
            {"prompt_tokens": 5, "completion_tokens": 1, "prompt_tokens_details": {"cached_tokens": 9}},
            Usage(input_uncached=0, cache_read=9, output=1, calls=1),
        ),
    ],
)
def test_chat_usage(usage: Any, expected: Usage | None) -> None:
    at_end = sse(delta("stop", content="a"), {"choices": [], "usage": usage})
    in_choice = sse({"choices": [{"delta": {"content": "a"}, "finish_reason": "stop", "usage": usage}]})
    assert fold("openai-chat", [at_end])[1].message.usage == expected
    assert fold("openai-chat", [in_choice])[1].message.usage == expected


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning"])
def test_chat_reasoning_fields(field: str) -> None:
    heard, answer = fold(
        "openai-chat", [sse(delta(**{field: "be"}), delta(**{field: "cause"}), delta("stop", content="a"))]
    )
    assert heard.reasoning == "because"
    assert answer.message.parts == (ReasoningPart("because", "", "vendor/model"), TextPart("a"))


def test_chat_reasoning_details_are_joined_for_the_way_back() -> None:
    first = {"type": "reasoning.text", "index": 0, "text": "be", "format": "f"}
    second = {"type": "reasoning.text", "index": 0, "text": "cause", "signature": "s"}
    sealed = {"type": "reasoning.encrypted", "index": 1, "data": "x"}
    stream = sse(
        delta(reasoning="be", reasoning_details=[first]),
        delta(reasoning="cause", reasoning_details=[second]),
        delta("stop", content="a", reasoning_details=[sealed]),
    )
    _, answer = fold("openai-chat", [stream])
    part = answer.message.parts[0]
    assert isinstance(part, ReasoningPart)
    assert part.text == "because"
    assert json.loads(part.opaque) == [
        {"type": "reasoning.text", "index": 0, "text": "because", "format": "f", "signature": "s"},
        sealed,
    ]


def test_r09_an_id_that_an_earlier_turn_used_is_changed() -> None:
    folding = CODECS["openai-chat"].open_fold(request(variant()), {"a", "call00001"})
    folding.feed([json.dumps(delta("tool_calls", tool_calls=[call("read", "{}", index=0, id="a")])).encode()])
    (found,) = folding.finish().message.calls
    assert found.id not in ("a", "call00001", "")


@pytest.mark.parametrize("dialect", DIALECTS)
def test_r11_a_call_cut_by_the_output_limit_keeps_its_piece_and_says_so(dialect: Dialect) -> None:
    stop = {"openai-chat": "length", "openai-responses": "max_output_tokens", "anthropic": "max_tokens"}[dialect]
    for arguments in ('{"path": "a', ""):
        step = {"calls": [{"name": "read", "arguments": arguments}], "stop": stop}
        _, answer = fold(dialect, EVENTS[dialect](step, 0, "m"))
        assert answer.message.stop == "length"
        assert answer.message.calls == (ToolCall("call00000", "read", arguments),)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_r11_only_thinking_is_an_answer_without_text(dialect: Dialect) -> None:
    _, answer = fold(dialect, EVENTS[dialect]({"reasoning": "hm"}, 0, "m"))
    assert (answer.message.text, answer.message.calls, answer.message.stop) == ("", (), "end")


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize(
    ("error", "kind"),
    [
        ({"type": "overloaded_error", "message": "Overloaded"}, "overloaded"),
        ({"code": "rate_limit_exceeded", "message": "slow"}, "rate_limit"),
        ({"code": "insufficient_quota", "message": "pay"}, "quota"),
        ({"code": "context_length_exceeded", "message": "long"}, "context_full"),
        ({"code": "server_error", "message": ""}, "overloaded"),
        ({"type": "invalid_request_error", "message": "bad"}, "bad_request"),
    ],
)
def test_an_error_inside_a_good_stream(dialect: Dialect, error: dict[str, str], kind: ErrorKind) -> None:
    with pytest.raises(ModelError) as caught:
        fold(dialect, EVENTS[dialect]({"text": "so far", "error_event": error}, 0, "m"))
    assert caught.value.failure == kind


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("event", [b"not json", b'{"type": "x"', b"\xff\xfe"])
def test_an_event_that_is_no_json_is_named(dialect: Dialect, event: bytes) -> None:
    with pytest.raises(ModelError, match="cannot be read") as caught:
        fold(dialect, [b"data: " + event + b"\n\n"])
    assert caught.value.failure == "bad_response"


def test_anthropic_counts_are_cumulative_and_exclude_the_cache() -> None:
    events = [
        {"type": "message_start", "message": {"model": "m", "usage": {"input_tokens": 3, "output_tokens": 1}}},
        {"type": "something_new", "delta": {"type": "what"}},
        {"type": "message_delta", "delta": {}, "usage": {"output_tokens": 5, "cache_read_input_tokens": 80}},
        {
            "type": "message_delta",
            "delta": {"stop_reason": "end_turn"},
            "usage": {"output_tokens": 9, "cache_creation_input_tokens": 20, "service_tier": "priority"},
        },
        {"type": "message_stop"},
    ]
    _, answer = fold("anthropic", [sse(*events, done=False)])
    assert answer.message.usage == Usage(input_uncached=3, cache_read=80, cache_write=20, output=9, calls=1)
    assert answer.tier == "priority"


def test_anthropic_keeps_thinking_blocks_as_they_must_be_replayed() -> None:
    redacted = {"type": "redacted_thinking", "data": "xyz"}
    events = [
        {"type": "content_block_start", "index": 0, "content_block": redacted},
        {"type": "content_block_stop", "index": 0},
        {"type": "content_block_start", "index": 1, "content_block": {"type": "tool_use", "id": "t", "name": "read"}},
        {"type": "content_block_stop", "index": 1},
        {"type": "message_delta", "delta": {"stop_reason": "tool_use"}},
    ]
    _, answer = fold("anthropic", [sse(*events, done=False)])
    reasoning, made = answer.message.parts
    assert json.loads(reasoning.opaque) == redacted
    assert made == ToolCall("t", "read", "{}")
    _, signed = fold("anthropic", EVENTS["anthropic"]({"reasoning": "hm", "text": "a"}, 4, "m"))
    thinking = {"type": "thinking", "thinking": "hm", "signature": "signed-4"}
    assert json.loads(signed.message.parts[0].opaque) == thinking


def test_responses_without_deltas_or_indexes_still_give_the_items() -> None:
    message = {"type": "message", "id": "m1", "content": [{"type": "output_text", "text": "Hi"}]}
    made = {"type": "function_call", "id": "f1", "call_id": "c9", "name": "read", "arguments": '{"path":"x"}'}
    sealed = {"type": "reasoning", "id": "r1", "summary": []}
    events = [
        {"type": "response.output_item.done", "item": sealed},
        {"type": "response.output_item.done", "item": message},
        {"type": "response.output_item.added", "item": {**made, "arguments": ""}},
        {"type": "response.function_call_arguments.delta", "item_id": "f1", "delta": '{"path":'},
        {"type": "response.output_item.done", "item": made},
        {"type": "response.completed", "response": {}},
    ]
    _, answer = fold("openai-responses", [sse(*events)])
    assert answer.message.parts == (TextPart("Hi"), ToolCall("c9", "read", '{"path":"x"}'))


def test_r13_a_hundred_thousand_deltas_fold_into_one_message() -> None:
    stream = sse(*([delta(content="word ")] * 100_000), delta("stop"))
    heard, answer = fold("openai-chat", [stream[at : at + 65536] for at in range(0, len(stream), 65536)])
    assert len(answer.message.text) == 500_000
    assert heard.text == answer.message.text
