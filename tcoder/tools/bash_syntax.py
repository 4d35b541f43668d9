"""Reads a bash command line into its simple commands: the one door of the policy to tree-sitter.

Only plain words joined by `&&`, `||`, `;`, `|` and newlines are taken apart; anything else is named as what it is, so
that the policy can ask. Imported when the first command is judged, since the grammar costs some milliseconds.
"""

from functools import cache

from msgspec import Struct
from tree_sitter import Node, Parser
from tree_sitter_language_pack import get_language

MAX_LENGTH = 20_000
MAX_COMMANDS = 200
_JOINTS = frozenset({"program", "list", "pipeline"})
_PLAIN_STRING_PARTS = frozenset({"string_content", '"'})
_SPECIAL = frozenset("$`*?[]{}~!<>")


class SimpleCommand(Struct, frozen=True):
    """One command: its words after quotes are taken away, and its text as written."""

    words: tuple[str, ...]
    text: str


class Parsed(Struct, frozen=True):
    """`problem` says what is more than plain words, empty when nothing is; `commands` are those that could be read."""

    commands: tuple[SimpleCommand, ...]
    problem: str = ""


@cache
def _parser() -> Parser:
    return Parser(get_language("bash"))


def parse(command: str) -> Parsed:
    """Take a command line apart. Never raises; what it cannot vouch for is a `problem`."""
    if len(command) > MAX_LENGTH:
        return Parsed((), f"the command is longer than {MAX_LENGTH} characters")
    if any(ord(character) < 32 and character not in "\n\t" for character in command) or "\x7f" in command:
        return Parsed((), "it holds control characters")
    tree = _parser().parse(command.encode("utf-8", "surrogatepass"))
    commands: list[SimpleCommand] = []
    problems: list[str] = []
    if tree.root_node.has_error:
        problems.append("its syntax is not understood")
    _collect(tree.root_node, commands, problems)
    if len(commands) > MAX_COMMANDS:
        problems.append(f"it has more than {MAX_COMMANDS} commands")
    return Parsed(tuple(commands), problems[0] if problems else "")


def _collect(node: Node, commands: list[SimpleCommand], problems: list[str]) -> None:
    pending = [node]
    while pending:
        current = pending.pop()
        if current.type in _JOINTS:
            for child in reversed(current.children):
                if child.is_named:
                    pending.append(child)
                elif child.type not in ("&&", "||", ";", "|", "\n"):
                    problems.append(f"it uses {child.type}")
        elif current.type == "command":
            _collect_command(current, commands, problems)
        elif current.type != "comment":
            problems.append(f"it uses a {current.type.replace('_', ' ')}")
            pending.extend(reversed([child for child in current.children if child.is_named]))


def _collect_command(node: Node, commands: list[SimpleCommand], problems: list[str]) -> None:
    words: list[str] = []
    for child in node.children:
        if child.type == "command_name":
            child = child.children[0] if child.children else child
        word = _plain(child)
        if word is None:
            problems.append(f"it uses a {child.type.replace('_', ' ')}")
            word = _text(child)
        words.append(word)
    commands.append(SimpleCommand(tuple(words), _text(node)))


def _plain(node: Node) -> str | None:
    """The value of a word that means itself, None for one that bash would expand."""
    text = _text(node)
    match node.type:
        case "word" | "number":
            if "\\" in text or any(character in _SPECIAL for character in text):
                return None
            return text
        case "raw_string":
            return text[1:-1]
        case "string":
            if any(child.type not in _PLAIN_STRING_PARTS for child in node.children) or "\\" in text or "!" in text:
                return None
            return text[1:-1]
        case "concatenation":
            parts = [_plain(child) for child in node.children]
            return None if None in parts else "".join(part or "" for part in parts)
        case _:
            return None


def _text(node: Node) -> str:
    return (node.text or b"").decode("utf-8", "replace")
