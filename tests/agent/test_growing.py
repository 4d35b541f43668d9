"""The sequence behind the state: it behaves like a tuple and never changes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Struct

from tcoder.agent.growing import Growing, Register


class FileMark(Struct, frozen=True):
    id: str
    number: int


@given(st.lists(st.tuples(st.integers(0, 30), st.lists(st.integers(), max_size=3)), max_size=30))
def test_every_length_of_a_history_stays_what_it_was(steps: list[tuple[int, list[int]]]) -> None:
    """Growing from any earlier length, not only from the last, leaves all others as they were."""
    made: list[tuple[Growing[int], tuple[int, ...]]] = [(Growing(), ())]
    for which, new in steps:
        sequence, expected = made[which % len(made)]
        made.append((sequence.plus(*new), (*expected, *new)))
    for sequence, expected in made:
        assert sequence == expected == tuple(sequence)
        assert tuple(reversed(sequence)) == expected[::-1]
        assert len(sequence) == len(expected) and hash(sequence) == hash(expected)


@given(st.lists(st.integers()), st.slices(12))
def test_slices_are_those_of_a_tuple(items: list[int], cut: slice) -> None:
    grown = Growing(items[:3]).plus(*items[3:])
    grown.plus(0)
    assert grown[cut] == tuple(items)[cut]


def test_items_are_those_of_a_tuple() -> None:
    sequence = Growing("abc")
    sequence.plus("d")
    assert (sequence[0], sequence[-1], sequence[2]) == ("a", "c", "c")
    for outside in (3, -4):
        with pytest.raises(IndexError):
            sequence[outside]
    assert sequence != ["a", "b", "c"]


def test_growing_while_it_is_walked_through_does_not_lengthen_the_walk() -> None:
    sequence = Growing([1, 2])
    seen: list[int] = []
    for item in sequence:
        seen.append(item)
        sequence.plus(3)
    assert seen == [1, 2]


@given(st.lists(st.tuples(st.integers(0, 30), st.sampled_from("abcdef")), max_size=30))
def test_a_register_holds_each_id_once_in_its_first_place(steps: list[tuple[int, str]]) -> None:
    made: list[tuple[Register[FileMark], dict[str, int]]] = [(Register(), {})]
    for number, (which, name) in enumerate(steps):
        register, expected = made[which % len(made)]
        made.append((register.put(FileMark(name, number)), {**expected, name: number}))
    for register, expected in made:
        assert {mark.id: mark.number for mark in register} == expected
        assert [mark.id for mark in register] == list(expected)
