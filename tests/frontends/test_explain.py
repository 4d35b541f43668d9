"""The slider's figures in words."""

import pytest

from tcoder.frontends.explain import variant
from tcoder.protocol.queries import VariantReport, VariantStats


def stats(fast: float | None, standard: float | None, attempts: int = 0) -> tuple[VariantStats, ...]:
    return (
        VariantStats("standard", "local/large", 5, 1.0, standard, None, attempts, attempts),
        VariantStats("fast", "local/small", 5, 0.5, fast, None),
    )


@pytest.mark.parametrize(("fast", "standard", "says"), [(28.0, 14.0, "2.0×"), (None, 14.0, ""), (28.0, None, "")])
def test_how_much_faster_is_said_once_both_are_measured(fast: float | None, standard: float | None, says: str) -> None:
    text = variant(VariantReport("fast", auto=False, reason="", stats=stats(fast, standard)))
    assert ("fast writes 2.0× as fast as standard" in text) is bool(says)


@pytest.mark.parametrize(("attempts", "says"), [(2, False), (3, True)])
def test_of_few_attempts_no_share_is_shown(attempts: int, says: bool) -> None:
    text = variant(VariantReport("fast", auto=False, reason="", stats=stats(None, None, attempts)))
    assert (f"{attempts} of {attempts} solved" in text) is says
