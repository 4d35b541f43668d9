"""A bash command line as values: its simple commands, and what in it is more than plain words.

Two readers must agree before a command line counts as plain: the syntax tree of `bash_syntax`, which names what it
finds, and the strict little lexer of `commands_plain`, which knows nothing but plain words. What only one of them
accepts asks.
"""

import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import islice

from tcoder.tools.policy.commands_plain import DUPLICATE, read_plain
from tcoder.tools.policy.commands_programs import plays
from tcoder.tools.policy.commands_read import ParsedCommand, SimpleCommand

MAX_LENGTH = 32_768
"""Characters that are parsed; a longer line is over the budget."""
MAX_COMMANDS = 256
MAX_DEPTH = 4
"""How deep `bash -c 'bash -c …'` is followed."""
MAX_STARTED = 200
MAX_WORDS = 100
MAX_SCRIPT = 8000
"""How much of what a command may start is looked at: commands, words and characters."""

_NESTED = re.compile(r"\$\{[^}]*[`(]")
_QUOTED = re.compile(r"'[^']*'|\"(?:[^\"\\]|\\.)*\"", re.DOTALL)
# An escaped letter, or a line that goes on in the middle of a word: what trees read in another way than bash.
_ODD_ESCAPE = re.compile(r"\\[\w#~]|\S\\\n")
_FOREIGN_BLANK = re.compile(r"[^\S \t\n]|[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")
# `-S` of env, also within a cluster of letters
_SPLIT = re.compile(r"-[a-zA-Z0]*?S=?|--split-string=")


@lru_cache(maxsize=64)
def parse(command: str) -> ParsedCommand:
    """Take a command line apart. Never raises; what it cannot vouch for is a `problem`."""
    if len(command) > MAX_LENGTH:
        return ParsedCommand((), f"it is longer than {MAX_LENGTH} characters", opaque=True, over_budget=True)
    from tcoder.tools.policy.bash_syntax import (
        read,  # late: the parser costs 0.1 s and the first command alone needs it
    )

    found = read(command)
    commands = found.commands[:MAX_COMMANDS]
    strange = _FOREIGN_BLANK.search(command)
    plain = read_plain(command)
    agree = tuple(one.words for one in commands) == plain
    if plain is not None and not agree:
        # The tree splits words such as 'cu'\rl in two, bash does not: both readings are judged.
        commands += tuple(SimpleCommand(words, " ".join(words)) for words in plain[:MAX_COMMANDS])
    if strange:
        problem = f"it holds the character U+{ord(strange.group()):04X}"
    elif len(found.commands) > MAX_COMMANDS:
        problem = f"it has more than {MAX_COMMANDS} commands"
    else:
        problem = found.problem or ("" if agree else "it can be read in more than one way")
    unread = (
        found.broken
        or any(0 in one.unknown for one in commands)
        or _ODD_ESCAPE.search(_QUOTED.sub("''", command))
        or _NESTED.search(command)
    )
    return ParsedCommand(
        commands,
        problem,
        opaque=bool(strange or (problem and unread)),
        strange=bool(strange),
        over_budget=len(found.commands) > MAX_COMMANDS,
        redirects=tuple(target for target in found.redirects if not DUPLICATE.fullmatch(target)),
    )


@lru_cache(maxsize=1024)
def started_by(command: SimpleCommand) -> tuple[SimpleCommand, ...]:
    """The command and every command that it may run for its arguments: what follows a wrapper such as `env`, `sudo`,
    `xargs` or `find -exec`, and the text of `bash -c` or `eval`. More than will really run, never less as far as the
    words tell: only for judging what to refuse. When there are too many, one that nobody knows stands for the rest."""
    found = tuple(islice(_inner(command, 0), MAX_STARTED + 1))
    return tuple(dict.fromkeys(found)) if len(found) <= MAX_STARTED else (*found, _anything(command))


def _anything(command: SimpleCommand) -> SimpleCommand:
    return SimpleCommand(("…",), command.text, (0,))


def _inner(command: SimpleCommand, depth: int) -> Iterator[SimpleCommand]:
    yield command
    program = command.program
    if program == "git":
        yield from _started_by_git(command)
    wraps = plays(program, "wrappers")
    if not wraps and not _evaluates(program):
        return
    if depth >= MAX_DEPTH or len(command.words) > MAX_WORDS or sum(map(len, command.words)) > MAX_SCRIPT:
        yield _anything(command)
        return
    yield from _evaluated(command, depth)
    for start in range(1, len(command.words) if wraps else 0):
        words = command.words[start:]
        if not words[0].startswith("-"):
            below = SimpleCommand(words, command.text, tuple(at - start for at in command.unknown if at >= start))
            yield below
            yield from _evaluated(below, depth)


def _evaluates(program: str) -> bool:
    return plays(program, "shells") or plays(program, "evaluators")


def _evaluated(command: SimpleCommand, depth: int) -> Iterator[SimpleCommand]:
    if _evaluates(command.program):
        for text in _scripts(command, joined=command.program in ("eval", "ssh", "watch")):
            for one in parse(text).commands:
                yield from _inner(one, depth + 1)


def _started_by_git(command: SimpleCommand) -> Iterator[SimpleCommand]:
    """`git bisect run …`, `git submodule foreach …`, `git rebase --exec …`, and settings whose value is a command."""
    words = command.words
    for at, word in enumerate(words):
        setting = words[at - 1] == "-c" or word.startswith("-c")
        if setting and "=" in word and len(word) <= MAX_LENGTH:
            yield from parse(word.partition("=")[2].lstrip("!")).commands
    for at, word in enumerate(words[:-1]):
        if word in ("run", "foreach", "-x", "--exec") or word.startswith("--exec="):
            if len(words) - at > MAX_WORDS or sum(map(len, words)) > MAX_SCRIPT:
                yield _anything(command)
                return
            yield SimpleCommand(words[at + 1 :], command.text)
            for text in (word.partition("=")[2], words[at + 1], " ".join(words[at + 1 :])):
                yield from parse(text).commands


def _scripts(command: SimpleCommand, *, joined: bool) -> Iterator[str]:
    arguments = [word for at, word in enumerate(command.words) if at and at not in command.unknown]
    for argument in arguments:
        if split := _SPLIT.match(argument):  # env takes a command line apart by itself
            argument = argument[split.end() :]
        if not argument.startswith("-") and len(argument) <= MAX_LENGTH:
            yield argument
    if joined and len(arguments) > 1:
        yield " ".join(arguments)[:MAX_LENGTH]
