"""Which commands are known to destroy work: the list of `commands_destructive.toml`, held against a command.

A convenience for people, not a boundary: what it does not recognise is undone by the checkpoint that stands before
each command, or held by the sandbox.
"""

import re
import tomllib
from fnmatch import fnmatchcase
from functools import cache, lru_cache
from importlib import resources

import msgspec
from msgspec import Struct

from tcoder.tools.policy.commands import started_by
from tcoder.tools.policy.commands_programs import plays
from tcoder.tools.policy.commands_read import ParsedCommand, SimpleCommand

Row = tuple[str, ...]
_GIT_VALUED = frozenset(
    {"-C", "-c", "--git-dir", "--work-tree", "--namespace", "--exec-path", "--config-env", "--super-prefix"}
)
_QUOTES = re.compile(r"""['"\\,()\[\]]+""")
# For what no syntax tree shows: here-documents, `python -c`, programs in other languages. Bounded, so that no text
# makes them slow.
_IN_TEXT = re.compile(
    r"\bgit\b[^\n;|&]{0,80}?\s(?P<git>reset\s[^\n;|&]{0,80}?--h|reset\s[^\n;|&]{0,80}?--merge|clean\s[^\n;|&]{0,80}?-\w*[fdxX]"
    r"|stash\s+(drop|clear|pop)|checkout\s+(-f|--|\.)|restore\s|push\s|branch\s[^\n;|&]{0,80}?-D|rebase\s)"
    r"|\brm\s[^\n;|&]{0,80}?-\w*[rR]|\brmtree\s|\brm(dir)?Sync\b|\bmkfs"
)


class _Listed(Struct, frozen=True, forbid_unknown_fields=True):
    git: dict[str, tuple[Row, ...]]
    commands: dict[str, tuple[Row, ...]]


@cache
def _listed() -> _Listed:
    text = resources.files("tcoder.tools.policy").joinpath("commands_destructive.toml").read_text(encoding="utf-8")
    return msgspec.convert(tomllib.loads(text), _Listed)


@lru_cache(maxsize=1024)
def destroys(command: SimpleCommand) -> str:
    """The words by which a command, or one that it starts, is known to destroy work; else empty."""
    for one in started_by(command):
        if found := _known(one):
            return found
        if plays(one.program, "interpreters") and (found := destroys_in_text(" ".join(one.words))):
            return found
    return ""


def destroys_anywhere(parsed: ParsedCommand, text: str) -> str:
    """The same for a whole command line, of which not everything may be plain."""
    for command in parsed.commands:
        if found := destroys(command):
            return found
    hidden = parsed.opaque or any(_reads_programs(command) for command in parsed.commands)
    return destroys_in_text(text) if hidden else ""


def _reads_programs(command: SimpleCommand) -> bool:
    """Whether a command may take a program's text from its input, such as a here-document."""
    return any(
        plays(one.program, role) for one in started_by(command) for role in ("shells", "interpreters", "evaluators")
    )


def destroys_in_text(text: str) -> str:
    found = _IN_TEXT.search(_QUOTES.sub(" ", text))
    return " ".join(found.group().split()) if found else ""


def _known(command: SimpleCommand) -> str:
    program = command.program
    arguments = command.words[1:]
    if program == "git":
        return _known_git(command)
    if program == "rm" and (what := _vague_target(command)):
        return what
    if program == "find" and (what := _found_and_removed(arguments)):
        return what
    for name, rows in _listed().commands.items():
        if fnmatchcase(program, name):
            return _fits(rows, arguments, program)
    return ""


def _known_git(command: SimpleCommand) -> str:
    arguments = list(command.words[1:])
    while arguments and arguments[0].startswith("-"):
        option = arguments.pop(0)
        if option in _GIT_VALUED and arguments:
            arguments.pop(0)
    if not arguments:
        return ""
    rows = _listed().git.get(arguments[0], ())
    return _fits(rows, tuple(arguments[1:]), f"git {arguments[0]}")


def _fits(rows: tuple[Row, ...], arguments: tuple[str, ...], name: str) -> str:
    for row in rows:
        if all(_holds(pattern, arguments) for pattern in row):
            shown = [argument for argument in arguments if any(fnmatchcase(argument, pattern) for pattern in row)]
            return " ".join((name, *shown))
    return ""


def _holds(pattern: str, arguments: tuple[str, ...]) -> bool:
    if pattern.startswith("!"):
        return not any(_fits_option(argument, pattern[1:]) for argument in arguments)
    return any(_fits_option(argument, pattern) for argument in arguments)


def _fits_option(argument: str, pattern: str) -> bool:
    """`-*f*` is about clusters of short options, never about long ones."""
    if pattern.startswith("-") and not pattern.startswith("--") and argument.startswith("--"):
        return False
    return fnmatchcase(argument, pattern)


def _vague_target(command: SimpleCommand) -> str:
    """What `rm` removes when nobody can read it off the command: patterns, variables, the root, the home."""
    for at, word in enumerate(command.words[1:], 1):
        if at in command.unknown or word in ("/", ".", "..", "*", "~"):
            return f"rm {word}"
    return ""


def _found_and_removed(arguments: tuple[str, ...]) -> str:
    for at, word in enumerate(arguments):
        if word in ("-exec", "-execdir", "-ok", "-okdir"):
            rest = tuple(arguments[at + 1 :])
            if rest and (found := destroys(SimpleCommand(rest, "")) or ("rm" if rest[0] == "rm" else "")):
                return f"find {word} {found}"
    return ""
