"""The second reader of command lines: it knows plain words and `&&`, `||`, `;`, `|` and line ends, and nothing else."""

import re

DUPLICATE = re.compile(r"[12]?>&[12]|[12]")
"""`2>&1` and the like: one standard stream onto the other, which opens nothing. The descriptor alone is how the other
reader names its target."""
_DUPLICATE_HERE = re.compile(r"[12]?>&[12](?=[ \t\n;|]|&&|$)")
_SEPARATOR = re.compile(r"&&|\|\||;|\|(?!&)|\n")
_SPECIAL = frozenset("$`*?[]{}<>()&;|\"'\\!\n \t")
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*(\[.*\])?\+?=")
RESERVED = frozenset({
    "if", "then", "elif", "else", "fi", "for", "in", "do", "done", "while", "until", "case", "esac", "select",
    "function", "time", "coproc", "{", "}", "!", "[[", "]]",
})  # fmt: skip


def read_plain(text: str) -> tuple[tuple[str, ...], ...] | None:
    """The words of each simple command, quotes taken away; None when anything in `text` is more than that."""
    commands: list[tuple[str, ...]] = []
    words: list[str] = []
    joint = ""
    at = 0
    while at < len(text):
        character = text[at]
        if character in " \t":
            at += 1
        elif text.startswith("\\\n", at):
            at += 2
        elif character == "#":
            end = text.find("\n", at)
            at = len(text) if end < 0 else end
        elif separator := _SEPARATOR.match(text, at):
            at = separator.end()
            if words:
                commands.append(tuple(words))
                words, joint = [], separator.group()
            elif separator.group() != "\n":
                return None
        elif words and (duplicate := _DUPLICATE_HERE.match(text, at)):
            at = duplicate.end()
        else:
            word, at = _word(text, at)
            if word is None or (not words and (word in RESERVED or word[:1] == "%" or _ASSIGNMENT.match(word))):
                return None
            words.append(word)
    if words:
        commands.append(tuple(words))
    elif joint in ("&&", "||", "|"):
        return None
    return tuple(commands)


def _word(text: str, at: int) -> tuple[str | None, int]:
    """One word that means itself and where it ends; None for one that bash would expand."""
    out: list[str] = []
    began = at
    while at < len(text):
        character = text[at]
        if character == "'":
            end = text.find("'", at + 1)
            if end < 0:
                return None, at
            out.append(text[at + 1 : end])
            at = end + 1
        elif character == '"':
            part, at = _double_quoted(text, at + 1)
            if part is None:
                return None, at
            out.append(part)
        elif character == "\\":
            following = text[at + 1 : at + 2]
            if not following:
                return None, at
            if following != "\n":
                out.append(following)
            at += 2
        elif character == "!" and at == began and text[at + 1 : at + 2] in (" ", "\t"):
            return "!", at + 1
        elif character == "~" and (at == began or text[at - 1] in "=:"):
            return None, at
        elif character in _SPECIAL:
            break
        else:
            out.append(character)
            at += 1
    stopped = text[at : at + 1]
    if at == began or stopped not in ("", " ", "\t", "\n", ";", "|", "&"):
        return None, at
    return "".join(out), at


def _double_quoted(text: str, at: int) -> tuple[str | None, int]:
    out: list[str] = []
    while at < len(text):
        character = text[at]
        if character == '"':
            return "".join(out), at + 1
        if character in "$`!":
            return None, at
        if character == "\\":
            following = text[at + 1 : at + 2]
            if following in ("$", "`", '"', "\\"):
                out.append(following)
            elif following != "\n":
                out.append(f"\\{following}")
            at += 2
            continue
        out.append(character)
        at += 1
    return None, at
