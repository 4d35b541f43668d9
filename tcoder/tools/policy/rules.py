"""Permission rules: what they match, how they are read from TOML, and the examples that hold them to their meaning.

A rule for a command matches word by word: `*` alone stands for any number of words, inside a word for any characters,
so `pytest *` means pytest with any arguments or none. A rule for a path matches the path relative to the workspace
(or the absolute one), with `*` for any characters.
"""

import difflib
import re
import tomllib
from collections.abc import Sequence
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Any, Literal, cast

import msgspec
from msgspec import Struct

from tcoder.protocol.errors import UsageError
from tcoder.protocol.permissions import Decision, Rule
from tcoder.tools.policy.commands_plain import read_plain
from tcoder.tools.policy.commands_read import SimpleCommand

ORDER: dict[Decision, int] = {"allow": 0, "ask": 1, "deny": 2}
SHELL_TOOL = "shell"
Certainty = Literal["no", "perhaps", "yes"]


class _Written(Struct, frozen=True, forbid_unknown_fields=True):
    decision: Decision
    tool: str
    match: str = "*"
    matches: tuple[str, ...] = ()
    misses: tuple[str, ...] = ()


def load_rules(toml_text: str, source: str) -> tuple[Rule, ...]:
    """Rules from TOML, an array of tables `rules`, in order. Raises `UsageError` that names `source`, the rule and its
    line when the text is not valid, a key is unknown, or an example does not behave as it says."""
    try:
        document = tomllib.loads(toml_text)
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{source} is not valid TOML: {error}") from error
    if unknown := sorted(set(document) - {"rules"}):
        raise UsageError(f"{source}: unknown key {unknown[0]!r}", "rules are written as [[rules]] tables")
    tables: Any = document.get("rules", [])  # TOML is untyped until it is converted
    if not isinstance(tables, list):
        raise UsageError(f"{source}: rules is not an array of tables", "write [[rules]] above each rule")
    lines = [
        number for number, line in enumerate(toml_text.split("\n"), 1) if re.match(r"\s*\[\[\s*rules\s*\]\]", line)
    ]
    written = cast("list[object]", tables)
    count = len(written)
    rules: list[Rule] = []
    for at in range(count):
        place = f"{source}:{lines[at]}: rule {at + 1}" if len(lines) == count else f"{source}: rule {at + 1}"
        table = _converted(written[at], place)
        rule = Rule(table.decision, table.tool, table.match, table.matches, table.misses, source)
        check(rule, place)
        rules.append(rule)
    return tuple(rules)


def _converted(table: object, place: str) -> _Written:
    try:
        return msgspec.convert(table, _Written)
    except msgspec.ValidationError as error:
        text = str(error)
        unknown = text.split("`")[1] if text.startswith("Object contains unknown field") else ""
        close = difflib.get_close_matches(unknown, _Written.__struct_fields__, 1, 0.5) if unknown else []
        raise UsageError(f"{place}: {text}", f"did you mean {close[0]!r}?" if close else "") from error


def check(rule: Rule, place: str) -> None:
    """Hold a rule to its own examples. Raises `UsageError` that names `place` and the example."""
    if not rule.tool or not rule.match.strip():
        raise UsageError(f"{place}: tool and match may not be empty")
    if rule.match != "*" and _pattern_words(rule) is None:
        raise UsageError(f"{place}: {rule.match!r} has an open quote")
    for example in rule.matches:
        if not _example(rule, example):
            raise UsageError(f"{place}: {describe(rule)!r} should match {example!r} and does not")
    for example in rule.misses:
        if _example(rule, example):
            raise UsageError(f"{place}: {describe(rule)!r} should not match {example!r} and does")


def _example(rule: Rule, example: str) -> bool:
    """Whether a rule speaks of an example: of all its commands when it allows, of one of them when it refuses."""
    if rule.tool != SHELL_TOOL:
        return matches_path(rule, example)
    commands = read_plain(example)
    if not commands:
        return rule.decision != "allow" and matches_words(rule, tuple(example.split())) == "yes"
    found = [matches_words(rule, words) == "yes" for words in commands]
    return all(found) if rule.decision == "allow" else any(found)


def describe(rule: Rule) -> str:
    """A rule as people read and write it: `allow shell pytest *`."""
    return f"{rule.decision} {rule.tool} {rule.match}"


def narrowing(rules: Sequence[Rule]) -> tuple[Rule, ...]:
    """Only those that ask or deny: all that a repository may say about rights."""
    return tuple(rule for rule in rules if rule.decision != "allow")


def is_literal(rule: Rule) -> bool:
    """Whether a rule names one thing and nothing else."""
    return not any(character in rule.match for character in "*?[")


def names_word(rule: Rule, word: str) -> bool:
    """Whether a pattern for commands speaks of a word by more than a star."""
    return any(part.strip("*") and fnmatchcase(word, part) for part in _pattern_words(rule) or ())


def strictest(rules: Sequence[Rule]) -> Rule | None:
    """The most restrictive rule, the first of equals; None of none."""
    return max(rules, key=lambda rule: ORDER[rule.decision], default=None)


def for_tool(rules: Sequence[Rule], *tools: str) -> tuple[Rule, ...]:
    return tuple(rule for rule in rules if rule.tool in (*tools, "*"))


def matches_path(rule: Rule, *spellings: str) -> bool:
    """Whether a rule speaks of a path, in any of its spellings. `dir/*` also means `dir` alone."""
    return any(
        fnmatchcase(path, rule.match) or (rule.match.endswith("/*") and path == rule.match[:-2]) for path in spellings
    )


def matches_command(rule: Rule, command: SimpleCommand) -> Certainty:
    """Whether a rule speaks of a command; `perhaps` when that depends on words that bash expands."""
    return matches_words(rule, command.words, command.unknown)


def matches_words(rule: Rule, words: tuple[str, ...], unknown: tuple[int, ...] = ()) -> Certainty:
    pattern = _pattern_words(rule)
    if pattern is None:
        return "no"
    if not unknown:
        return "yes" if _match(pattern, words, frozenset()) else "no"
    prefix = pattern[:-1]
    if pattern[-1:] == ("*",) and "*" not in prefix and len(prefix) <= unknown[0]:
        return "yes" if _match(prefix, words[: len(prefix)], frozenset()) else "no"
    return "perhaps" if _match(pattern, words, frozenset(unknown)) else "no"


@lru_cache(maxsize=1024)
def _split(match: str) -> tuple[str, ...] | None:
    words: list[str] = []
    for quoted, single, bare in re.findall(r'"([^"]*)"|\'([^\']*)\'|(\S+)', match):
        if bare and (bare[0] in "\"'"):
            return None
        words.append(quoted or single or bare)
    return tuple(words)


def _pattern_words(rule: Rule) -> tuple[str, ...] | None:
    return _split(rule.match)


def _match(pattern: tuple[str, ...], words: tuple[str, ...], unknown: frozenset[int]) -> bool:
    """Whether the pattern fits all words. An unknown word may turn out to be any words, or none."""
    reach = {0}
    reach = _skip_stars(pattern, reach)
    for at, word in enumerate(words):
        following: set[int] = set()
        for state in reach:
            if at in unknown:
                following.update(range(state, len(pattern) + 1))
            elif state < len(pattern):
                if pattern[state] == "*":
                    following.add(state)
                elif fnmatchcase(word, pattern[state]):
                    following.add(state + 1)
        reach = _skip_stars(pattern, following)
        if not reach:
            return False
    return len(pattern) in reach


def _skip_stars(pattern: tuple[str, ...], states: set[int]) -> set[int]:
    reach = set(states)
    for state in sorted(states):
        while state < len(pattern) and pattern[state] == "*":
            state += 1
            reach.add(state)
    return reach


def no_match(rule: Rule, subject: str) -> UsageError:
    return UsageError(f"{rule.match!r} does not match {subject[:200]!r}", "the rule must at least allow what was asked")
