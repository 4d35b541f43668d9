"""The context report: layers in the provider's count, what was cached of them, what broke the cache."""

from typing import Any

import pytest
from support.desk import Desk
from support.live import live, turn, until

from tcoder.agent.context import frame
from tcoder.agent.digest import digest
from tcoder.agent.layers import context_report
from tcoder.agent.state import SessionState, replay
from tcoder.protocol.budget import Budget, Usage
from tcoder.protocol.events import Compacted, Event, ModelAnswered, NoteAdded, ToolFinished, TurnStarted
from tcoder.protocol.messages import AssistantMessage, TextPart, ToolCall, ToolResult, ToolSpec, UserMessage
from tcoder.protocol.ops import Compact
from tcoder.protocol.queries import ContextReport, ReadContext
from tcoder.protocol.variant import ModelVariant, Served

VARIANT = ModelVariant("x/m", "m", "x", "u", context_window=100_000, max_output=10_000)
FRAME = frame("s" * 3_000, "f" * 998, "r" * 1_980, (ToolSpec("read", "d" * 994, {}),), "key", "o" * 978)


def answered(usage: Usage, *parts: Any) -> ModelAnswered:
    return ModelAnswered(1, AssistantMessage(parts or (TextPart("a" * 1_000),), "x/m", usage=usage), Served())


def used(prompt: int, read: int = 0, write: int = 0, output: int = 0) -> Usage:
    return Usage(prompt - read - write, read, write, output, calls=1)


def report(*events: Event) -> ContextReport:
    return context_report(replay(events), FRAME, VARIANT, Budget(max_context=50_000, compact_at=0.5))


ASKED = TurnStarted(1, UserMessage((TextPart("u" * 1_000),)))


def test_layers_are_in_the_order_in_which_they_are_sent() -> None:
    shown = report(ASKED, answered(used(2_500)))
    assert [(layer.name, layer.stable) for layer in shown.layers] == [
        ("tools", True),
        ("system", True),
        ("project rules", True),
        ("repository outline", True),
        ("conversation", False),
        ("tool results", False),
    ]
    assert (shown.window, shown.compact_at) == (50_000, 25_000)


@pytest.mark.parametrize("tokens", [2_500, 2_000, 3_001, 4_999])
def test_layers_sum_to_what_the_provider_counted(tokens: int) -> None:
    shown = report(ASKED, answered(used(tokens - 7, output=7)))
    assert shown.used == tokens and not shown.estimated


def test_what_came_since_is_an_estimate_on_top_at_the_same_rate() -> None:
    counted = (ASKED, answered(used(2_500)))  # about 10,000 characters: four to a token
    shown = report(*counted, NoteAdded("x", "n" * 4_000))
    assert shown.estimated
    assert shown.used == pytest.approx(3_500, rel=0.02)


def test_without_a_count_everything_is_an_estimate() -> None:
    shown = report(ASKED)
    assert shown.estimated and shown.used > 0
    assert all(layer.cached is None for layer in shown.layers)
    assert report().layers[-1].tokens == 0


def test_the_biggest_result_is_named() -> None:
    calls = (ToolCall("a", "read", "{}"), ToolCall("b", "shell", "{}"))
    results = (
        ToolFinished("a", "read", ToolResult("a", "1" * 400), 0),
        ToolFinished("b", "shell", ToolResult("b", "2" * 4_000), 0),
    )
    assert report(ASKED, answered(used(2_250), *calls), *results).layers[-1].largest.startswith("shell, ~")


@pytest.mark.parametrize(("read", "stable", "spoken"), [(0, 0.0, 0.0), (2_000, 1.0, 0.0), (2_500, 1.0, 1.0)])
def test_a_cache_holds_the_beginning(read: int, stable: float, spoken: float) -> None:
    shown = report(ASKED, answered(used(2_500, read)))
    assert shown.layers[0].cached == stable
    assert shown.layers[-1].cached == pytest.approx(spoken, abs=0.05)


def test_a_digest_is_a_layer_of_its_own() -> None:
    message = digest(SessionState(), "what was done", 1_000)
    shown = report(ASKED, Compacted((message,), 9_000, 2_000, "summary", "what was done"))
    assert [layer.name for layer in shown.layers][-3:] == ["summary", "conversation", "tool results"]
    assert shown.last_break == "compaction: the next request begins anew"
    assert shown.estimated


def test_a_provider_that_forgot_is_named() -> None:
    events = (ASKED, answered(used(10_000, 9_000)), answered(used(10_500, 0)))
    assert report(*events).last_break == "the provider found only 0 of 10000 tokens in its cache (expired?)"
    assert report(ASKED, answered(used(10_000, 9_000)), answered(used(10_500, 9_900))).last_break == ""
    assert report(ASKED, answered(used(10_000)), answered(used(10_500))).last_break == ""  # it never caches


async def test_a_session_answers_with_its_own_counts(desk: Desk, serve: Any) -> None:
    (desk.root / "AGENTS.md").write_text("Use tabs.")
    usage = {"prompt": 1_500, "cached": 1_000, "output": 20}
    server = serve({"text": "Hello.", "usage": usage}, {"text": "Summary."})
    async with live(desk, server) as session:
        await turn(session, "hello")
        shown = await session.query(ReadContext())
        assert isinstance(shown, ContextReport)
        assert shown.used == 1_520 and not shown.estimated
        assert "project rules" in [layer.name for layer in shown.layers]
        await until(session, Compacted, Compact())
        after = await session.query(ReadContext())
        assert isinstance(after, ContextReport) and after.last_break.startswith("compaction")
