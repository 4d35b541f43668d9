"""Answers from stored facts: definitions by name, what is around a line, what a test file is about. Pure."""

from collections.abc import Iterable
from functools import lru_cache

from tcoder.protocol.location import Symbol

_TEST_WORDS = ("test", "tests", "spec", "specs", "it")


def enclosing(symbols: Iterable[Symbol], line: int) -> Symbol | None:
    """The innermost definition around a line."""
    around = [symbol for symbol in symbols if symbol.line <= line <= symbol.end_line]
    return min(around, key=lambda symbol: (symbol.end_line - symbol.line, -symbol.line), default=None)


def matches_name(symbol: Symbol, wanted: str) -> int:
    """How well a symbol is what is asked for: 3 its qualified name, 2 its name, 1 with other upper case, 0 not."""
    asked = wanted.replace("::", ".").replace("#", ".").strip(".")
    qualified = symbol.qualified
    if qualified == asked or ("." in asked and qualified.endswith(f".{asked}")):
        return 3
    last = asked.rpartition(".")[2]
    if "." not in asked and symbol.name == last:
        return 2
    return 1 if "." not in asked and symbol.name.lower() == last.lower() else 0


@lru_cache(1 << 17)
def subject(path: str) -> str:
    """What a test file is about, as its name says: `tests/test_parser.py` and `parser.spec.ts` give `parser`."""
    stem = path.rpartition("/")[2].split(".")[0]
    lower = stem.lower().replace("-", "_")
    for word in _TEST_WORDS:
        lower = lower.removeprefix(f"{word}_").removesuffix(f"_{word}")
    if stem[-4:] in ("Test", "Spec") or stem[-5:] == "Tests" or stem[-2:] == "IT":
        lower = lower.removesuffix("tests").removesuffix("test").removesuffix("spec").removesuffix("it")
    return lower.removeprefix("test") if stem.startswith("Test") else lower
