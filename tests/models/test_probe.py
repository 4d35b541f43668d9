from decimal import Decimal
from typing import Any

import pytest
from support.model_calls import variant
from support.model_server import ModelServer, Step

from tcoder.agent.measure import total
from tcoder.models.catalogue import resolve
from tcoder.models.client import open_model
from tcoder.models.needle import DEPTHS, HAYSTACKS, Found, Haystack, NeedleReport, ask_needles, plant
from tcoder.models.probe import ProbeReport, probe, red_png, render
from tcoder.models.scripted import ScriptedCall, ScriptedModel, ScriptedUsage
from tcoder.models.scripted import Step as Play
from tcoder.protocol.messages import ToolResults, UserMessage
from tcoder.protocol.variant import Price

CITIES = (ScriptedCall("weather", {"city": "Oslo"}), ScriptedCall("weather", {"city": "Lima"}))
COUNT = Play(text=" ".join(map(str, range(1, 41))))
WARM = Play(text="no", usage=ScriptedUsage(input_uncached=100, cache_read=1900, output=1))
COLD = Play(text="no", usage=ScriptedUsage(input_uncached=2000, output=1))
USES = Play(text="17 degrees in both")


def findings(report: ProbeReport) -> dict[str, str]:
    return {check.name: check.finding for check in report.checks}


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        (
            [COUNT, Play(calls=CITIES), USES, COLD, WARM, Play(text="Red.")],
            {"streaming": "yes", "tools": "yes", "parallel tools": "yes", "caching": "yes", "images": "yes"},
        ),
        (
            [Play(text="1 2"), Play(calls=CITIES[:1]), Play(text="I like it"), COLD, COLD, Play(text="Blue")],
            {"streaming": "no", "tools": "partly", "parallel tools": "no", "caching": "no", "images": "no"},
        ),
        (
            [COUNT, Play(text="No idea"), Play(fail="bad_request"), Play(fail="bad_request")],
            {"streaming": "yes", "tools": "no", "parallel tools": "unknown", "caching": "failed", "images": "failed"},
        ),
        (
            [
                COUNT,
                Play(calls=CITIES),
                Play(fail="bad_request"),
                Play(text="x", usage=ScriptedUsage(50)),
                Play(text="x"),
            ],
            {"tools": "partly", "parallel tools": "yes"},
        ),
        (
            [COUNT, Play(calls=(ScriptedCall("weather", "[1]"),)), COLD, Play(text="x", usage=ScriptedUsage(50))],
            {"tools": "no", "caching": "no"},
        ),
        ([Play(fail="auth", message="no key")], {"streaming": "failed"}),
    ],
)
async def test_findings(steps: list[Play], expected: dict[str, str]) -> None:
    report = await probe(ScriptedModel(steps), variant(images=True))
    assert expected.items() <= findings(report).items()
    assert report.ok is (expected.get("streaming") != "failed")
    text = render(report)
    assert text.endswith("\n")
    assert all(check.name in text for check in report.checks)


async def test_a_prompt_that_the_server_cuts_silently_is_named() -> None:
    cut = Play(text="x", usage=ScriptedUsage(input_uncached=50, output=1))
    report = await probe(ScriptedModel([COUNT, Play(calls=CITIES), USES, cut, cut]), variant())
    (caching,) = [check for check in report.checks if check.name == "caching"]
    assert "cuts prompts silently" in caching.detail


@pytest.mark.parametrize("dialect", ["openai-chat", "openai-responses", "anthropic"])
async def test_a_probe_over_the_wire(dialect: Any) -> None:
    usage = {"prompt": 2000, "cached": 1900, "output": 50}
    calls: Step = {"calls": [{"name": "weather", "arguments": {"city": "Oslo"}}]}
    script: list[Step] = [
        {"text": "1 2 3 4 5 6 7 8 9", "usage": usage, "delay": 0.03},
        calls,
        {"text": "17"},
        {"text": "x", "usage": usage},
    ]
    price = Price(Decimal(1), Decimal(1))
    with ModelServer(script) as server:
        of = variant(dialect, base_url=server.url, price=price)
        model = open_model(of, "key")
        report = await probe(model, of)
        await model.close()
    assert report.ok
    assert findings(report)["caching"] == "yes"
    assert report.served == "model"
    assert report.first_token_s is not None
    assert report.tokens_per_s is not None
    assert report.tokens_per_s > 0
    assert report.usage.calls == len(server.requests) == 5
    assert report.usage.cost is not None
    assert "tokens/s" in render(report)


@pytest.mark.parametrize("haystack", HAYSTACKS)
@pytest.mark.parametrize("depth", DEPTHS)
def test_a_needle_lies_at_its_depth_and_once(haystack: Haystack, depth: float) -> None:
    messages = plant(haystack, depth, "54321", 60_000)
    text = "".join(
        "".join(part.text for part in m.parts if hasattr(part, "text"))
        if isinstance(m, UserMessage)
        else "".join(r.content for r in m.results)
        for m in messages
        if isinstance(m, UserMessage | ToolResults)
    )
    assert text.count("54321") == 1
    assert 50_000 < len(text) < 70_000
    assert abs(text.index("54321") / len(text) - depth) < 0.05
    assert messages == plant(haystack, depth, "54321", 60_000)


async def test_recall_is_counted_by_depth() -> None:
    finds = ScriptedModel([])
    report = await ask_needles(finds, variant(), tokens=500)
    assert [r.found for r in report.results] == [False] * len(HAYSTACKS) * len(DEPTHS)
    assert len(finds.requests) == len(report.results)
    asked = "".join(str(request_.messages) for request_ in finds.requests)
    assert all(result.said == "The script is over." for result in report.results)
    assert "MAX_QUEUE_DEPTH" in asked
    some = NeedleReport(500, tuple(Found(h, d, d == 0.5 or h == "log") for h in HAYSTACKS for d in DEPTHS))
    assert (some.recall(0.5), some.recall(0.0)) == (1.0, 1 / 3)
    assert len(some.lines()) == 4


async def test_a_failing_needle_is_a_miss_with_its_reason() -> None:
    report = await ask_needles(ScriptedModel([Play(fail="context_full", message="too long")]), variant(), tokens=300)
    assert report.results[0].said == "failed: too long"
    assert not report.results[0].found


async def test_the_needle_is_part_of_the_report() -> None:
    steps = [COUNT, Play(calls=CITIES), USES, COLD, WARM, *[Play(text="?")] * 15]
    report = await probe(ScriptedModel(steps), variant(context_window=1000), needle=True)
    assert report.needle is not None
    assert len(report.needle.results) == 15
    assert "needle, about 500 tokens" in render(report)


def test_the_picture_is_a_png() -> None:
    assert red_png().startswith(b"\x89PNG\r\n\x1a\n")
    assert red_png().count(b"IDAT") == 1


async def test_a_local_model_is_asked_in_small_prompts() -> None:
    model = ScriptedModel([])
    report = await ask_needles(model, resolve("local/qwen2.5-coder-0.5b"))
    assert (report.tokens, len(model.requests)) == (800, len(HAYSTACKS) * len(DEPTHS))
    assert max(total(request.messages) for request in model.requests) < 3_500
    assert (await ask_needles(model, resolve("anthropic/claude-opus-5-5"))).tokens == 32_000
