"""The smallest real models, pulled if need be: run with `make live`."""

import json
import os

import pytest
from support.desk import Desk
from support.live import live, turn
from support.model_server import ModelServer

from tcoder.models.client import open_model
from tcoder.models.local.folders import local_folders
from tcoder.models.local.local import LocalModel
from tcoder.models.local.weights import find, pull
from tcoder.protocol.events import ModelAnswered, ModelAsked
from tcoder.protocol.messages import Message, TextPart, ToolResult, ToolResults, ToolSpec, UserMessage
from tcoder.protocol.ops import SetVariant
from tcoder.protocol.queries import ExplainVariant, VariantReport
from tcoder.protocol.request import CallDelta, ModelReply, ModelRequest, TextDelta
from tcoder.protocol.variant import Dialect, ModelVariant

MODEL = "local/qwen2.5-coder-0.5b"
LARGER = "local/qwen2.5-coder-1.5b"
VARIANT = ModelVariant(id=MODEL, model="", provider="local", base_url="", json_schema=True)


@pytest.mark.live
@pytest.mark.timeout(1200)
async def test_a_small_model_writes_code_and_obeys_a_schema() -> None:
    assert await pull(MODEL) == await find(MODEL)
    model = LocalModel(idle_s=30)

    async def ask(text: str, schema: dict[str, object] | None = None) -> ModelReply:
        messages = (UserMessage((TextPart(text),)),)
        request = ModelRequest(
            VARIANT, "You write Python.", messages, max_output=120, temperature=0.0, response_schema=schema
        )
        parts = [part async for part in model.stream(request)]
        assert isinstance(parts[-1], ModelReply)
        return parts[-1]

    answer = await ask("Write a function add(a, b) that returns the sum of two numbers. Only the code.")
    assert "def add(a, b)" in answer.message.text
    again = await ask("Write a function add(a, b) that returns the sum of two numbers. Only the code.")
    assert again.message.usage is not None
    assert again.message.usage.cache_read > 20
    schema = {"type": "object", "properties": {"answer": {"enum": ["yes", "no"]}}, "required": ["answer"]}
    choice = await ask("Is Python a programming language? Answer as JSON.", schema)
    assert json.loads(choice.message.text)["answer"] in ("yes", "no")
    await model.close()


@pytest.mark.live
@pytest.mark.timeout(2400)
async def test_the_slider_switches_between_two_models_and_shows_how_much_faster_one_is(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert await pull(MODEL) and await pull(LARGER)
    monkeypatch.setenv("TCODER_MODELS_DIR", str(local_folders(os.environ).weights))
    settings = "[local]\nidle_s = 20\n[budget]\nmax_tokens = 100000\n"
    chosen = {"base_url": "", "model": LARGER, "strategy": "agent", "allowed_tools": ("read",)}
    with ModelServer([{"text": "not asked"}]) as server:
        async with live(desk, server, settings, **chosen) as session:
            for stop in ("standard", "fast"):
                await session.submit(SetVariant(stop))
                for number in range(3):
                    await turn(session, f"Count from {number} to 30 in digits. Call no tool.")
            report = await session.query(ExplainVariant())
            asked = [one.event for one in session.log if isinstance(one.event, ModelAsked) and not one.event.aside]
            answered = [one.event for one in session.log if isinstance(one.event, ModelAnswered)]
        assert server.requests == []
    assert {event.model for event in asked if event.variant == "standard"} == {LARGER}
    assert {event.model for event in asked if event.variant == "fast"} == {MODEL}
    served = {event.served.model for event in answered}
    assert len(served) == 2, served  # what the engines themselves say they ran
    assert isinstance(report, VariantReport)
    speeds = {of.name: of.tokens_per_s for of in report.stats}
    assert speeds["fast"] is not None and speeds["standard"] is not None
    with capsys.disabled():
        ratio = speeds["fast"] / speeds["standard"]
        print(f"\nfast {speeds['fast']:.1f} tokens/s, standard {speeds['standard']:.1f} tokens/s, {ratio:.1f} times")
    assert speeds["fast"] > 1.3 * speeds["standard"]


@pytest.mark.live
@pytest.mark.timeout(2400)
@pytest.mark.parametrize("dialect", ["openai-chat", "openai-responses", "anthropic"])
async def test_the_engine_speaks_all_three_dialects(dialect: Dialect) -> None:
    """Text, a tool call, its result used, and tokens from the cache, over each of the engine's addresses."""
    assert await pull(MODEL)
    local = LocalModel(idle_s=60)
    endpoint = await local.ensure_engine(MODEL)
    of = ModelVariant(MODEL, endpoint.model, "local", endpoint.base_url, dialect, quirks=("text_calls",))
    model = open_model(of, endpoint.api_key)
    cities = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
    tool = ToolSpec("weather", "The weather in a city", cities)

    async def ask(*messages: Message) -> ModelReply:
        system = "Use the tool weather to answer. " + "Names say what a thing is for. " * 40
        request = ModelRequest(of, system, messages, (tool,), max_output=80, temperature=0.0)
        parts = [part async for part in model.stream(request)]
        assert any(isinstance(part, TextDelta | CallDelta) for part in parts)
        assert isinstance(parts[-1], ModelReply)
        return parts[-1]

    question = UserMessage((TextPart("What is the weather in Oslo?"),))
    called = await ask(question)
    assert [call.name for call in called.message.calls] == ["weather"]
    assert json.loads(called.message.calls[0].arguments)["city"] == "Oslo"
    results = ToolResults((ToolResult(called.message.calls[0].id, "sunny, 17 degrees"),))
    told = await ask(question, called.message, results)
    usage = told.message.usage
    assert usage is not None and usage.cache_read > 0.5 * usage.prompt
    assert told.served.first_token_s is not None
    await model.close()
    await local.close()
