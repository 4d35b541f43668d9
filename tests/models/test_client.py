"""The client against a server on loopback: retries, time limits, broken answers, and what must never leak."""

import asyncio
import gzip
import ssl
import time
from collections.abc import Callable
from typing import Any

import httpx
import pytest
from support.model_calls import DIALECTS, Heard, hear, request, user, variant
from support.model_server import ModelServer, Step

from tcoder.models.client import open_model
from tcoder.models.wire.http import Timeouts, network_error
from tcoder.protocol.errors import ErrorKind, ModelError
from tcoder.protocol.messages import AssistantMessage, Message, ReasoningPart, TextPart, ToolResult, ToolResults
from tcoder.protocol.request import TextDelta
from tcoder.protocol.variant import Dialect, Price

KEY = "sk-canary-0123456789"
TEXT = {"text": "Hello there"}
CALL = {"text": "So: ", "calls": [{"name": "read", "arguments": {"path": "a.py"}}]}


async def ask(
    server: ModelServer,
    *,
    dialect: Dialect = "openai-chat",
    waits: list[float] | None = None,
    timeouts: Timeouts | None = None,
    budget_s: float = 60,
    **fields: Any,
) -> Heard:
    """One request; `waits` collects what the client would have waited between tries."""

    async def pause(seconds: float) -> None:
        if waits is not None:
            waits.append(seconds)

    of = variant(dialect, base_url=server.url, **fields)
    model = open_model(of, KEY, retry_budget_s=budget_s, timeouts=timeouts, chance=lambda: 0.0, pause=pause)
    try:
        return await hear(model.stream(request(of)))
    finally:
        await model.close()


def failure(heard: Heard) -> ErrorKind | None:
    return heard.error.failure if heard.error else None


@pytest.mark.parametrize("dialect", DIALECTS)
async def test_a_conversation_uses_one_connection_and_only_appends(dialect: Dialect) -> None:
    with ModelServer([CALL, CALL, TEXT]) as server:
        of = variant(dialect, base_url=server.url)
        model = open_model(of, KEY)
        messages: tuple[Any, ...] = (user("Hi"),)
        for _ in range(3):
            heard = await hear(model.stream(request(of, *messages)))
            assert heard.reply is not None
            results = tuple(ToolResult(call.id, "ok") for call in heard.reply.message.calls)
            messages += (heard.reply.message, ToolResults(results)) if results else (heard.reply.message,)
        await model.close()
    assert len({seen.connection for seen in server.requests}) == 1
    bodies = [seen.raw for seen in server.requests]
    assert bodies[1].startswith(bodies[0][:-2])
    assert bodies[2].startswith(bodies[1][:-2])
    ids = [call.id for message in messages if isinstance(message, AssistantMessage) for call in message.calls]
    assert len(set(ids)) == 2


@pytest.mark.parametrize(
    ("dialect", "header", "value"),
    [
        ("openai-chat", "authorization", f"Bearer {KEY}"),
        ("openai-responses", "authorization", f"Bearer {KEY}"),
        ("anthropic", "x-api-key", KEY),
    ],
)
async def test_the_key_goes_where_the_dialect_wants_it(dialect: Dialect, header: str, value: str) -> None:
    with ModelServer([TEXT]) as server:
        heard = await ask(server, dialect=dialect)
        headers = server.requests[0].headers
        bare = open_model(variant(dialect, base_url=server.url), None)
        await hear(bare.stream(request(variant(dialect, base_url=server.url))))
        await bare.close()
    assert heard.text == "Hello there"
    assert headers[header] == value
    assert headers["content-type"] == "application/json"
    assert ("anthropic-version" in headers) is (dialect == "anthropic")
    assert KEY not in str(server.requests[1].headers)


async def test_what_was_served_and_what_it_cost() -> None:
    step = {**TEXT, "tier": "default", "usage": {"prompt": 1000, "cached": 400, "output": 10}}
    from decimal import Decimal

    fast = Price(Decimal(4), Decimal(20), Decimal("0.2"))
    base = Price(Decimal(2), Decimal(10), Decimal("0.1"))
    with ModelServer([step, {**step, "tier": "fast"}, {**step, "usage": None}]) as server:
        fields: dict[str, Any] = {"tier": "fast", "price": fast, "base_price": base}
        replies = [(await ask(server, **fields)).reply for _ in range(3)]
    served = [reply.served for reply in replies if reply]
    assert [s.tier for s in served] == ["default", "fast", "default"]
    assert all(s.first_token_s is not None and 0 < s.first_token_s <= s.duration_s for s in served)
    costs = [reply.message.usage and reply.message.usage.cost for reply in replies if reply]
    assert costs == [Decimal("0.00134"), Decimal("0.00268"), None]


@pytest.mark.parametrize(
    ("retry_after", "low", "high"),
    [("7", 7, 7.3), ("0", 0, 0.3), ("", 0.5, 0.5), ("soon", 0.5, 0.5), ("-5", 0.5, 0.5)],
)
async def test_r01_a_rate_limit_is_waited_for_as_asked(retry_after: str, low: float, high: float) -> None:
    headers = {"Retry-After": retry_after} if retry_after else {}
    waits: list[float] = []
    with ModelServer([{"status": 429, "headers": headers}, TEXT]) as server:
        heard = await ask(server, waits=waits)
    assert heard.text == "Hello there"
    assert len(waits) == 1
    assert low <= waits[0] <= high
    assert [(r.kind, r.after_s, r.attempt) for r in heard.retries] == [("rate_limit", waits[0], 1)]
    assert heard.reply is not None
    assert heard.reply.served.retries == 1


async def test_r01_an_http_date_counts_and_an_absurd_wait_ends_at_once() -> None:
    from email.utils import formatdate

    waits: list[float] = []
    date = formatdate(time.time() + 30, usegmt=True)
    with ModelServer([{"status": 429, "headers": {"Retry-After": date}}, TEXT]) as server:
        heard = await ask(server, waits=waits)
    assert heard.text == "Hello there"
    assert 28 <= waits[0] <= 31
    with ModelServer([{"status": 429, "headers": {"Retry-After": "86400"}}]) as server:
        heard = await ask(server, waits=(absurd := []))
    assert failure(heard) == "rate_limit"
    assert heard.error is not None
    assert heard.error.retry_after_s == 86400
    assert absurd == []
    assert len(server.requests) == 1


async def test_r01_the_budget_for_waiting_is_kept() -> None:
    waits: list[float] = []
    with ModelServer([{"status": 429, "headers": {"Retry-After": "20"}}]) as server:
        heard = await ask(server, waits=waits, budget_s=50)
    assert failure(heard) == "rate_limit"
    assert sum(waits) == 40
    assert len(server.requests) == 3
    assert "tried 3 times" in str(heard.error)


@pytest.mark.parametrize("status", [500, 502, 503, 504, 529, 408, 409])
async def test_r02_an_overloaded_server_is_asked_again(status: int) -> None:
    waits: list[float] = []
    with ModelServer([{"status": status}, {"status": status}, CALL]) as server:
        heard = await ask(server, waits=waits)
    assert heard.reply is not None
    assert len(heard.reply.message.calls) == 1
    assert waits == sorted(waits)
    assert len(server.requests) == 3
    assert server.requests[0].raw == server.requests[2].raw


@pytest.mark.parametrize(
    ("status", "body", "kind", "says"),
    [
        (401, {"error": {"message": f"Incorrect API key provided: {KEY}"}}, "auth", "VENDOR_API_KEY"),
        (403, {"error": {"message": "no access"}}, "auth", "VENDOR_API_KEY"),
        (404, {"error": {"message": "The model `model` does not exist"}}, "unknown_model", "--model"),
        (404, "nope", "unknown_model", "--base-url"),
        (400, {"error": {"message": "bad field"}}, "bad_request", "bad field"),
        (400, {"error": {"code": "context_length_exceeded", "message": "too long"}}, "context_full", "does not fit"),
        (413, "too large", "context_full", "does not fit"),
        (400, {"error": {"message": "content management policy"}}, "content_filter", "refuses"),
        (402, {"error": {"message": "pay"}}, "quota", "billing"),
        (429, {"error": {"code": "insufficient_quota", "message": "empty"}}, "quota", "empty"),
        (429, {"error": {"code": "org_spend_limit_exceeded", "message": "empty"}}, "quota", "empty"),
        (
            429,
            {"type": "error", "error": {"details": {"error_code": "enforced_spend_limit_reached"}}},
            "quota",
            "spend",
        ),
    ],
)
async def test_r03_what_cannot_pass_is_not_repeated(status: int, body: Any, kind: ErrorKind, says: str) -> None:
    with ModelServer([{"status": status, "body": body}]) as server:
        heard = await ask(server)
    assert failure(heard) == kind
    assert says in str(heard.error)
    assert "\n" not in str(heard.error)
    assert len(server.requests) == 1
    assert KEY not in str(heard.error)
    assert KEY not in repr(heard.error)


async def test_r04_a_reset_before_the_headers_is_tried_again() -> None:
    with ModelServer([{"reset": True}, TEXT]) as server:
        heard = await ask(server, waits=[])
    assert heard.text == "Hello there"
    assert len(server.requests) == 2


@pytest.mark.parametrize("dialect", DIALECTS)
async def test_r04_a_reset_in_the_text_repeats_the_turn(dialect: Dialect) -> None:
    with ModelServer([{"text": "x" * 400, "cut_after": 1500}, TEXT]) as server:
        heard = await ask(server, dialect=dialect, waits=[])
    assert [r.kind for r in heard.retries] == ["network"]
    assert heard.text.startswith("xxxx")
    assert heard.reply is not None
    assert heard.reply.message.text == "Hello there"


@pytest.mark.parametrize("dialect", DIALECTS)
async def test_r04_a_reset_in_a_call_repeats_the_turn_since_the_call_never_ran(dialect: Dialect) -> None:
    step = {"calls": [{"name": "read", "arguments": {"path": "x" * 600}}], "cut_after": 1500}
    with ModelServer([step, TEXT]) as server:
        heard = await ask(server, dialect=dialect, waits=[])
    assert heard.calls[0][0] == "read"
    assert [r.kind for r in heard.retries] == ["network"]
    assert heard.reply is not None
    assert heard.reply.message.calls == ()
    assert heard.reply.message.text == "Hello there"


@pytest.mark.parametrize("dialect", DIALECTS)
async def test_r04_a_call_that_is_cut_every_time_gives_no_reply(dialect: Dialect) -> None:
    with ModelServer([{"calls": [{"name": "read", "arguments": {"path": "x" * 600}}], "cut_after": 1500}]) as server:
        heard = await ask(server, dialect=dialect, waits=[])
    assert heard.reply is None
    assert failure(heard) == "network"
    assert len(server.requests) == 6


@pytest.mark.parametrize("dialect", DIALECTS)
async def test_r05_a_stream_without_its_end_is_truncated(dialect: Dialect) -> None:
    with ModelServer([{**TEXT, "no_done": True}]) as server:
        heard = await ask(server, dialect=dialect, waits=[])
    assert failure(heard) == "truncated"
    assert heard.reply is None
    assert len(server.requests) == 4


async def test_r05_a_connection_that_breaks_after_the_last_word_costs_only_the_usage() -> None:
    stream = 'data: {"choices":[{"delta":{"content":"Hi"},"finish_reason":"stop"}]}\n\ndata: {"cho'
    with ModelServer([{"raw": stream, "cut_after": len(stream)}]) as server:
        heard = await ask(server)
    assert heard.reply is not None
    assert heard.reply.message.text == "Hi"
    assert heard.reply.message.usage is None


QUICK = Timeouts(connect=5, first=0.15, idle=0.15, total=5)


@pytest.mark.parametrize(
    "step",
    [
        {"stall": 3},
        {**TEXT, "stall": 3, "stall_after": 2},
        {**TEXT, "stall": 3, "stall_after": 2, "comments": 0.03},
        {**TEXT, "stall": 3, "stall_after": 0, "comments": 0.03},
    ],
    ids=["before the headers", "after a chunk", "comments after a chunk", "comments only"],
)
async def test_r06_silence_ends_in_time(step: Step) -> None:
    started = time.monotonic()
    with ModelServer([step]) as server:
        heard = await ask(server, timeouts=QUICK, waits=[])
    assert failure(heard) == "timeout"
    assert len(server.requests) == 2
    assert time.monotonic() - started < 2


async def test_r06_a_drip_is_ended_by_the_total_limit() -> None:
    with ModelServer([{"text": "x" * 400, "delay": 0.04}]) as server:
        heard = await ask(server, timeouts=Timeouts(first=1, idle=1, total=0.25), budget_s=0)
    assert failure(heard) == "timeout"
    assert heard.text


async def test_r06_cancelling_returns_at_once_and_the_model_stays_usable() -> None:
    with ModelServer([{**TEXT, "stall": 5, "stall_after": 3}, TEXT]) as server:
        of = variant(base_url=server.url)
        model = open_model(of, KEY)
        began = asyncio.Event()

        async def listen() -> None:
            async for part in model.stream(request(of)):
                if isinstance(part, TextDelta):
                    began.set()

        task = asyncio.create_task(listen())
        await began.wait()
        started = time.monotonic()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert time.monotonic() - started < 0.1
        heard = await hear(model.stream(request(of)))
        await model.close()
        await model.close()
    assert heard.text == "Hello there"


async def test_cancelling_a_wait_for_a_retry_returns_at_once() -> None:
    with ModelServer([{"status": 429, "headers": {"Retry-After": "30"}}]) as server:
        of = variant(base_url=server.url)
        model = open_model(of, KEY)
        stream = model.stream(request(of))
        await anext(stream)
        task = asyncio.ensure_future(anext(stream))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await model.close()
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("step", "says"),
    [
        ({"page": "<html><head><title>Sign in</title></head></html>"}, "web page titled 'Sign in'"),
        (
            {"status": 403, "body": "<!DOCTYPE html><title>Proxy</title>", "headers": {"Content-Type": "text/html"}},
            "web page",
        ),
        ({**TEXT, "content_type": "image/png"}, "image/png"),
        ({"status": 204, "body": ""}, "204"),
        ({"redirect": "https://elsewhere.example/v1"}, "elsewhere.example"),
        ({**TEXT, "headers": {"Content-Encoding": "gzip"}}, "cannot be unpacked"),
        ({"json": {"unexpected": True}}, "application/json"),
        ({"raw": "data: {}\n\n", "headers": {"Transfer-Encoding": "gzip"}}, "transfer encoding"),
    ],
)
async def test_r14_what_is_no_model_is_named_in_one_line(step: Step, says: str) -> None:
    with ModelServer([step]) as server:
        heard = await ask(server, waits=[])
    assert heard.error is not None
    assert says in str(heard.error)
    assert "\n" not in str(heard.error)
    assert all("elsewhere" not in seen.headers["host"] for seen in server.requests)


async def test_a_server_that_ignores_streaming_is_understood() -> None:
    message = {"content": "Hi", "tool_calls": [{"id": "a", "function": {"name": "read", "arguments": "{}"}}]}
    answer = {"choices": [{"message": message, "finish_reason": "tool_calls"}], "usage": {"prompt_tokens": 3}}
    with ModelServer([{"json": answer}]) as server:
        heard = await ask(server)
    assert heard.reply is not None
    assert heard.reply.message.text == "Hi"
    assert heard.reply.message.calls[0].name == "read"


async def test_r14_nothing_listens_and_a_host_that_is_not_there() -> None:
    with ModelServer([TEXT]) as server:
        url = server.url
    waits: list[float] = []

    async def pause(seconds: float) -> None:
        waits.append(seconds)

    for base_url, says in [(url, "Nothing listens at"), ("http://no-such-host.invalid/v1", "cannot be found")]:
        waits.clear()
        of = variant(base_url=base_url)
        model = open_model(of, KEY, pause=pause)
        heard = await hear(model.stream(request(of)))
        await model.close()
        assert failure(heard) == "network"
        assert says in str(heard.error)
        assert "base URL" in str(heard.error)
        assert len(waits) == 2


def untrusted() -> ssl.SSLCertVerificationError:
    error = ssl.SSLCertVerificationError("certificate verify failed")
    error.verify_message = "self-signed"
    return error


@pytest.mark.parametrize(
    ("cause", "kind", "says"),
    [
        (untrusted(), "bad_response", "self-signed (set SSL_CERT_FILE"),
        (ssl.SSLError("wrong version number"), "bad_response", "TLS"),
        (OSError("Multiple exceptions: [Errno 111] Connect call failed"), "network", "Nothing listens"),
    ],
)
def test_r14_failures_below_http(cause: Exception, kind: ErrorKind, says: str) -> None:
    error = httpx.ConnectError(str(cause))
    error.__cause__ = cause
    found = network_error(error, variant(base_url="https://vendor.example/v1"))
    assert found.failure == kind
    assert says in str(found)


async def test_r14_a_real_tls_handshake_with_a_plain_server_fails_clearly() -> None:
    with ModelServer([TEXT]) as server:
        of = variant(base_url=server.url.replace("http:", "https:"))
        model = open_model(of, KEY)
        heard = await hear(model.stream(request(of)))
        await model.close()
    assert failure(heard) == "bad_response"
    assert "TLS" in str(heard.error)


@pytest.mark.parametrize("base_url", ["ftp://vendor.example/v1", "vendor.example/v1", "", "http://[bad/v1"])
async def test_an_address_that_makes_no_sense_is_said(base_url: str) -> None:
    of = variant(base_url=base_url)
    model = open_model(of, KEY)
    heard = await hear(model.stream(request(of)))
    await model.close()
    assert failure(heard) in ("bad_request", "network")
    assert "base URL" in str(heard.error)


async def test_a41_a_redirect_is_not_followed() -> None:
    with ModelServer([TEXT]) as other, ModelServer([{"redirect": other.url}]) as server:
        heard = await ask(server)
    assert failure(heard) == "bad_response"
    assert other.requests == []


async def test_compressed_streams_are_read() -> None:
    body = gzip.compress(b'data: {"choices":[{"delta":{"content":"Hi"},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n')

    def answer(_: httpx.Request) -> httpx.Response:
        return httpx.Response(
            200, headers={"content-type": "text/event-stream", "content-encoding": "gzip"}, content=body
        )

    model = open_model(variant(), KEY, transport=httpx.MockTransport(answer))
    heard = await hear(model.stream(request(variant())))
    assert heard.text == "Hi"


async def test_r13_an_answer_without_end_is_cut() -> None:
    async def flood():
        event = b"data: " + b'{"choices":[{"delta":{"content":"' + b"x" * 1_000_000 + b'"}}]}\n\n'
        while True:
            yield event

    def answer(_: httpx.Request) -> httpx.Response:
        return httpx.Response(200, headers={"content-type": "text/event-stream"}, content=flood())

    model = open_model(variant(), KEY, transport=httpx.MockTransport(answer))
    heard = await hear(model.stream(request(variant())))
    assert failure(heard) == "bad_response"
    assert "64 MiB" in str(heard.error)


async def test_refused_reasoning_is_taken_out_once_and_stays_out() -> None:
    refusal = {"status": 400, "body": {"error": {"message": "messages.1: thinking blocks cannot be modified"}}}
    with ModelServer([refusal, TEXT, TEXT, refusal]) as server:
        of = variant("anthropic", base_url=server.url)
        model = open_model(of, KEY)
        sealed = ReasoningPart("hm", '{"type":"thinking","thinking":"hm","signature":"s"}', of.id)
        old = AssistantMessage((sealed, TextPart("old")), of.id)
        fresh = AssistantMessage((sealed, TextPart("fresh")), of.id)
        first = await hear(model.stream(request(of, user("q"), old, user("go on"))))
        second = await hear(model.stream(request(of, user("q"), old, user("go on"), fresh, user("and"))))
        third = await hear(model.stream(request(of, user("other"))))
        await model.close()
    assert first.text == second.text == "Hello there"
    assert [b'"signature"' in seen.raw for seen in server.requests] == [True, False, True, False]
    assert server.requests[2].raw.count(b'"signature"') == 1
    assert failure(third) == "bad_request"
    assert len(server.requests) == 4


async def test_the_key_shows_nowhere(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("DEBUG")
    echo = {"status": 500, "body": {"error": {"message": f"key {KEY} is fine, we are not"}}}
    with ModelServer([echo, {"status": 401, "body": f"{KEY} is wrong"}]) as server:
        of = variant(base_url=server.url)
        model = open_model(of, KEY, chance=lambda: 0.0, pause=lambda _: asyncio.sleep(0))
        heard = await hear(model.stream(request(of)))
        await model.close()
    seen: list[Callable[[], str]] = [lambda: repr(model), lambda: repr(heard), lambda: caplog.text]
    assert "is wrong" in str(heard.error)
    assert heard.retries
    assert all(KEY not in show() for show in seen)


@pytest.mark.parametrize("key", ["sk-a\nb", "sk-\x00", "schlüssel"])
def test_a_key_that_no_header_can_carry_is_refused_without_showing_it(key: str) -> None:
    with pytest.raises(ModelError) as caught:
        open_model(variant(), key)
    assert caught.value.failure == "auth"
    assert key not in str(caught.value)


@pytest.mark.parametrize(("words", "prompt", "warned"), [(20_000, 4096, True), (20_000, 40_000, False), (50, 1, False)])
async def test_a_prompt_that_the_server_cuts_silently_is_named(words: int, prompt: int, warned: bool) -> None:
    with ModelServer([{**TEXT, "usage": {"prompt": prompt}}]) as server:
        of = variant(base_url=server.url)
        model = open_model(of, KEY)
        heard = await hear(model.stream(request(of, user("word " * words))))
        await model.close()
    assert heard.reply is not None
    assert ("OLLAMA_CONTEXT_LENGTH" in heard.reply.served.warning) is warned


@pytest.mark.parametrize(("counts", "warned"), [((3_900, 4_096, 4_096), 2), ((3_900, 5_900, 8_000), 0)])
async def test_a_count_that_stays_while_the_conversation_grows_is_named(counts: tuple[int, ...], warned: int) -> None:
    """Ollama has 4,096 tokens by default: what does not fit is dropped from its beginning, and nothing is said."""
    with ModelServer([{**TEXT, "usage": {"prompt": count}} for count in counts]) as server:
        of = variant(base_url=server.url)
        model = open_model(of, KEY)
        messages: tuple[Message, ...] = (user("word " * 3_000),)
        warnings: list[str] = []
        for _ in counts:
            heard = await hear(model.stream(request(of, *messages)))
            assert heard.reply is not None
            warnings.append(heard.reply.served.warning)
            messages = (*messages, heard.reply.message, user("more words " * 700))
        await model.close()
    assert [bool(warning) for warning in warnings] == [False, *[bool(warned)] * 2]
    assert all("OLLAMA_CONTEXT_LENGTH" in warning for warning in warnings if warning)


async def test_a_spend_limit_that_passes_is_waited_for() -> None:
    body = {"type": "error", "error": {"message": "x", "details": {"error_code": "enforced_spend_limit_reached"}}}
    waits: list[float] = []
    with ModelServer([{"status": 429, "body": body, "headers": {"Retry-After": "4"}}, TEXT]) as server:
        heard = await ask(server, waits=waits)
    assert heard.text == "Hello there"
    assert 4 <= waits[0] < 4.3


async def test_a_variant_of_another_address_is_refused() -> None:
    with ModelServer([TEXT]) as server:
        model = open_model(variant(base_url=server.url), KEY)
        heard = await hear(model.stream(request(variant())))
        await model.close()
    assert failure(heard) == "bad_request"
    assert server.requests == []
