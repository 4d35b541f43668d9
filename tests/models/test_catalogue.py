from decimal import Decimal
from pathlib import Path

import pytest

from tcoder.models import catalogue
from tcoder.models.catalogue import fast_of, resolve
from tcoder.models.pricing import cost, price_served
from tcoder.protocol.budget import Usage
from tcoder.protocol.errors import ModelError
from tcoder.protocol.variant import Price


def test_every_entry_is_usable() -> None:
    for entry in catalogue.models():
        found = resolve(entry.id)
        assert found.id == entry.id
        assert found.base_url == found.base_url.rstrip("/")
        assert found.provider in catalogue.providers()
        fast = fast_of(found)
        if entry.fast is None:
            assert fast is None
            continue
        assert fast is not None
        assert fast.name == "fast"
        assert (fast.model, fast.tier, fast.speed) != (found.model, found.tier, found.speed)
        if entry.price is not None:
            assert entry.price.dated


def test_a_known_model() -> None:
    found = resolve("anthropic/claude-opus-5-5", effort="high")
    assert (found.model, found.dialect, found.api_key_env) == ("claude-opus-5-5", "anthropic", "ANTHROPIC_API_KEY")
    assert found.base_url == "https://api.anthropic.com/v1"
    assert (found.effort, found.strategy, found.images) == ("high", "agent", True)
    assert resolve("anthropic/claude-opus-5-5-20261001").price == found.price
    fast = fast_of(found)
    assert fast is not None
    assert (fast.speed, fast.effort, fast.base_price) == ("fast", "high", found.price)
    assert found.price is not None
    assert fast.price is not None
    assert fast.price.output == found.price.output * 2


def test_the_fast_end_can_be_another_model_and_for_local_ones_is_the_smaller() -> None:
    large = resolve("local/qwen2.5-coder-1.5b")
    small = fast_of(large)
    assert small is not None
    assert (small.model, small.name) == ("qwen2.5-coder-0.5b", "fast")
    assert fast_of(small) is None
    assert (large.strategy, large.json_schema, large.provider) == ("guided", True, "local")
    assert cost(Usage(input_uncached=1000, output=10, calls=1), large.price) == 0


def test_a_model_file_of_ones_own_is_taken_by_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TCODER_MODELS_DIR", str(tmp_path))
    with pytest.raises(ModelError, match=str(tmp_path)):
        resolve("local/mine")
    (tmp_path / "mine.gguf").write_bytes(b"GGUF")
    found = resolve("local/mine")
    assert (found.model, found.provider, found.strategy) == ("mine", "local", "guided")
    assert not any(quirk.startswith("fill_") for quirk in found.quirks)  # which markers it knows cannot be told
    assert cost(Usage(input_uncached=1000, calls=1), found.price) == 0
    assert resolve(f"local/{tmp_path / 'mine.gguf'}").provider == "local"


def test_an_unknown_model_has_an_unknown_price() -> None:
    found = resolve("openrouter/some/thing:free", max_output=100, context_window=5, strategy="guided")
    assert (found.model, found.price) == ("some/thing:free", None)
    assert (found.max_output, found.context_window, found.strategy) == (100, 5, "guided")
    assert cost(Usage(output=1, calls=1), found.price) is None


@pytest.mark.parametrize(
    ("model_id", "expected_id", "model", "provider"),
    [
        ("stub", "stub", "stub", "own"),
        ("", "default", "default", "own"),
        ("who/knows", "who/knows", "who/knows", "own"),
        ("openai/gpt-6.2-sol", "openai/gpt-6.2-sol", "gpt-6.2-sol", "openai"),
    ],
)
def test_an_endpoint_of_ones_own(model_id: str, expected_id: str, model: str, provider: str) -> None:
    found = resolve(model_id, base_url="http://127.0.0.1:9/v1/", api="openai-chat")
    assert (found.id, found.model, found.provider) == (expected_id, model, provider)
    assert found.base_url == "http://127.0.0.1:9/v1"
    assert found.dialect == "openai-chat"
    assert found.price is None
    assert fast_of(found) is None


@pytest.mark.parametrize(
    ("model_id", "says"),
    [
        ("opnai/gpt-x", "openai/gpt-x"),
        ("zzzz/x", "known: openai"),
        ("claude-opus-5-5", "anthropic/claude-opus-5-5"),
        ("claude-opus-55", "anthropic/claude-opus-5-5"),
        ("something", "--base-url"),
        ("local/llama", "local/qwen2.5-coder-0.5b"),
        ("openai/", "openai/…"),
        ("", "--model"),
    ],
)
def test_what_cannot_be_meant_is_said_with_the_nearest(model_id: str, says: str) -> None:
    with pytest.raises(ModelError) as caught:
        resolve(model_id)
    assert caught.value.failure == "unknown_model"
    assert says in str(caught.value)


def test_an_effort_that_a_model_lacks_is_refused() -> None:
    with pytest.raises(ModelError, match="low, medium") as caught:
        resolve("openai/gpt-6.2-sol", effort="none")
    assert caught.value.failure == "bad_request"


PRICE = Price(Decimal("2"), Decimal("10"), Decimal("0.10"), Decimal("2.50"))


@pytest.mark.parametrize(
    ("usage", "price", "expected"),
    [
        (Usage(input_uncached=1, output=1, calls=1), PRICE, "0.000012"),
        (Usage(input_uncached=100, cache_read=1000, cache_write=10, output=3, calls=1), PRICE, "0.000355"),
        (Usage(cache_read=1000, cache_write=1000, calls=1), Price(Decimal(2), Decimal(10)), "0.004"),
        (Usage(input_uncached=101, calls=1), Price(Decimal(1), Decimal(1), long_from=100, long=PRICE), "0.000202"),
        (Usage(input_uncached=100, calls=1), Price(Decimal(1), Decimal(1), long_from=100, long=PRICE), "0.0001"),
        (Usage(input_uncached=10, calls=1), None, None),
    ],
)
def test_costs_are_exact(usage: Usage, price: Price | None, expected: str | None) -> None:
    assert cost(usage, price) == (None if expected is None else Decimal(expected))


@pytest.mark.parametrize(
    ("tier", "expected"),
    [("fast", "double"), ("priority", "double"), ("", "double"), ("default", "base"), ("standard", "base")],
)
def test_a_downgraded_answer_costs_the_standard_price(tier: str, expected: str) -> None:
    found = fast_of(resolve("openai/gpt-6.2-sol"))
    assert found is not None
    assert price_served(found, tier) == {"double": found.price, "base": found.base_price}[expected]
    standard = resolve("openai/gpt-6.2-sol")
    assert price_served(standard, tier) == standard.price
