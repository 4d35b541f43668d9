from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from support.model_calls import variant

from tcoder.models.catalogue import fast_of, resolve
from tcoder.models.routing import (
    KEEP_CALLS,
    RULES,
    Choice,
    Sample,
    Setting,
    Situation,
    choose,
    explain,
    figures,
    keeps_cache,
    sample_of,
    switch_cost,
    switch_tokens,
)
from tcoder.protocol.attempt import Attempt
from tcoder.protocol.budget import Usage
from tcoder.protocol.messages import AssistantMessage
from tcoder.protocol.variant import ModelVariant, Served, VariantName

LARGE = resolve("local/qwen2.5-coder-1.5b")
SMALL = resolve("local/qwen2.5-coder-0.5b", name="fast")
LOCAL: dict[VariantName, ModelVariant] = {"standard": LARGE, "fast": SMALL}
LATER = 99


def slider(model_id: str) -> dict[VariantName, ModelVariant]:
    standard = resolve(model_id)
    fast = fast_of(standard)
    assert fast is not None
    return {"standard": standard, "fast": fast}


@pytest.mark.parametrize(
    ("situation", "stop", "rule"),
    [
        (Situation(purpose="title", phase="plan"), "fast", "a title"),
        (Situation(purpose="summary", failed=2), "fast", "a title"),
        (Situation(phase="explore"), "fast", "exploring"),
        (Situation(phase="plan"), "standard", "planning"),
        (Situation(phase="review", attempts=1), "standard", "review"),
        (Situation(phase="edit", files=1), "fast", "the first edit"),
        (Situation(phase="edit", files=1, attempts=1), "fast", "the first attempt"),
        (Situation(phase="edit", files=3), "standard", "an edit of several"),
        (Situation(phase="edit", files=1, attempts=2, failed=2), "standard", "two failed"),
        (Situation(phase="explore", attempts=3, failed=3), "standard", "two failed"),
    ],
)
@pytest.mark.parametrize("current", ["fast", "standard"])
def test_the_rules(situation: Situation, stop: VariantName, rule: str, current: VariantName) -> None:
    choice = choose(replace(situation, calls_on_stop=LATER), "auto", current, LOCAL)
    assert choice.stop == stop
    assert RULES[choice.rule].text.startswith(rule)
    assert choice.reason == RULES[choice.rule].text


@pytest.mark.parametrize("current", ["fast", "standard"])
def test_where_no_rule_applies_the_stop_stays(current: VariantName) -> None:
    choice = choose(Situation(attempts=4, phase="edit", files=1, calls_on_stop=LATER), "auto", current, LOCAL)
    assert (choice.stop, choice.rule) == (current, -1)


situations = st.builds(
    Situation,
    purpose=st.sampled_from(["turn", "title", "summary"]),
    phase=st.sampled_from(["explore", "plan", "edit", "review", ""]),
    files=st.integers(0, 5),
    attempts=st.integers(0, 4),
    failed=st.integers(0, 4),
    prompt_tokens=st.integers(0, 500_000),
    calls_on_stop=st.integers(0, 6),
)


@given(situations, st.sampled_from(["fast", "standard"]), st.sampled_from(["fast", "standard"]))
def test_a_persons_choice_always_wins(situation: Situation, setting: Setting, current: VariantName) -> None:
    assert choose(situation, setting, current, LOCAL).stop == setting


@given(situations, st.sampled_from(["fast", "standard"]))
def test_without_a_fast_variant_there_is_nothing_to_choose(situation: Situation, current: VariantName) -> None:
    assert choose(situation, "auto", current, {"standard": LARGE}).stop == "standard"


@given(situations, st.sampled_from(["fast", "standard"]))
def test_hysteresis_keeps_a_stop_for_some_calls_unless_there_is_evidence(s: Situation, current: VariantName) -> None:
    choice = choose(s, "auto", current, LOCAL)
    if choice.stop != current and s.purpose == "turn":
        assert s.calls_on_stop >= KEEP_CALLS or RULES[choice.rule].evident
    if choice.held:
        assert choice.stop == current
        assert ", but " in choice.reason


def test_hysteresis_says_so() -> None:
    choice = choose(Situation(phase="plan", calls_on_stop=1), "auto", "fast", LOCAL)
    assert (choice.stop, choice.held) == ("fast", "hysteresis")
    assert "1 of 3 calls" in choice.reason


@pytest.mark.parametrize(
    ("model_id", "tokens", "held"),
    [
        ("anthropic/claude-sonnet-5-5", 10_000, ""),  # the fast model is so much cheaper that reading again pays
        ("anthropic/claude-sonnet-5-5", 99_000, ""),
        ("anthropic/claude-opus-5-5", 5_000, ""),  # same model, faster: little is lost
        ("anthropic/claude-opus-5-5", 100_000, "cache"),  # same model, faster: the whole cache is lost
        ("openai/gpt-6.2-sol", 200_000, ""),  # a service tier keeps the cache
        ("deepseek/deepseek-v4-pro", 100_000, "cache"),  # no prices: much would be read again
        ("deepseek/deepseek-v4-pro", 1_000, ""),
    ],
)
def test_the_cache_vetoes_a_switch_to_fast_that_does_not_pay(model_id: str, tokens: int, held: str) -> None:
    exploring = Situation(phase="explore", prompt_tokens=tokens, calls_on_stop=LATER)
    choice = choose(exploring, "auto", "standard", slider(model_id))
    assert choice.held == held
    assert choice.stop == ("standard" if held else "fast")
    planning = Situation(phase="plan", prompt_tokens=tokens, calls_on_stop=LATER)
    assert choose(planning, "auto", "fast", slider(model_id)).stop == "standard"


def test_what_a_switch_throws_away() -> None:
    opus = slider("anthropic/claude-opus-5-5")
    assert switch_tokens(1000, opus["standard"], opus["fast"]) == 1000
    assert switch_cost(1000, opus["standard"], opus["fast"]) == Decimal("0.0096")  # 1000 · (10 - 0.40) / 10⁶
    sol = slider("openai/gpt-6.2-sol")
    assert keeps_cache(sol["standard"], sol["fast"])
    assert switch_tokens(1000, sol["standard"], sol["fast"]) == 0
    assert switch_cost(1000, sol["standard"], sol["fast"]) == 0
    assert switch_cost(1000, LARGE, variant()) is None


def sample(stop: VariantName = "fast", model: str = "m", **fields: Any) -> Sample:
    base: dict[str, Any] = {"first_token_s": 0.5, "tokens_per_s": 10.0, "cost": Decimal("0.01")}
    return Sample(stop, model, **base | fields)


def test_figures_are_medians_of_the_last_calls_and_silent_below_three() -> None:
    samples = [sample(first_token_s=float(n), tokens_per_s=None, cost=None) for n in range(30)]
    found = figures("fast", "m", [*samples, sample("standard"), sample(model="other")], [])
    assert (found.calls, found.first_token_s, found.tokens_per_s, found.cost_per_turn) == (30, 19.5, None, None)
    few = figures("fast", "m", [sample(), sample()], [])
    assert (few.calls, few.first_token_s, few.tokens_per_s) == (2, None, None)
    three = figures("fast", "m", [sample(), sample(), sample()], [])
    assert (three.first_token_s, three.tokens_per_s, three.cost_per_turn) == (0.5, 10.0, 0.01)


def test_attempts_count_for_the_variant_that_made_them() -> None:
    tried = [
        Attempt(1, "h", "", 1, 0, "solved", variant="fast"),
        Attempt(2, "h", "", 1, 1, "same", variant="m"),
        Attempt(3, "h", "", 1, 1, "same", variant="standard"),
    ]
    found = figures("fast", "m", [], tried)
    assert (found.attempts, found.solved) == (2, 1)


@pytest.mark.parametrize(
    ("usage", "served", "speed"),
    [
        (Usage(output=101, calls=1), Served(first_token_s=1.0, duration_s=11.0), 10.1),
        (Usage(output=1, calls=1), Served(first_token_s=1.0, duration_s=11.0), None),
        (Usage(output=50, calls=1), Served(first_token_s=1.0, duration_s=1.0), None),
        (None, Served(first_token_s=None, duration_s=2.0), None),
    ],
)
def test_a_sample(usage: Usage | None, served: Served, speed: float | None) -> None:
    made = sample_of("fast", AssistantMessage((), "m", usage=usage), served)
    assert made.tokens_per_s == (None if speed is None else pytest.approx(speed))
    assert made.first_token_s == served.first_token_s


def test_the_explanation_holds_the_decision_and_its_grounds() -> None:
    both = slider("anthropic/claude-opus-5-5")
    situation = Situation(phase="explore", prompt_tokens=1000, calls_on_stop=LATER)
    choice = choose(situation, "auto", "standard", both)
    samples = [sample("fast", both["fast"].id)] * 3
    report = explain(choice, "auto", situation, both, samples)
    assert (report.name, report.auto, report.rules[report.rule]) == ("fast", True, choice.reason)
    assert [(of.name, of.calls) for of in report.stats] == [("standard", 0), ("fast", 3)]
    assert report.switch_tokens == 1000
    assert report.switch_cost == pytest.approx(0.0048)
    alone = explain(Choice("standard", "x"), "standard", situation, {"standard": LARGE})
    assert (alone.switch_tokens, alone.switch_cost, alone.auto) == (None, None, False)
