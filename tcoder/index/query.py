"""What a text says about where to look: terms with weights, identifiers, paths, frames of a trace. Pure and linear."""

import re
from collections import Counter, defaultdict
from typing import NamedTuple

from tcoder.index.terms import WORD, meaningful, split, terms_of

MAX_TEXT = 200_000
# shares of a term's weight by where it stands, and what a repetition adds
TITLE_SHARE = 2.0
CODE_SHARE = 0.25
SATURATION = 0.25

_IDENTIFIER = re.compile(r"[A-Za-z_]\w{2,60}(?:(?:\.|::|#|->)[A-Za-z_]\w{0,60}){0,6}")
_PATH = re.compile(r"(?:[\w.@+-]{1,80}/){0,12}[\w.@+-]{1,80}\.[A-Za-z]\w{0,6}\b")
_FRAME = re.compile(
    r'File "(?P<py>[^"\n]{1,300})", line (?P<pyline>\d{1,7})(?:, in (?P<pyname>[\w.<>]{1,100}))?'
    r"|\bat (?:async )?(?:(?P<jsname>[\w.$<>\[\] ]{1,100}) )?"
    r"\(?(?P<js>[\w./@+\\-]{1,200}\.[cm]?[jt]sx?):(?P<jsline>\d{1,7})"
    r"|\bat (?P<javaname>[\w.$]{1,200})\((?P<java>\w{1,80}\.(?:java|kt|scala)):(?P<javaline>\d{1,7})\)"
    r"|(?P<any>[\w./@+-]{1,200}\.\w{1,6}):(?P<anyline>\d{1,7})\b"
)
_CODE_BLOCK = re.compile(r"```[^\n]{0,40}\n(.{0,8000}?)```", re.DOTALL)
_NOISE = re.compile(
    r"^ {0,3}[-*+] \[[ xX]\][^\n]*$|<!--.{0,2000}?-->|https?://[^\s)>\]]{1,500}", re.MULTILINE | re.DOTALL
)
_INLINE_CODE = re.compile(r"`([^`\n]{1,120})`")
# what stands before the title itself, where a title that shares its line with the rest ends, and a sentence
_LABEL = re.compile(r"\W*(?:(?:issue|bug|feature) )?(?:title|summary|subject)\b\W*", re.IGNORECASE)
_REST = re.compile(r"\W{0,4}\b(?:description|summary|problem|current behaviou?r)\b", re.IGNORECASE)
_SENTENCE = re.compile(r"[.!?] ")
TITLE_CHARS, LINE_CHARS = 160, 260


class FrameMention(NamedTuple):
    """A frame of a trace as it is written; `order` counts from the innermost = 0."""

    path: str
    line: int
    name: str
    order: int


class Query(NamedTuple):
    """`terms` weigh 1 and more; `identifiers` look like code, as written, without what they are members of;
    `paths` look like files; `frames` are innermost first. `title` and `coded` are the terms that the title has, and
    those of identifiers and of what is marked as code within a sentence."""

    terms: dict[str, float]
    identifiers: dict[str, float]
    paths: tuple[str, ...]
    frames: tuple[FrameMention, ...]
    title: frozenset[str] = frozenset()
    coded: frozenset[str] = frozenset()


def parse(text: str) -> Query:
    """Read a task, an issue, a trace or a log. Only the head and the tail of a very long text are read."""
    if len(text) > MAX_TEXT:
        text = text[: MAX_TEXT // 2] + "\n" + text[-MAX_TEXT // 2 :]
    prose, code = _parts(text)
    title = title_of(prose)
    counts: defaultdict[str, float] = defaultdict(float)
    for part, share in ((title, TITLE_SHARE), (prose, 1.0), (code, CODE_SHARE)):
        for word, count in Counter(WORD.findall(part.encode("utf-8", "replace"))).items():
            for term in split(word):
                counts[term] += count * share
    terms = {term: weight(counts[term]) for term in meaningful(counts)}
    identifiers = _identifiers(text)
    quoted = " ".join(_INLINE_CODE.findall(text))
    return Query(
        terms,
        identifiers,
        _paths(text),
        _frames(text),
        frozenset(terms_of(title)) & terms.keys(),
        frozenset(terms_of(f"{' '.join(identifiers)} {quoted}")) & terms.keys(),
    )


def title_of(text: str) -> str:
    """The first line that says something, without marks and a label; of a very long one what comes before the rest."""
    for line in text.replace("\\n", "\n").splitlines():
        title = _LABEL.sub("", line.strip(" #*_\t"), count=1) if _LABEL.match(line[:LINE_CHARS]) else line
        title = title.strip(" #*_:\t")
        if not title:
            continue
        if len(title) <= TITLE_CHARS:
            return title
        head = title[:LINE_CHARS]
        rest = _REST.search(head, 15)
        end = _SENTENCE.search(head)
        return head[: rest.start()] if rest else head[: end.end()] if end else head[:TITLE_CHARS]
    return ""


def weight(count: float) -> float:
    """How much a term counts that stands in a text this often."""
    return min(count, 1.0) + SATURATION * min(max(count - 1.0, 0.0), 7.0)


def _parts(text: str) -> tuple[str, str]:
    """Prose and code blocks; what forms ask for and links say is left out."""
    code = "\n".join(_CODE_BLOCK.findall(text))
    prose = _CODE_BLOCK.sub("\n", text)
    return _NOISE.sub("\n", prose), code


def _identifiers(text: str) -> dict[str, float]:
    found: dict[str, float] = {}
    quoted = {word for code in _INLINE_CODE.findall(text) for word in re.findall(r"\w+", code)}
    for dotted in _IDENTIFIER.findall(text):
        for word in re.split(r"\W+", dotted):
            if len(word) > 2 and (word in quoted or _looks_like_code(word)):
                found[word] = found.get(word, 0.0) + 1.0
    return found


def _looks_like_code(word: str) -> bool:
    return "_" in word.strip("_") or (word[1:] != word[1:].lower() and not word.isupper()) or word.startswith("__")


def _paths(text: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(path for path in _PATH.findall(text)))[:200]


def _frames(text: str) -> tuple[FrameMention, ...]:
    found: list[tuple[str, int, str]] = []
    innermost_last = 'File "' in text
    for match in _FRAME.finditer(text):
        for kind in ("py", "js", "java", "any"):
            if path := match[kind]:
                name = match[f"{kind}name"] if kind != "any" else ""
                if kind == "java" and name:
                    package = name.rpartition(".")[0].rpartition(".")[0].replace(".", "/")
                    path = f"{package}/{path}" if package else path
                found.append((path.replace("\\", "/"), int(match[f"{kind}line"]), (name or "").rpartition(".")[2]))
    found = found[-400:] if innermost_last else found[:400]
    if innermost_last:
        found.reverse()
    return tuple(FrameMention(*frame, order) for order, frame in enumerate(found))
