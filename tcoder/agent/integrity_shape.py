"""What a test checks, as values that can be held against each other whatever its language."""

from collections.abc import Iterator

from msgspec import Struct


class TestShape(Struct, frozen=True):
    """`assertions` in file order and the `cases` of a table, both as text without layout; `caught` counts assertions
    whose failure is caught, `returns` ways out before the last assertion, `replaced` the things that the test puts
    something else in place of; `skipped` = it does not run or need not pass."""

    __test__ = False

    assertions: tuple[str, ...] = ()
    cases: tuple[str, ...] = ()
    caught: int = 0
    returns: int = 0
    replaced: int = 0
    skipped: bool = False


def compare(name: str, old: TestShape, new: TestShape) -> Iterator[tuple[str, str]]:
    """Kind and sentence of each way in which the test `name` proves less than it did."""
    if new.skipped and not old.skipped:
        yield "skipped", f"{name} is skipped or expected to fail now"
    if len(new.assertions) < len(old.assertions):
        yield "loosened", f"{name} has fewer assertions than before"
    elif any(one not in new.assertions for one in old.assertions):
        yield "loosened", f"what {name} expects was changed"
    elif any(case not in new.cases for case in old.cases):
        yield "loosened", f"cases of {name} were changed or removed"
    if new.caught > old.caught:
        yield "loosened", f"a failing assertion of {name} is caught"
    if new.returns > old.returns:
        yield "loosened", f"{name} returns before its assertions"
    if new.replaced > old.replaced:
        yield "loosened", f"{name} puts something else in the place of what it tests"
