"""Budgets: what a tier allows, what is told when it runs low, and a clean stop when it is spent."""

from decimal import Decimal
from typing import Any

import pytest
from support.desk import Desk
from support.live import live, turn

from tcoder.agent.budget import TIERS, Spending, compact_at, context_limit, review, unpriced
from tcoder.agent.journal import load
from tcoder.agent.state import replay
from tcoder.app.parts import budget_of
from tcoder.config import BudgetSettings, Settings
from tcoder.protocol.budget import Budget, Usage
from tcoder.protocol.events import NoteAdded, Notice
from tcoder.protocol.variant import ModelVariant, Price


def spent(calls: int = 1, tokens: int = 0, cost: str | None = None) -> Usage:
    return Usage(input_uncached=tokens, calls=calls, cost=Decimal(cost) if cost else None)


@pytest.mark.parametrize(
    ("budget", "usage", "elapsed", "expected"),
    [
        (Budget(), spent(10_000, 10**9, "500"), 1e6, Spending()),
        (Budget(max_turns=10), spent(7), 0, Spending()),
        (Budget(max_turns=10), spent(8), 0, Spending(low=("8 of 10 model calls",))),
        (Budget(max_turns=10), spent(10), 0, Spending("budget spent: 10 of 10 model calls")),
        (Budget(max_tokens=100), spent(1, 80), 0, Spending(low=("80 of 100 tokens",))),
        (Budget(max_tokens=100), spent(1, 100), 0, Spending("budget spent: 100 of 100 tokens")),
        (Budget(max_cost=Decimal(2)), spent(cost="1.59"), 0, Spending()),
        (Budget(max_cost=Decimal(2)), spent(cost="1.6"), 0, Spending(low=("$1.6 of $2",))),
        (Budget(max_cost=Decimal(2)), spent(cost="2.01"), 0, Spending("budget spent: $2.01 of $2")),
        (Budget(max_cost=Decimal(2)), spent(), 0, Spending()),  # unknown is not nothing, and cannot be compared
        (Budget(max_time_s=60), spent(), 59.9, Spending(low=("60 of 60 s",))),
        (Budget(max_time_s=60), spent(), 60, Spending("budget spent: 60 of 60 s")),
        (Budget(10, Decimal(2)), spent(8, cost="1.9"), 0, Spending(low=("8 of 10 model calls", "$1.9 of $2"))),
    ],
)
def test_spending_is_held_against_every_limit(budget: Budget, usage: Usage, elapsed: float, expected: Spending) -> None:
    assert review(budget, usage, elapsed) == expected


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        (BudgetSettings(), TIERS["medium"]),
        (BudgetSettings(tier="long"), TIERS["long"]),
        (BudgetSettings(tier="small", max_turns=0, max_cost=Decimal(0), max_time_s=0.0, max_context=0), None),
    ],
)
def test_a_tier_gives_the_limits_and_a_person_replaces_them(settings: BudgetSettings, expected: Budget | None) -> None:
    budget = budget_of(Settings(budget=settings))
    assert budget == (expected or Budget(tool_output=TIERS["small"].tool_output, outline=TIERS["small"].outline))


def test_tiers_grow() -> None:
    for smaller, larger in (("small", "medium"), ("medium", "long")):
        one, other = TIERS[smaller], TIERS[larger]
        assert (one.max_turns or 0) < (other.max_turns or 0)
        assert (one.max_cost or 0) < (other.max_cost or 0)
        assert (one.max_context or 0) < (other.max_context or 0)
        assert one.tool_output <= other.tool_output


@pytest.mark.parametrize(
    ("max_context", "window", "max_output", "limit"),
    [
        (None, 100_000, 10_000, 90_000),  # room for the answer
        (32_000, 100_000, None, 32_000),  # the tier's share
        (None, 8_192, 8_192, 6_144),  # an answer never takes more than a quarter away
        (32_000, 8_192, None, 6_144),
    ],
)
def test_the_context_is_the_window_or_the_tiers_share_of_it(
    max_context: int | None, window: int, max_output: int | None, limit: int
) -> None:
    variant = ModelVariant("x/m", "m", "x", "u", context_window=window, max_output=max_output)
    budget = Budget(max_context=max_context, compact_at=0.5)
    assert context_limit(budget, variant) == limit
    assert compact_at(budget, variant) == limit // 2


def read(path: str) -> dict[str, Any]:
    return {"calls": [{"name": "read", "arguments": {"path": path}}]}


KNOWN = ModelVariant("x/m", "m", "x", "u", price=Price(Decimal(2), Decimal(10)))
UNKNOWN = ModelVariant("x/m", "m", "x", "u")
NOBODY = ModelVariant("none", "", "none", "")


@pytest.mark.parametrize(
    ("budget", "variant", "usage", "says"),
    [
        (Budget(max_cost=Decimal(2)), UNKNOWN, Usage(), "the price of x/m is not known"),
        (Budget(max_cost=Decimal(2)), KNOWN, spent(), "does not say what it used"),
        (Budget(max_cost=Decimal(2)), KNOWN, spent(cost="1"), ""),
        (Budget(max_cost=Decimal(2)), KNOWN, Usage(), ""),
        (Budget(), UNKNOWN, spent(), ""),
        (Budget(max_cost=Decimal(2)), NOBODY, Usage(), ""),
    ],
)
def test_money_that_cannot_be_counted_is_said(budget: Budget, variant: ModelVariant, usage: Usage, says: str) -> None:
    why = unpriced(budget, variant, usage)
    assert says in why and bool(why) is bool(says)


@pytest.mark.parametrize("where", ["flag", "settings"])
@pytest.mark.parametrize("how", ["headless", "line mode"])
def test_a_limit_in_money_that_cannot_be_kept_is_refused_before_anything_is_spent(
    desk: Desk, serve: Any, where: str, how: str
) -> None:
    server = serve({"text": "It is so."}, {"text": "It is so."})
    flags = ("--max-cost", "0.5") if where == "flag" else ()
    if where == "settings":
        (desk.home / "config").mkdir(parents=True)
        (desk.home / "config" / "config.toml").write_text("[budget]\nmax_cost = 0.5\n")
    model = ("-m", "x", "--base-url", server.url)
    task = ("--task", "what is here?") if how == "headless" else ("--plain",)
    ended = desk.run(*task, *model, *flags)
    assert ended.code == 2 and "the price of x is not known" in ended.err and "--max-tokens" in ended.err
    assert not server.requests
    assert desk.run("--task", "what is here?", *model, "--max-cost", "0").code == 0


def test_a_usual_limit_in_money_warns_of_nothing(desk: Desk, serve: Any) -> None:
    result = desk.ask(serve({"text": "It is so."}), "what is here?", "--json").result
    assert result["usage"]["cost"] is None and not any("price" in text for text in result["warnings"])


def test_no_model_has_no_price_to_speak_of(desk: Desk) -> None:
    for flags in ((), ("--max-cost", "0.5")):
        ended = desk.run("--plain", *flags)
        assert "price" not in ended.out + ended.err


async def test_a_run_is_told_at_four_fifths_and_stopped_at_the_limit(desk: Desk, serve: Any) -> None:
    server = serve(*(read(f"no-such-file-{number}") for number in range(9)))
    async with live(desk, server, max_turns=5) as session:
        outcome = (await turn(session, "look around")).outcome
        assert (outcome.status, outcome.exit_code) == ("budget", 5)
        assert len(server.requests) == 5
        events = [recorded.event for recorded in session.log]
        assert [e.text for e in events if isinstance(e, NoteAdded) and e.topic == "budget"] == [
            "Budget: 4 of 5 model calls used. Finish what is most important now."
        ]
        assert [e.text for e in events if isinstance(e, Notice) and e.level == "warning"] == ["4 of 5 model calls used"]
        assert not session.state.unanswered
        live_state = session.state
    stored = next((desk.home / "state" / "projects").glob("*/*.jsonl"))
    assert replay(recorded.event for recorded in load(stored).events) == live_state


async def test_money_is_exceeded_by_one_call_at_most(desk: Desk, serve: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """At $4 a million tokens in, ten cents end in the third call of ten thousand tokens."""
    usage = {"prompt": 10_000, "cached": 0, "output": 0}
    server = serve(*({**read(f"nothing-{number}"), "usage": usage} for number in range(9)))
    monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
    monkeypatch.setenv("ANTHROPIC_API_KEY", "k")
    async with live(desk, server, base_url="", model="anthropic/claude-opus-5-5", max_cost=Decimal("0.1")) as session:
        price = session.env.variants["standard"].price
        assert price is not None
        outcome = (await turn(session, "look around")).outcome
        assert (outcome.status, outcome.exit_code) == ("budget", 5)
        assert len(server.requests) == 3
        assert outcome.usage.cost == 30_000 * price.input / 1_000_000


async def test_tokens_are_exceeded_by_one_call_at_most(desk: Desk, serve: Any) -> None:
    usage = {"prompt": 1_000_000, "cached": 0, "output": 0}
    server = serve(*({**read(f"nothing-{number}"), "usage": usage} for number in range(9)))
    async with live(desk, server, max_tokens=2_500_000) as session:
        outcome = (await turn(session, "look around")).outcome
        assert outcome.exit_code == 5
        assert outcome.usage.total == 3_000_000
