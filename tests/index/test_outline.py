"""A map uses its budget and never goes beyond it; the same files give the same text."""

import pytest

from tcoder.index.outline import outline_file, outline_tree, tokens
from tcoder.protocol.location import Symbol

SYMBOLS = (Symbol("parse_hue", "function", 1, 2), Symbol("blend", "function", 3, 4))
MANY = sorted(f"{top}/{inner}/file_{n}.py" for top in ("app", "lib", "web") for inner in "abcdefgh" for n in range(30))
FEW = sorted(f"app/{inner}/file_{n}.py" for inner in "ab" for n in range(10))


@pytest.mark.parametrize("paths", [MANY, FEW, ["a.py"], MANY[:1] * 1])
@pytest.mark.parametrize("budget", [30, 100, 150, 400, 1_500])
def test_a_map_fits_its_budget(paths: list[str], budget: int) -> None:
    text = outline_tree(paths, lambda _: SYMBOLS, budget, None)
    assert tokens(text) <= budget
    assert text == outline_tree(paths, lambda _: SYMBOLS, budget, None)


@pytest.mark.parametrize("budget", [150, 400, 1_500])
def test_a_map_of_much_uses_its_budget(budget: int) -> None:
    assert tokens(outline_tree(MANY, lambda _: SYMBOLS, budget, None)) > 0.8 * budget


def test_folders_are_opened_from_the_largest() -> None:
    paths = sorted([f"big/{inner}/{n}.py" for inner in "ab" for n in range(50)] + ["small/x/1.py", "setup.py"])
    assert (
        outline_tree(paths, lambda _: (), 27, None) == "./: setup.py\nbig/a/ 50 files\nbig/b/ 50 files\nsmall/x/: 1.py"
    )


def test_names_are_added_while_there_is_room() -> None:
    text = outline_tree(FEW, lambda _: SYMBOLS, 120, None).splitlines()
    assert text[0] == "app/a/file_0.py: parse_hue, blend"
    assert text[-1] == "app/b/file_9.py"


@pytest.mark.parametrize("budget", [10, 20, 60])
def test_a_file_fits_its_budget(budget: int) -> None:
    symbols = [Symbol(f"name_{n}", "function", n, n) for n in range(40)]
    assert tokens(outline_file("a.py", symbols, budget)) <= budget
