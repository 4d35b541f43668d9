"""Suspects from traces, stack frames and names; units of a file; excerpts of a failure."""

import pytest

from tcoder.agent import failures, units
from tcoder.agent.suspects import ochiai, rank
from tcoder.protocol.checks import Frame, SeenCall, TestResult, TestTrace

SOURCE = '''
LIMIT = 10
NAMES: list[str] = []


def check(value, strict=True):
    """Say whether it fits.

    At length.
    """
    if value > LIMIT:
        return False
    return strict


def other(value):
    return value + 1


class Box:
    size = 3

    @property
    def half(self):
        return self.size // 2
'''
UNITS = {"m.py": units.cut("m.py", SOURCE)}


def trace(test_id: str, *lines: int, calls: tuple[SeenCall, ...] = ()) -> TestTrace:
    return TestTrace(test_id, {"m.py": lines}, calls)


def failed(test_id: str = "t::a", **fields: object) -> TestResult:
    return TestResult(test_id, "failed", **fields)  # type: ignore[arg-type] - a test's shorthand


def test_cut() -> None:
    found = [(unit.name, unit.kind, unit.line, unit.end_line, unit.body) for unit in UNITS["m.py"]]
    assert found == [
        ("LIMIT", "statement", 2, 2, 2),
        ("NAMES", "statement", 3, 3, 3),
        ("check", "function", 6, 13, 11),
        ("other", "function", 16, 17, 17),
        ("Box.size", "statement", 21, 21, 21),
        ("Box.half", "function", 23, 25, 25),
    ]
    check = UNITS["m.py"][2]
    assert check.signature == "def check(value, strict=True): Say whether it fits."
    assert check.defaults and {"LIMIT", "value", "strict"} <= check.uses


@pytest.mark.parametrize("text", ["def f(:\n", "\0", "x = " + "(" * 300])
def test_cut_of_what_is_no_python(text: str) -> None:
    assert units.cut("x.py", text) == ()


def test_without_docstring() -> None:
    check = UNITS["m.py"][2]
    assert [text for _, text in units.without_docstring(check, SOURCE)][:3] == [
        "def check(value, strict=True):",
        '    """Say whether it fits."""',
        "    if value > LIMIT:",
    ]


def test_a_docstring_that_begins_late_keeps_its_first_words() -> None:
    source = 'def f():\n    """\n    Do it.\n\n    More.\n    """\n    return 1\n'
    (unit,) = units.cut("a.py", source)
    assert [text for _, text in units.without_docstring(unit, source)][1] == '    """Do it."""'


def test_ochiai_prefers_what_only_failing_tests_run() -> None:
    scores = ochiai([trace("a", 11, 12), trace("b", 11, 13), trace("c", 11, 13)], {"a"})
    assert scores["m.py"] == {11: pytest.approx(1 / 3**0.5), 12: 1.0}


def test_what_failing_tests_alone_run_comes_first_with_its_condition() -> None:
    ranking = rank([failed("a")], [trace("a", 11, 12, 17), trace("b", 11, 13, 17)], UNITS)
    assert ranking[0].unit.name == "check"
    assert ranking[0].lines[:2] == (12, 11)
    assert [suspect.unit.name for suspect in ranking] == ["check", "other", "LIMIT"]


def test_the_frame_where_the_error_was_raised_weighs_most() -> None:
    frames = (Frame("test_m.py", 3), Frame("m.py", 17, "other"))
    ranking = rank([failed("a", frames=frames)], [trace("a", 11, 17)], UNITS)
    assert ranking[0].unit.name == "other"
    assert "the error was raised in it" in ranking[0].why


def test_a_function_that_gave_the_wrong_value_is_suspicious() -> None:
    call = SeenCall("m.py", 16, "other", "value=4", "5")
    ranking = rank([failed("a", actual="5", expected="6")], [trace("a", 11, 17, calls=(call,))], UNITS)
    assert (ranking[0].unit.name, ranking[0].calls) == ("other", (call,))


def test_a_wrong_default_can_be_reached() -> None:
    (first, *_) = rank([failed("a")], [trace("a", 11, 13)], UNITS)
    assert 6 in first.lines


def test_without_traces_the_frames_decide() -> None:
    ranking = rank([failed("a", frames=(Frame("m.py", 25),))], [], UNITS)
    assert [suspect.unit.name for suspect in ranking] == ["Box.half", "Box.size"]
    assert rank([failed("a")], [], UNITS) == ()


def test_what_ran_at_import_only_is_a_late_suspect() -> None:
    ranking = rank([failed("a")], [trace("", 17), trace("a", 11, 12)], UNITS)
    assert [suspect.unit.name for suspect in ranking][:1] == ["check"]
    assert "other" in [suspect.unit.name for suspect in ranking]


TEST = """
import m


def test_far():
    a = 1
    b = a + 1
    assert m.other(
        b,
    ) == 4
    assert False
"""


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        (8, ["a = 1", "b = a + 1", "assert m.other(", "    b,", ") == 4"]),
        (6, ["a = 1"]),
        (11, ["a = 1", "b = a + 1", "assert m.other(", "    b,", ") == 4", "assert False"]),
    ],
)
def test_excerpt(line: int, shown: list[str]) -> None:
    assert failures.excerpt(TEST, line) == shown


def test_message_and_representatives() -> None:
    both = failed("t::x", actual="3", expected="4", frames=(Frame("t", 1),))
    long = failed("t::y[1]", message="E " * 500)
    assert failures.message(both) == "got 3, expected 4"
    assert len(failures.message(long)) <= 300
    assert failures.representative([long, failed("t::y[2]"), both]) == (both, failed("t::y[2]"))
