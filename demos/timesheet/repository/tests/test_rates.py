from decimal import Decimal

import pytest

from timesheet.rates import amount, parse_rate, rate_of, round_up


@pytest.mark.parametrize(
    ("minutes", "step", "rounded"), [(200, 15, 210), (1, 15, 15), (30, 15, 30), (0, 15, 0), (44, 30, 60), (7, 0, 7)]
)
def test_round_up(minutes, step, rounded):
    assert round_up(minutes, step) == rounded


def test_amount():
    assert amount(100, Decimal(80)) == Decimal("133.33")


def test_rate_of():
    assert rate_of("website", {"website": Decimal(80)}) == 80
    assert rate_of("other", {}, Decimal(50)) == 50
    with pytest.raises(KeyError):
        rate_of("other", {})


def test_parse_rate():
    assert parse_rate("Website=80") == ("website", Decimal(80))
    with pytest.raises(ValueError):
        parse_rate("80")
