"""Circles are noticed; progress and waiting are not taken for circles."""

import pytest

from tcoder.agent.breaker import Step, inspect

SAME = Step("read a", "text")
OTHER = Step("read b", "text")
WAIT = Step("shell sleep", "not yet", waits=True)


@pytest.mark.parametrize(
    ("steps", "action"),
    [
        ([], "go"),
        ([SAME] * 3, "go"),
        ([SAME] * 4, "warn"),
        ([SAME] * 5, "go"),
        ([SAME] * 8, "stop"),
        ([OTHER] + [SAME] * 8, "stop"),
        ([SAME, OTHER] * 2, "go"),
        ([SAME, OTHER] * 3, "warn"),
        ([SAME, OTHER] * 5, "stop"),
        ([Step("shell make", str(n)) for n in range(50)], "go"),
        ([WAIT] * 15, "go"),
        ([WAIT] * 16, "warn"),
        ([WAIT] * 32, "stop"),
        ([SAME, OTHER, Step("edit", "ok"), Step("test", "fail")] * 5, "stop"),
    ],
)
def test_table(steps: list[Step], action: str) -> None:
    assert inspect(steps).action == action


def test_the_warning_comes_once() -> None:
    actions = [inspect([SAME] * length).action for length in range(1, 9)]
    assert actions.count("warn") == 1
    assert actions[-1] == "stop"
