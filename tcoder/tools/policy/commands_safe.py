"""Which commands only read and print: the list of `commands_safe.toml`, held against a command's words.

Everything must be known: the program, each option by its exact spelling, the number of operands. An abbreviated or new
option, or one of another implementation, asks.
"""

import re
import tomllib
from functools import cache
from importlib import resources
from typing import Literal

import msgspec
from msgspec import Struct

from tcoder.tools.policy.commands_plain import read_plain
from tcoder.tools.policy.paths import looks_private

_NUMBER = re.compile(r"-\d+")
_FIND_VALUE = re.compile(r"-\d+[bcwkMG]?|-newer[aBcmt]{2}")


class SafeProgram(Struct, frozen=True, forbid_unknown_fields=True):
    """How one program may be called; the keys are explained where the list is."""

    flags: str = ""
    valued: str = ""
    long: frozenset[str] = frozenset()
    numbers: bool = False
    operands: Literal["paths", "text", "none"] = "paths"
    most: int | None = None
    first: str = ""
    only: str | None = None
    needed: tuple[str, ...] = ()
    tests: frozenset[str] = frozenset()
    anything: bool = False
    matches: tuple[str, ...] = ()
    misses: tuple[str, ...] = ()


def read_paths(words: tuple[str, ...]) -> tuple[str, ...] | None:
    """The words that may name what the command reads; None when the command is not one of the safe ones. The words
    are those of a command without anything that bash expands."""
    return _paths(safe_programs().get(words[0]), words[1:]) if words else None


def _paths(program: SafeProgram | None, arguments: tuple[str, ...]) -> tuple[str, ...] | None:
    if program is None:
        return None
    if program.anything:
        return ()
    if program.only is not None:
        pattern = program.only.replace(" ", "\n")
        plain = not any("\n" in argument for argument in arguments)
        return arguments if plain and re.fullmatch(pattern, "\n".join(arguments)) else None
    if program.tests:
        known = all(not one.startswith("-") or one in program.tests or _FIND_VALUE.fullmatch(one) for one in arguments)
        return tuple(one for one in arguments if not one.startswith("-")) if known else None
    return _by_options(program, arguments)


def _by_options(program: SafeProgram, arguments: tuple[str, ...]) -> tuple[str, ...] | None:
    operands: list[str] = []
    values: list[str] = []
    seen: set[str] = set()
    only_operands = False
    waiting = False  # the word before was an option that takes this one as its value
    for argument in arguments:
        if waiting and not argument.startswith("-"):
            values.append(argument)
            waiting = False
        elif only_operands or argument == "-" or not argument.startswith("-"):
            operands.append(argument)
        elif argument == "--":
            only_operands = True
        elif argument.startswith("--"):
            name, has_value, value = argument.partition("=")
            if name not in program.long:
                return None
            if has_value:
                values.append(value)
        elif not (program.numbers and _NUMBER.fullmatch(argument)):
            waiting = _read_cluster(program, argument, seen, values)
            if waiting is None:
                return None
    most = 0 if program.operands == "none" else program.most
    if most is not None and len(operands) > most:
        return None
    if not all(option in seen for option in program.needed):
        return None
    if program.first:
        if not operands or not re.fullmatch(program.first, operands[0]):
            return None
        del operands[0]
    return () if program.operands == "text" else (*operands, *values)


def _read_cluster(program: SafeProgram, argument: str, seen: set[str], values: list[str]) -> bool | None:
    """Letters of a short option such as `-rnA3`: whether the next word is its value, None when one is not known."""
    for at, letter in enumerate(argument[1:], 1):
        seen.add(f"-{letter}")
        if letter in program.valued:
            values.append(argument[at + 1 :])
            return at + 1 == len(argument)
        if letter not in program.flags:
            return None
    return False


@cache
def safe_programs() -> dict[str, SafeProgram]:
    """The list, read at its first use and held to its own examples. Raises `ValueError` when it is wrong."""
    text = resources.files("tcoder.tools.policy").joinpath("commands_safe.toml").read_text(encoding="utf-8")
    programs = msgspec.convert(tomllib.loads(text), dict[str, SafeProgram])
    for name, program in programs.items():
        for expected, examples in ((True, program.matches), (False, program.misses)):
            for example in examples:
                if _reads(programs, example) is not expected:
                    raise ValueError(f"the list of safe commands, {name}: {example!r} is judged wrongly")
    return programs


def _reads(programs: dict[str, SafeProgram], line: str) -> bool:
    found = [_paths(programs.get(words[0]), words[1:]) for words in read_plain(line) or ()]
    return bool(found) and not any(paths is None or any(map(looks_private, paths)) for paths in found)
