"""A bash command line as values: its simple commands, and what in it is more than plain words.

Two readers must agree before a command line counts as plain: the syntax tree of `bash_syntax`, which names what it
finds, and the strict little lexer of `commands_plain`, which knows nothing but plain words. What only one of them
accepts asks.
"""

import re
from collections.abc import Iterator
from functools import lru_cache

from tcoder.tools.commands_plain import DUPLICATE, read_plain
from tcoder.tools.commands_programs import plays
from tcoder.tools.commands_read import ParsedCommand, SimpleCommand

MAX_LENGTH = 32_768
"""Characters that are parsed; a longer line is over the budget."""
MAX_COMMANDS = 256
MAX_DEPTH = 4
"""How deep `bash -c 'bash -c …'` is followed."""

_QUOTED = re.compile(r"'[^']*'|\"(?:[^\"\\]|\\.)*\"", re.DOTALL)
# An escaped letter, or a line that goes on in the middle of a word: what trees read in another way than bash.
_ODD_ESCAPE = re.compile(r"\\[\w#~]|\S\\\n")
_FOREIGN_BLANK = re.compile(r"[^\S \t\n]|[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")


@lru_cache(maxsize=64)
def parse(command: str) -> ParsedCommand:
    """Take a command line apart. Never raises; what it cannot vouch for is a `problem`."""
    if len(command) > MAX_LENGTH:
        return ParsedCommand((), f"it is longer than {MAX_LENGTH} characters", opaque=True, over_budget=True)
    from tcoder.tools.bash_syntax import read  # late: the parser costs 0.1 s and the first command alone needs it

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
    unread = found.broken or any(0 in one.unknown for one in commands) or _ODD_ESCAPE.search(_QUOTED.sub("''", command))
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
    words tell: only for judging what to refuse."""
    return tuple(dict.fromkeys(_inner(command, 0)))


def _inner(command: SimpleCommand, depth: int) -> Iterator[SimpleCommand]:
    yield command
    if depth >= MAX_DEPTH:
        return
    program = command.program
    if plays(program, "shells") or plays(program, "evaluators"):
        for text in _scripts(command, joined=program in ("eval", "ssh", "watch")):
            for one in parse(text).commands:
                yield from _inner(one, depth + 1)
    if plays(program, "wrappers"):
        for start in range(1, len(command.words)):
            words = command.words[start:]
            if not words[0].startswith("-"):
                unknown = tuple(at - start for at in command.unknown if at >= start)
                below = SimpleCommand(words, command.text, unknown)
                yield below
                if plays(below.program, "shells") or plays(below.program, "evaluators"):
                    yield from _inner(below, depth + 1)


def _scripts(command: SimpleCommand, *, joined: bool) -> Iterator[str]:
    arguments = [word for at, word in enumerate(command.words) if at and at not in command.unknown]
    for argument in arguments:
        if not argument.startswith("-") and len(argument) <= MAX_LENGTH:
            yield argument
    if joined and len(arguments) > 1:
        yield " ".join(arguments)[:MAX_LENGTH]
