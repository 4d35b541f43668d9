"""Immutable sequences that are cheap to append to: what a state that is folded event by event is made of."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Generic, Protocol, TypeVar, cast, overload

T = TypeVar("T")


class Identified(Protocol):
    @property
    def id(self) -> str: ...


Item = TypeVar("Item", bound=Identified)


class Growing(Sequence[T], Generic[T]):
    """Never changes: `plus` gives a longer one. All lengths of one history share a list, so appending to the newest
    costs what is appended, not what was there; appending to an older one copies it. Equal to a `Growing` or a tuple of
    equal items."""

    __slots__ = ("_items", "_length")

    def __init__(self, items: Iterable[T] = ()) -> None:
        self._items = list(items)
        self._length = len(self._items)

    def plus(self, *new: T) -> "Growing[T]":
        """This sequence, then `new`."""
        if not new:
            return self
        if len(self._items) != self._length:
            return Growing((*self, *new))
        self._items.extend(new)
        longer = cast("Growing[T]", object.__new__(Growing))  # a subscripted call would take three times as long
        longer._items, longer._length = self._items, self._length + len(new)
        return longer

    def __len__(self) -> int:
        return self._length

    @overload
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[T, ...]: ...
    def __getitem__(self, index: int | slice) -> T | tuple[T, ...]:
        if isinstance(index, slice):
            return tuple(self._items[at] for at in range(*index.indices(self._length)))
        if not -self._length <= index < self._length:
            raise IndexError(index)
        return self._items[index % self._length]

    def __iter__(self) -> Iterator[T]:
        return islice(self._items, self._length)

    def __reversed__(self) -> Iterator[T]:
        return (self._items[at] for at in range(self._length - 1, -1, -1))

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Growing | tuple):
            return tuple(self) == tuple(other)  # pyright: ignore[reportUnknownArgumentType] - whatever is in it compares
        return NotImplemented

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return f"Growing({list(self)!r})"


class Register(Growing[Item]):
    """A `Growing` that holds each id once: `put` puts a new item at the end, and one whose id is known in the place of
    the old one. Putting a new item costs the same however many there are."""

    __slots__ = ("_places",)

    def __init__(self, items: Iterable[Item] = ()) -> None:
        super().__init__(items)
        self._places = {item.id: place for place, item in enumerate(self._items)}

    def put(self, item: Item) -> "Register[Item]":
        """This sequence with `item` in it."""
        place = self._places.get(item.id, self._length)
        if place < self._length:
            return Register((*self[:place], item, *self[place + 1 :]))
        if len(self._items) != self._length:
            return Register((*self, item))
        self._items.append(item)
        self._places[item.id] = self._length
        longer = cast("Register[Item]", object.__new__(Register))
        longer._items, longer._places, longer._length = self._items, self._places, self._length + 1
        return longer
