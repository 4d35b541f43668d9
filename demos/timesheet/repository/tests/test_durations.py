import pytest

from timesheet.durations import format_duration, minutes_between, parse_duration


@pytest.mark.parametrize(("text", "minutes"), [("1h 30m", 90), ("45m", 45), ("2h", 120), ("1H5M", 65)])
def test_parse(text, minutes):
    assert parse_duration(text) == minutes


@pytest.mark.parametrize("text", ["", "soon", "1h and more", "90"])
def test_parse_refuses(text):
    with pytest.raises(ValueError):
        parse_duration(text)


@pytest.mark.parametrize(("minutes", "text"), [(90, "1h 30m"), (45, "45m"), (120, "2h"), (0, "0m")])
def test_format(minutes, text):
    assert format_duration(minutes) == text


def test_over_midnight():
    assert minutes_between("22:30", "00:15") == 105
