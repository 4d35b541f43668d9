"""BM25 over definitions: which symbols and files a text is about. Pure.

A definition is a document of its name (five times), its parents' names (twice), its path and its body; a file counts as
its best definition and a share of the next three. A traceback's frames and names written out stand above all.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from math import log

from msgspec import Struct

from tcoder.index.grammars import Symbol
from tcoder.index.words import words
from tcoder.protocol.location import FileHit, SymbolHit

K1, B = 1.2, 0.6
NEXT_SHARES = (0.3, 0.15, 0.1)
NAMED_BONUS = 6.0
FRAME_BONUS = 12.0
_FRAME = re.compile(r"(?:File \"|^|[\s(\"'])([\w./\\-]+\.\w{1,5})(?:\", line |:)(\d+)")
_TEST = re.compile(
    r"(^|/)(tests?|testing|__tests__|spec|specs)(/|$)|(^|/)(test_[^/]+|[^/]+[._](test|spec)\.\w+|conftest\.py)$"
)


class Document(Struct, frozen=True):
    """A definition, or a file's text outside of any (`symbol` None), with its words."""

    path: str
    symbol: Symbol | None
    counts: dict[str, int]
    length: int


def is_test(path: str) -> bool:
    """Whether a file holds tests, by its name."""
    return bool(_TEST.search(path))


def documents_of(path: str, text: str, symbols: Sequence[Symbol]) -> list[Document]:
    """One document a definition; a file without definitions is one document."""
    if not symbols:
        return [_document(path, None, words(text[:200_000]) + 3 * words(path))]
    lines = text.split("\n")
    made: list[Document] = []
    for symbol in symbols:
        body = "\n".join(lines[symbol.line - 1 : min(symbol.end_line, symbol.line + 120)])
        parent, _, name = symbol.name.rpartition(".")
        made.append(_document(path, symbol, 5 * words(name) + 2 * words(parent) + words(path) + words(body)))
    return made


def _document(path: str, symbol: Symbol | None, found: list[str]) -> Document:
    return Document(path, symbol, dict(Counter(found)), len(found))


def rank(text: str, documents: Sequence[Document], limit: int) -> tuple[tuple[FileHit, ...], tuple[SymbolHit, ...]]:
    """Files and definitions that a text concerns, best first, with reasons."""
    query = Counter(words(text))
    scores = _bm25(query, documents)
    frames = {(path, int(line)) for path, line in _FRAME.findall(text)}
    named = set(re.findall(r"[A-Za-z_]\w{3,}", text))
    scored: list[tuple[float, Document, tuple[str, ...]]] = []
    for document, (score, best) in zip(documents, scores, strict=True):
        why = [f"about {', '.join(best)}"] if best else []
        bonus = _bonus(document, frames, named, why)
        if is_test(document.path):
            score *= 0.3
        if score + bonus > 0:
            scored.append((score + bonus, document, tuple(why)))
    scored.sort(key=lambda item: (-item[0], item[1].path, item[1].symbol.line if item[1].symbol else 0))
    return _files(scored, limit), _symbols(scored, limit)


def _bonus(document: Document, frames: set[tuple[str, int]], named: set[str], why: list[str]) -> float:
    symbol = document.symbol
    bonus = 0.0
    for path, line in frames:
        if document.path.endswith(path.lstrip("./")) or path.endswith(f"/{document.path}"):
            if symbol is None or symbol.line <= line <= symbol.end_line:
                bonus = FRAME_BONUS * (0.3 if is_test(document.path) else 1)
                why.insert(0, f"line {line} of it is in the traceback")
                break
    if symbol is not None and (name := symbol.name.rpartition(".")[2]) in named and not is_test(document.path):
        bonus += NAMED_BONUS
        why.insert(0, f"defines `{name}`")
    return bonus


def _bm25(query: Counter[str], documents: Sequence[Document]) -> list[tuple[float, tuple[str, ...]]]:
    total = len(documents) or 1
    average = sum(document.length for document in documents) / total or 1.0
    holding = Counter(word for document in documents for word in query if word in document.counts)
    weights = {word: log(1 + (total - count + 0.5) / (count + 0.5)) for word, count in holding.items()}
    results: list[tuple[float, tuple[str, ...]]] = []
    for document in documents:
        norm = K1 * (1 - B + B * document.length / average)
        parts = [
            (weight * min(query[word], 3) * (count * (K1 + 1)) / (count + norm), word)
            for word, weight in weights.items()
            if (count := document.counts.get(word))
        ]
        parts.sort(reverse=True)
        results.append((sum(score for score, _ in parts), tuple(word for _, word in parts[:3])))
    return results


def _files(scored: Iterable[tuple[float, Document, tuple[str, ...]]], limit: int) -> tuple[FileHit, ...]:
    by_file: dict[str, list[tuple[float, tuple[str, ...]]]] = {}
    for score, document, why in scored:
        by_file.setdefault(document.path, []).append((score, why))
    hits = [
        FileHit(
            path,
            round(best[0][0] + sum(s * share for (s, _), share in zip(best[1:], NEXT_SHARES, strict=False)), 3),
            best[0][1],
        )
        for path, best in by_file.items()
    ]
    return tuple(sorted(hits, key=lambda hit: (-hit.score, hit.path))[:limit])


def _symbols(scored: Iterable[tuple[float, Document, tuple[str, ...]]], limit: int) -> tuple[SymbolHit, ...]:
    hits = [
        SymbolHit(s.path, s.name, s.kind, s.line, s.end_line, score=round(score, 3), why=why, signature=s.signature)
        for score, document, why in scored
        if (s := document.symbol) is not None
    ]
    return tuple(hits[:limit])
