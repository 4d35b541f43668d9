"""How fast an answer was written, and when that cannot be said."""

from typing import Any

import pytest

from tcoder.models.speed import tokens_per_s
from tcoder.protocol.budget import Usage
from tcoder.protocol.messages import AssistantMessage, ReasoningPart, TextPart


@pytest.mark.parametrize(
    ("usage", "first", "duration", "thoughts", "expected"),
    [
        (Usage(output=101, calls=1), 1.0, 11.0, "", 10.1),
        (Usage(output=400, calls=1), 0.004, 0.006, "", None),  # a burst from a server on this machine
        (Usage(output=400, calls=1), 5.0, 5.02, "", None),  # a server that answers in one piece
        (Usage(output=1, calls=1), 1.0, 11.0, "", None),
        (Usage(output=500, reasoning=400, calls=1), 10.0, 20.0, "", 10.0),  # hidden thoughts came before the first word
        (Usage(output=500, reasoning=400, calls=1), 10.0, 20.0, "hm", 50.0),  # shown ones are part of the stream
        (Usage(output=50, calls=1), None, 2.0, "", None),
        (None, 1.0, 2.0, "", None),
    ],
)
def test_speed(
    usage: Usage | None, first: float | None, duration: float, thoughts: str, expected: float | None
) -> None:
    parts: tuple[Any, ...] = (ReasoningPart(thoughts), TextPart("x")) if thoughts else (TextPart("x"),)
    found = tokens_per_s(AssistantMessage(parts, "m", usage=usage), first, duration)
    assert found == (None if expected is None else pytest.approx(expected))
