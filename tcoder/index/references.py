"""Answers from stored facts: definitions by name, what is around a line, what a test file is about. Pure."""

import re
from collections.abc import Iterable
from functools import lru_cache

from tcoder.index.tags import CONTAINERS
from tcoder.protocol.location import Symbol

_WORD = re.compile(r"\w+")
_PARAMETERS = re.compile(r"\([^()]*\)|(?<!\s)<[^<>]*>")
_HEIR = re.compile(r"(?:\b(?:extends|implements|with)\b|:| < )(.*)")
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


def implements(symbol: Symbol, name: str) -> bool:
    """Whether a type's head names `name` among what it extends, implements or includes."""
    if symbol.kind not in CONTAINERS or name not in symbol.signature:
        return False
    if symbol.kind == "impl":  # `impl Trait for Type`
        return name in _WORD.findall(symbol.signature.partition(" for ")[0])[1:] and " for " in symbol.signature
    at = f" {symbol.signature}".find(f" {symbol.name}")
    after = symbol.signature[at + len(symbol.name) :] if at >= 0 else ""
    if after.startswith("(") and name in _WORD.findall(_bases_in(after)):
        return True
    # what follows the name without its own parameters: `: Base`, `< Base`, `extends Base`, `with Base`
    bases = _HEIR.search(_PARAMETERS.sub("", after))
    return bases is not None and name in _WORD.findall(bases[1])


def _bases_in(text: str) -> str:
    """The bases of a Python class: what stands in its parentheses, without what is given by keyword; nothing for
    parentheses that hold typed parameters."""
    inside = text[1:].rpartition(")")[0] or text[1:]
    return "" if ":" in inside else re.sub(r"\b\w+\s*=\s*[\w.]+", "", inside)


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
