"""From a text to files and symbols: collect the evidence, order it, say why."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from tcoder.index import ranking
from tcoder.index.evidence import Evidence, Known, collect, scale
from tcoder.index.neighbours import neighbours
from tcoder.index.query import Query, parse
from tcoder.index.references import enclosing
from tcoder.index.segment import Facts
from tcoder.protocol.location import FileHit, Symbol, SymbolHit

SYMBOL_FILES = 30
FUNCTIONS = frozenset({"function", "method"})
# compared on the tasks in tests/bench/locate: 0.4 to 0.6 are alike, 1 is worse
HOLDER_FACTOR = 0.5
TRACED = 0.3
# files that are looked into for definitions, and companions of the best files that are considered
LOOKED_INTO = 48
COMPANIONS = 20


class Candidates(NamedTuple):
    """The files that are worth ordering: their features, by name and path, and for each the identifiers of the text
    that it defines, as they are written."""

    evidence: Evidence
    features: dict[str, dict[str, float]]
    defined: dict[str, list[str]]


def candidates(known: Known, query: Query) -> Candidates:
    """The best files by the first order and those that are changed with the best of them, with all features."""
    evidence = collect(known, query)
    first = ranking.order(evidence.features, ranking.weights().first, ranking.CANDIDATES)
    near = neighbours(first, known.history)
    together = {path: value for path, value in near["together"].items() if path in known.entries}
    chosen = {path for path, _ in first} | set(sorted(together, key=lambda path: (-together[path], path))[:COMPANIONS])
    defined = _defined(known, query, evidence, [path for path, _ in first])
    bearers = Counter(name for names in defined.values() for name in names)
    exact = {path: sum(1 / bearers[name] for name in names) for path, names in defined.items()}
    features = evidence.features | near | {"together": scale(together), "exact": scale(exact)}
    features["folder"] = scale(near["folder"])
    own = {name: {path: value for path, value in values.items() if path in chosen} for name, values in features.items()}
    return Candidates(evidence, own, defined)


def _defined(known: Known, query: Query, evidence: Evidence, paths: Iterable[str]) -> dict[str, list[str]]:
    """For the best files of which a symbol's name has an identifier of the text: the identifiers that are such a name,
    sorted."""
    likely = [path for path in paths if path in evidence.defines][:LOOKED_INTO]
    found = {
        path: sorted({symbol.name for symbol in known.facts(path).symbols if symbol.name in query.identifiers})
        for path in likely
    }
    return {path: names for path, names in found.items() if names}


def locate(known: Known, text: str, limit: int) -> tuple[tuple[FileHit, ...], tuple[SymbolHit, ...]]:
    """The best files and, at most twice as many, the best symbols; scores are shares of the best file's."""
    query = parse(text)
    evidence, features, defined = candidates(known, query)
    ordered = ranking.refine(features, ranking.weights(), ranking.CANDIDATES)
    top = ordered[0][1] if ordered else 1.0
    best = max((units[0].score for units in evidence.units.values() if units), default=1.0)
    files: list[FileHit] = []
    symbols: list[SymbolHit] = []
    for path, score in ordered[: max(limit, SYMBOL_FILES)]:
        facts = known.facts(path)
        files.append(FileHit(path, round(score / top, 4), reasons(path, evidence, facts, defined.get(path, ()))))
        symbols.extend(_symbols(path, score / top, best, evidence, facts))
    symbols.sort(key=lambda hit: (-hit.score, hit.path, hit.line))
    return tuple(files[:limit]), tuple(symbols[: 2 * limit])


def reasons(path: str, evidence: Evidence, facts: Facts, defined: Sequence[str]) -> tuple[str, ...]:
    """Why a file is where it is, in words that can be checked; `defined` are names of the text that it defines."""
    why: list[str] = []
    if path in evidence.frames:
        order, line = evidence.frames[path]
        why.append(f"frame {order + 1} of the traceback, line {line}")
    if evidence.mentions.get(path, 0.0) > 0:
        why.append("named in the text")
    if defined:
        why.append("defines " + ", ".join(f"`{name}`" for name in defined[:3]))
    best = [
        facts.symbols[unit.ordinal - 1].qualified
        for unit in evidence.units.get(path, ())[:2]
        if 0 < unit.ordinal <= len(facts.symbols)
    ]
    if best:
        why.append("best in " + ", ".join(f"`{name}`" for name in best))
    similar = [found for found in evidence.echo.similar[:20] if path in found.commit.files and found.score > 0.3]
    if similar:
        count = f"{len(similar)} similar commits" if len(similar) > 1 else "a similar commit"
        why.append(f"changed by {count}: {similar[0].commit.subject[:70]}")
    return tuple(why)


def _symbols(path: str, share: float, top: float, evidence: Evidence, facts: Facts) -> list[SymbolHit]:
    """The file's best symbols: how good the file is times how good the symbol is. Changes are made to functions rather
    than to what holds them; a symbol that is in the trace comes first."""
    hits: list[SymbolHit] = []
    _, line = evidence.frames.get(path, (0, 0))
    for unit in evidence.units.get(path, ()):
        if not 0 < unit.ordinal <= len(facts.symbols):
            continue
        symbol = facts.symbols[unit.ordinal - 1]
        score = share * unit.score / top * (1.0 if symbol.kind in FUNCTIONS else HOLDER_FACTOR)
        traced = symbol.kind in FUNCTIONS and symbol.line <= line <= symbol.end_line
        why = (f"line {line} of it is in the traceback",) if traced else ()
        hits.append(symbol_hit(path, symbol, round(score + TRACED * traced, 4), why))
    if line and not any(hit.why for hit in hits):
        around = enclosing(facts.symbols, line)
        if around is not None:
            hits.append(symbol_hit(path, around, round(TRACED * share, 4), (f"line {line} of it is in the traceback",)))
    return hits


def symbol_hit(path: str, symbol: Symbol, score: float = 0.0, why: tuple[str, ...] = ()) -> SymbolHit:
    return SymbolHit(path, symbol.qualified, symbol.kind, symbol.line, symbol.end_line, score, why, symbol.signature)
