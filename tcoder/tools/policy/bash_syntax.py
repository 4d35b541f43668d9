"""The policy's one door to tree-sitter: the syntax tree of a bash command line as plain values.

The index has a door of its own, for tags; the policy must not depend on the index to know what a command is. Imported
when the first command is judged, since the grammar and its package take a tenth of a second to load.
"""

import re
from functools import cache

from msgspec import Struct
from tree_sitter import Node, Parser
from tree_sitter_language_pack import get_language

from tcoder.tools.policy.commands_read import SimpleCommand

_JOINTS = frozenset({"program", "list", "pipeline"})
_SEPARATORS = frozenset({"&&", "||", ";", "|", "\n"})
_COMMANDS = frozenset({"command", "declaration_command", "unset_command", "test_command"})
_SPECIAL = frozenset("$`*?[]{}<>()&;|!")
_DUPLICATION = re.compile(r"[12]?>&[12]")
_ESCAPE = re.compile(r"\\(x[0-9a-fA-F]{1,2}|u[0-9a-fA-F]{1,4}|U[0-9a-fA-F]{1,8}|[0-7]{1,3}|c.|.)", re.DOTALL)
_NAMED_ESCAPES = {"a": "\a", "b": "\b", "e": "\x1b", "E": "\x1b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}


class Syntax(Struct, frozen=True):
    """`problem` names the first thing that is more than plain words and joints. `broken`: the tree has errors, so
    commands may be missing. `redirects` are the targets of redirections that are written plainly."""

    commands: tuple[SimpleCommand, ...]
    problem: str
    broken: bool
    redirects: tuple[str, ...]


# The grammar's scanner looks any character up in a table of 8-bit ones and reads past its end, which kills the process
# for the high ones. To bash a character beyond ASCII is part of a word and never of a name: so is this one.
_ASCII = bytes(range(128)) + b"%" * 128


@cache
def _parser() -> Parser:
    return Parser(get_language("bash"))


def read(command: str) -> Syntax:
    """The simple commands of a command line, in the order in which they stand. Never raises."""
    data = command.encode("utf-8", "surrogatepass")
    root = _parser().parse(data.translate(_ASCII)).root_node
    reader = _Reader(data)
    reader.read(root)
    broken = root.has_error
    problem = next(iter(reader.problems), "its syntax is not understood" if broken else "")
    return Syntax(tuple(reader.commands), problem, broken, tuple(reader.redirects))


class _Reader:
    """Walks the tree without recursion: a command line may be nested as deep as it is long."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self.commands: list[SimpleCommand] = []
        self.problems: list[str] = []
        self.redirects: list[str] = []

    def read(self, root: Node) -> None:
        pending = [root]
        while pending:
            node = pending.pop()
            kind = node.type
            if kind in _JOINTS:
                self._check_joints(node)
                pending.extend(reversed(node.named_children))
            elif kind in _COMMANDS:
                pending.extend(reversed(self._command(node)))
            elif kind == "redirected_statement":
                pending.extend(reversed(node.named_children))
            elif kind in ("file_redirect", "heredoc_redirect", "herestring_redirect"):
                pending.extend(reversed(self._redirect(node)))
            elif kind != "comment":
                if node.is_named and not _is_word(kind):
                    self._problem(kind)
                pending.extend(reversed(node.named_children))

    def _problem(self, kind: str) -> None:
        words = kind.replace("_", " ").lower()
        self.problems.append(f"it uses {'an' if words[0] in 'aeiou' else 'a'} {words}")

    def _check_joints(self, node: Node) -> None:
        for child in node.children:
            if not child.is_named and child.type not in _SEPARATORS:
                self.problems.append(f"it uses {child.type}")

    def _command(self, node: Node) -> list[Node]:
        """Take the words; give back what stands inside them and may hold further commands."""
        words: list[str] = []
        unknown: list[int] = []
        inside: list[Node] = []
        if node.type != "command":
            self._problem(node.type)
        for child in node.children:
            if child.type in ("file_redirect", "heredoc_redirect", "herestring_redirect"):
                inside.append(child)
                continue
            if child.type == "variable_assignment" and node.type == "command":
                self.problems.append("it sets a variable")
                inside.append(child)
                continue
            if child.type == "command_name" and child.children:
                child = child.children[0]
            word = self._plain(child) if child.is_named or child.type in ("[", "[[") else self._text(child)
            if word is None:
                self._problem(child.type if child.type not in ("word", "concatenation", "string") else "expansion")
                word = self._ansi_c(child) if child.type == "ansi_c_string" else None
                if word is None:
                    unknown.append(len(words))
                    word = self._text(child)
                inside.append(child)
            words.append(word)
        self.commands.append(SimpleCommand(tuple(words), self._text(node), tuple(unknown)))
        return inside

    def _redirect(self, node: Node) -> list[Node]:
        if _DUPLICATION.fullmatch(self._text(node).replace(" ", "")):
            return []
        self.problems.append("it redirects")
        for child in node.children_by_field_name("destination"):
            if (target := self._plain(child)) is not None:
                self.redirects.append(target)
        return [child for child in node.named_children if not _is_word(child.type) or child.named_children]

    def _plain(self, node: Node) -> str | None:
        """The value of a word that means itself, None for one that bash would expand."""
        text = self._text(node)
        match node.type:
            case "word" | "number" | "[" | "[[":
                return _unescaped(text)
            case "raw_string":
                return text[1:-1]
            case "string":
                if any(child.type not in ("string_content", '"') for child in node.children) or "!" in text:
                    return None
                return _unescaped_in_quotes(text[1:-1])
            case "concatenation":
                parts = [self._plain(child) for child in node.children]
                return None if None in parts else "".join(part or "" for part in parts)
            case _:
                return None

    def _ansi_c(self, node: Node) -> str:
        """What `$'…'` means, so that a name spelled with escapes is still found."""
        return _ESCAPE.sub(_escape, self._text(node)[2:-1])

    def _text(self, node: Node) -> str:
        return self._data[node.start_byte : node.end_byte].decode("utf-8", "replace")


def _is_word(kind: str) -> bool:
    return kind in (
        "word",
        "number",
        "raw_string",
        "string",
        "string_content",
        "concatenation",
        "ansi_c_string",
        "translated_string",
        "file_descriptor",
        "heredoc_start",
        "heredoc_end",
        "heredoc_body",
        "heredoc_content",
        "variable_name",
        "special_variable_name",
        "test_operator",
        "regex",
    )


def _unescaped(text: str) -> str | None:
    if text in ("!", "[", "[["):
        return text
    if text.startswith("~") or "=~" in text or ":~" in text:
        return None
    out: list[str] = []
    characters = iter(text)
    for character in characters:
        if character == "\\":
            following = next(characters, None)
            if following is None:
                return None
            out.append("" if following == "\n" else following)
        elif character in _SPECIAL:
            return None
        else:
            out.append(character)
    return "".join(out)


def _unescaped_in_quotes(text: str) -> str:
    return re.sub(r"\\([$`\"\\\n])", lambda found: found.group(1).strip("\n"), text)


def _escape(found: re.Match[str]) -> str:
    code = found.group(1)
    if code[0] in "xuU" and len(code) > 1:
        number = int(code[1:], 16)
        return chr(number) if number < 0x110000 else "\ufffd"
    if code[0] in "01234567":
        return chr(int(code, 8) & 0xFF)
    return _NAMED_ESCAPES.get(code, code)
