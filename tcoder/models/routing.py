"""Which stop of the slider the next model call uses, and why. Pure.

A person's choice always wins. On auto a short list of rules speaks, the first that applies; two things hold it back:
hysteresis (a stop is kept for a few calls unless evidence forces a change) and the prompt cache (going to the fast
stop must not cost more than it saves). Going to the standard stop is never vetoed for money: what it buys is quality.
"""

from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal
from statistics import median
from typing import Literal

from msgspec import Struct

from tcoder.models.pricing import cost
from tcoder.models.speed import tokens_per_s
from tcoder.protocol.attempt import Attempt
from tcoder.protocol.budget import Usage
from tcoder.protocol.messages import AssistantMessage
from tcoder.protocol.queries import VariantReport, VariantStats
from tcoder.protocol.variant import ModelVariant, Served, VariantName

Purpose = Literal["turn", "title", "summary"]
Phase = Literal["explore", "plan", "edit", "review", ""]
Setting = Literal["fast", "standard", "auto"]

KEEP_CALLS = 3
CALLS_AHEAD = 10
OUTPUT_PER_CALL = 400
MANY_TOKENS = 20_000
LAST = 20
FEWEST = 3


class Situation(Struct, frozen=True):
    """What the rules may look at. `files` are the files that the edit under way concerns; `failed` counts attempts in a
    row that failed on the present hypothesis; `prompt_tokens` is what the current stop has in its prompt cache;
    `calls_on_stop` counts the calls of the conversation since the last switch."""

    purpose: Purpose = "turn"
    phase: Phase = ""
    files: int = 0
    attempts: int = 0
    failed: int = 0
    prompt_tokens: int = 0
    calls_on_stop: int = 0


class Rule(Struct, frozen=True):
    """A rule in words and as a test. An `evident` one is not held back by hysteresis."""

    text: str
    stop: VariantName
    applies: Callable[[Situation], bool]
    evident: bool = False


RULES: tuple[Rule, ...] = (
    Rule("a title or a summary → fast", "fast", lambda s: s.purpose != "turn", evident=True),
    Rule("two failed attempts on one hypothesis → standard", "standard", lambda s: s.failed >= 2, evident=True),
    Rule("planning → standard", "standard", lambda s: s.phase == "plan"),
    Rule("review → standard", "standard", lambda s: s.phase == "review"),
    Rule("an edit of several files → standard", "standard", lambda s: s.phase == "edit" and s.files > 1),
    Rule("exploring → fast", "fast", lambda s: s.phase == "explore" and not s.attempts),
    Rule("the first edit, of one file → fast", "fast", lambda s: s.phase == "edit" and not s.attempts),
    Rule("the first attempt → fast", "fast", lambda s: s.attempts <= 1 and s.phase == "edit"),
)


class Choice(Struct, frozen=True):
    """The stop for the next call. `rule` is the index of the rule that spoke, -1 = none; `held` says what kept a rule
    from being followed."""

    stop: VariantName
    reason: str
    rule: int = -1
    held: Literal["", "hysteresis", "cache"] = ""


def choose(
    situation: Situation, setting: Setting, current: VariantName, variants: Mapping[VariantName, ModelVariant]
) -> Choice:
    """The stop for the next call. `variants` has `standard` always and `fast` where there is one."""
    if "fast" not in variants:
        return Choice("standard", "there is no fast variant")
    if setting != "auto":
        return Choice(setting, "chosen by the person")
    index = next((at for at, rule in enumerate(RULES) if rule.applies(situation)), -1)
    if index < 0:
        return Choice(current, "no rule applies, so it stays")
    rule = RULES[index]
    if situation.purpose != "turn" or rule.stop == current:
        return Choice(rule.stop, rule.text, index)
    if not rule.evident and situation.calls_on_stop < KEEP_CALLS:
        why = f"{rule.text}, but only {situation.calls_on_stop} of {KEEP_CALLS} calls since the last switch"
        return Choice(current, why, index, "hysteresis")
    if rule.stop == "fast" and (veto := _cache_veto(situation.prompt_tokens, variants["standard"], variants["fast"])):
        return Choice(current, f"{rule.text}, but {veto}", index, "cache")
    return Choice(rule.stop, rule.text, index)


def keeps_cache(one: ModelVariant, other: ModelVariant) -> bool:
    """Whether a prompt cached by one is found by the other: same model and place, same speed (a speed has a cache of
    its own; a service tier has not)."""
    return (one.model, one.base_url, one.speed) == (other.model, other.base_url, other.speed)


def switch_tokens(tokens: int, current: ModelVariant, target: ModelVariant) -> int:
    """Prompt tokens that the target must read again."""
    return 0 if keeps_cache(current, target) else tokens


def switch_cost(tokens: int, current: ModelVariant, target: ModelVariant) -> Decimal | None:
    """What reading them again costs above what reading them from the cache would; None = unknown price."""
    again = switch_tokens(tokens, current, target)
    anew = cost(Usage(cache_write=again, calls=1), target.price)
    cached = cost(Usage(cache_read=again, calls=1), target.price)
    return None if anew is None or cached is None else anew - cached


def _cache_veto(tokens: int, standard: ModelVariant, fast: ModelVariant) -> str:
    """Why going to the fast stop does not pay; empty = it does. Counted over the next calls, each of which reads the
    cached prompt and writes a usual answer. Without prices the size of the cache decides."""
    if keeps_cache(standard, fast):
        return ""
    lost = switch_cost(tokens, standard, fast)
    a_call = Usage(cache_read=tokens, output=OUTPUT_PER_CALL, calls=1)
    now, then = cost(a_call, standard.price), cost(a_call, fast.price)
    if lost is None or now is None or then is None:
        return f"{tokens} cached tokens would be read again" if tokens > MANY_TOKENS else ""
    saved = (now - then) * CALLS_AHEAD
    if saved < 0:  # a faster tier costs more by nature: what it may lose in addition is bounded
        return f"{tokens} cached tokens would be read again" if tokens > MANY_TOKENS else ""
    return f"the lost cache costs ${lost:.4f} and {CALLS_AHEAD} calls save ${saved:.4f}" if lost > saved else ""


class Sample(Struct, frozen=True):
    """One answered call: seconds, tokens a second while streaming, US dollars."""

    stop: VariantName
    model: str
    first_token_s: float | None
    tokens_per_s: float | None
    cost: Decimal | None


def sample_of(stop: VariantName, message: AssistantMessage, served: Served) -> Sample:
    """The figures of one `ModelAnswered`."""
    usage = message.usage
    speed = tokens_per_s(message, served.first_token_s, served.duration_s)
    return Sample(stop, message.model, served.first_token_s, speed, usage.cost if usage else None)


def figures(stop: VariantName, model: str, samples: Iterable[Sample], attempts: Iterable[Attempt]) -> VariantStats:
    """Medians over the last calls of a stop with a model, None below three samples. An attempt counts for the model
    that its `variant` names, or for the stop."""
    mine = [sample for sample in samples if (sample.stop, sample.model) == (stop, model)]
    recent = mine[-LAST:]
    tried = [attempt for attempt in attempts if attempt.variant in (stop, model)]
    money = _median([float(sample.cost) for sample in recent if sample.cost is not None])
    return VariantStats(
        name=stop,
        model=model,
        calls=len(mine),
        first_token_s=_median([s.first_token_s for s in recent if s.first_token_s is not None]),
        tokens_per_s=_median([s.tokens_per_s for s in recent if s.tokens_per_s is not None]),
        cost_per_turn=money,
        attempts=len(tried),
        solved=sum(attempt.verdict == "solved" for attempt in tried),
    )


def _median(values: list[float]) -> float | None:
    return median(values) if len(values) >= FEWEST else None


def explain(
    choice: Choice,
    setting: Setting,
    situation: Situation,
    variants: Mapping[VariantName, ModelVariant],
    samples: Iterable[Sample] = (),
    attempts: Iterable[Attempt] = (),
) -> VariantReport:
    """The last decision with everything that it stood on, and what a switch would throw away."""
    samples, attempts = tuple(samples), tuple(attempts)
    other: VariantName = "standard" if choice.stop == "fast" else "fast"
    here, there = variants.get(choice.stop), variants.get(other)
    price = switch_cost(situation.prompt_tokens, here, there) if here and there else None
    return VariantReport(
        name=choice.stop,
        auto=setting == "auto",
        reason=choice.reason,
        rules=tuple(rule.text for rule in RULES),
        rule=choice.rule,
        stats=tuple(figures(name, of.id, samples, attempts) for name, of in variants.items()),
        switch_tokens=switch_tokens(situation.prompt_tokens, here, there) if here and there else None,
        switch_cost=None if price is None else float(price),
    )
