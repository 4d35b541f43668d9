"""When two patches or two commands are the same but for layout and comments: pure, on tokens, in milliseconds."""

import hashlib
import re
from collections.abc import Mapping
from difflib import SequenceMatcher
from pathlib import PurePosixPath

_HASH = frozenset({".py", ".pyi", ".rb", ".sh", ".bash", ".yml", ".yaml", ".toml", ".pl", ".r", ".ex", ".exs", ".cfg"})
_SLASH = frozenset(
    {
        ".js", ".jsx", ".mjs", ".cjs", ".ts", ".tsx", ".mts", ".go", ".rs", ".java", ".kt", ".c", ".h", ".cc", ".cpp",
        ".hpp", ".cs", ".swift", ".scala", ".php", ".dart", ".zig", ".css", ".scss",
    }
)  # fmt: skip
_INDENTED = frozenset({".py", ".pyi", ".yml", ".yaml"})
_STRINGS = r"\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*'"
_WORDS = r"\w+|[^\w\s]"
_TOKENS = {
    "#": re.compile(rf"#[^\n]*|{_STRINGS}|\n[ \t]*|{_WORDS}"),
    "//": re.compile(rf"//[^\n]*|/\*.*?\*/|{_STRINGS}|`(?:[^`\\]|\\.)*`|{_WORDS}", re.S),
    "": re.compile(r"\S+"),
}
_OPENING, _CLOSING = frozenset("([{"), frozenset(")]}")


def fingerprint(changes: Mapping[str, tuple[str | None, str | None]]) -> str:
    """One short text for a patch, given as path to what the file was and what it became (None = no file). Patches of
    the same base with the same fingerprint do the same; empty when nothing but layout and comments changed."""
    parts: list[str] = []
    for path in sorted(changes):
        old, new = changes[path]
        if old == new:
            continue
        if old is None or new is None:
            removed, added = ("gone",), tokens(path, new or "")
        else:
            removed, added = _difference(path, old, new)
        if removed or added:
            parts.append("\0".join((path, *removed, "\1", *added)))
    return hashlib.sha256("\2".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:24] if parts else ""


def _difference(path: str, old: str, new: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The tokens that went and came. Only what is between two lines at the left edge around a difference is looked at:
    a bracket or a text does not go beyond them."""
    before, after = old.split("\n"), new.split("\n")
    removed: list[str] = []
    added: list[str] = []
    for first, last, of, to in _regions(before, after):
        one = tokens(path, "\n".join(before[first:last]))
        other = tokens(path, "\n".join(after[of:to]))
        start, stop = _shared(one, other)
        if one != other:
            removed += ("\3", *one[start : len(one) - stop])
            added += ("\3", *other[start : len(other) - stop])
    return tuple(removed), tuple(added)


def _regions(before: list[str], after: list[str]) -> list[tuple[int, int, int, int]]:
    """Ranges of lines that differ, grown to lines at the left edge, in order and apart."""
    start, stop = _shared(before, after)
    matcher = SequenceMatcher(None, before[start : len(before) - stop], after[start : len(after) - stop])
    found: list[tuple[int, int, int, int]] = []
    for kind, first, last, of, to in matcher.get_opcodes():
        if kind == "equal":
            continue
        first, last, of, to = first + start, last + start, of + start, to + start
        while first and of and not (_is_edge(before[first]) if first < len(before) else False):
            first, of = first - 1, of - 1
        while last < len(before) and to < len(after) and not _is_edge(before[last]):
            last, to = last + 1, to + 1
        if found and first <= found[-1][1]:
            first, _, of, _ = found.pop()
        found.append((first, last, of, to))
    return found


def _is_edge(line: str) -> bool:
    return bool(line) and (line[0].isalpha() or line[0] in "_@")


def _shared(one: "list[str] | tuple[str, ...]", other: "list[str] | tuple[str, ...]") -> tuple[int, int]:
    """How many items are the same at the beginning, and of the rest at the end; at least one of `one` is left when
    anything differs."""
    most = min(len(one), len(other))
    start = 0
    while start < most and one[start] == other[start]:
        start += 1
    start = min(start, max(len(one) - 1, 0))
    stop = 0
    while stop < min(most - start, len(one) - 1 - start) and one[-1 - stop] == other[-1 - stop]:
        stop += 1
    return start, stop


def tokens(path: str, text: str) -> tuple[str, ...]:
    """The tokens of a source text without layout and comments. Indentation counts where the language says so, outside
    of brackets; one kind of quotes is as good as the other; a comma before a closing bracket is none."""
    suffix = PurePosixPath(path).suffix.lower()
    comment = "#" if suffix in _HASH else "//" if suffix in _SLASH else ""
    if not comment:
        return tuple(_TOKENS[""].findall(text))
    indented = suffix in _INDENTED
    found: list[str] = []
    depth = 0
    for token in _TOKENS[comment].findall(f"\n{text}" if comment == "#" else text):
        first = token[0]
        if first == "\n":
            if indented and not depth:
                if found and found[-1][0] == "\n":
                    found.pop()  # an empty line, or one that holds a comment alone
                found.append(token.expandtabs(8))
            continue
        if token.startswith(("#", "//", "/*")) and token.startswith(comment[0]):
            continue
        if first in _OPENING:
            depth += 1
        elif first in _CLOSING:
            depth = max(0, depth - 1)
            if found and found[-1] == ",":
                found.pop()
        if first == "'" and len(token) > 1 and '"' not in token and "\\" not in token:
            token = f'"{token[1:-1]}"'
        found.append(token)
    while found and found[-1][0] == "\n":
        found.pop()
    return tuple(found)


_NOISE = re.compile(r"\s*(?:2>&1|\|\s*(?:cat|tail(?:\s+-n?\s*\d+)?|head(?:\s+-n?\s*\d+)?)|;\s*echo\s+\S*\$\?\S*)\s*$")
_BLANKS = re.compile(r"('[^']*'|\"(?:[^\"\\]|\\.)*\"|\\.)|[ \t]+", re.S)
_MOVE = re.compile(r"^\s*cd\s+(?:\.|\"?\$PWD\"?)\s*&&\s*")


def same_command(command: str) -> str:
    """A command line without what does not change what it does: blanks between words, and what only cuts its output."""
    text = _MOVE.sub("", _BLANKS.sub(lambda found: found[1] or " ", command.strip()))
    while (shorter := _NOISE.sub("", text)) != text:
        text = shorter
    return text.strip().rstrip(";").strip()


_WAITING = re.compile(
    r"(?:^|[\s;&|(])(?:sleep|wait|curl|wget|nc|ncat|tail|pg_isready|ping|ss|lsof|watch|until|inotifywait"
    r"|docker (?:ps|logs|inspect|compose (?:ps|logs))|kubectl (?:get|rollout|logs|wait|describe)"
    r"|gh (?:run|pr) (?:watch|view|checks|list)|systemctl (?:status|is-active)|redis-cli ping)\b"
)


def waits(tool: str, command: str) -> bool:
    """Whether a call waits for something outside that may come later: it may repeat."""
    return tool == "job" or (tool == "shell" and bool(_WAITING.search(command)))
