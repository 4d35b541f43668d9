"""Neighbouring deltas as one, so that a burst costs one step."""

from collections.abc import Iterable, Iterator
from typing import TypeGuard

from msgspec.structs import replace

from tcoder.protocol.events import Delta, OutputDelta, Recorded
from tcoder.protocol.request import ReasoningDelta, TextDelta


def merged(items: Iterable[Recorded | Delta]) -> Iterator[Recorded | Delta]:
    """The same items with neighbouring deltas of one kind joined, so that a burst costs one step."""
    texts: list[str] = []
    last: TextDelta | ReasoningDelta | OutputDelta | None = None
    for item in items:
        if last is not None and _continues(item, last):
            texts.append(item.text)
            continue
        if last is not None:
            yield replace(last, text="".join(texts))
            last = None
        if isinstance(item, TextDelta | ReasoningDelta | OutputDelta):
            last, texts = item, [item.text]
        else:
            yield item
    if last is not None:
        yield replace(last, text="".join(texts))


def _continues(
    item: Recorded | Delta, last: TextDelta | ReasoningDelta | OutputDelta
) -> TypeGuard[TextDelta | ReasoningDelta | OutputDelta]:
    if isinstance(item, OutputDelta):
        return isinstance(last, OutputDelta) and item.call_id == last.call_id
    return type(item) is type(last)
