"""Arguments that the star of a rule does not cover: the list of `commands_escalating.toml`, and scripts of sed."""

import re
import tomllib
from collections.abc import Iterator
from fnmatch import fnmatchcase
from functools import cache
from importlib import resources

import msgspec

from tcoder.tools.policy.commands_safe import safe_programs

_SUBSTITUTION = re.compile(r"[0-9,$]*s([/|,#@!])(?:(?!\1)[^\\\n]|\\[^\n])*\1(?:(?!\1)[^\\\n]|\\[^\n])*\1[gpiI0-9]*")


@cache
def _listed() -> dict[str, tuple[str, ...]]:
    text = resources.files("tcoder.tools.policy").joinpath("commands_escalating.toml").read_text(encoding="utf-8")
    return msgspec.convert(tomllib.loads(text), dict[str, tuple[str, ...]])


def escalating(words: tuple[str, ...]) -> Iterator[str]:
    """The arguments of a command that a rule has to name before it allows them."""
    program = words[0].rpartition("/")[2]
    patterns = _listed().get(program, ())
    for at, word in enumerate(words[1:]):
        cluster = f"-{word}" if program == "tar" and not at and word.isalpha() else word
        if any(fnmatchcase(word, one) or _shortens(word, one) or _in_cluster(cluster, one) for one in patterns):
            yield word
    if program == "sed":
        yield from (script for script in _scripts(words[1:]) if not _harmless(script))


def _shortens(word: str, pattern: str) -> bool:
    """Whether a word is a shortened form of the long option of a pattern."""
    name = word.partition("=")[0]
    return len(name) > 3 and name.startswith("--") and pattern.startswith(name)


def _in_cluster(word: str, pattern: str) -> bool:
    """Whether the one letter of a pattern stands among the letters of a word such as `-xzf`."""
    letter = pattern.rstrip("?*")
    return len(letter) == 2 and letter[0] == "-" and bool(re.match(r"-[A-Za-z]+", word)) and letter[1] in word[1:]


def _scripts(arguments: tuple[str, ...]) -> Iterator[str]:
    """What sed takes for a script: after `-e` or `--expression`, else its first operand."""
    explicit = False
    first = ""
    for at, argument in enumerate(arguments):
        before = arguments[at - 1] if at else ""
        if re.fullmatch(r"-[a-zA-Z]*e|--exp\w*", before):
            explicit = True
            yield argument
        elif match := re.match(r"-[a-zA-Z]*?e(.+)|--exp\w*=(.*)", argument, re.DOTALL):
            explicit = True
            yield match.group(1) or match.group(2)
        elif not argument.startswith("-") and not first:
            first = argument
    if first and not explicit:
        yield first


def _harmless(script: str) -> bool:
    return bool(_SUBSTITUTION.fullmatch(script) or re.fullmatch(safe_programs()["sed"].first, script))
