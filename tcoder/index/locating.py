"""From a text to files and symbols: collect the evidence, order it, say why."""

from tcoder.index import ranking
from tcoder.index.evidence import Evidence, Known, collect
from tcoder.index.query import Query, parse
from tcoder.index.references import enclosing
from tcoder.index.segment import Facts
from tcoder.index.terms import split
from tcoder.protocol.location import FileHit, Symbol, SymbolHit

SYMBOL_FILES = 30
FUNCTIONS = frozenset({"function", "method"})
# compared on the tasks in tests/bench/locate: 0.4 to 0.6 are alike, 1 is worse
HOLDER_FACTOR = 0.5
TRACED = 0.3


def locate(known: Known, text: str, limit: int) -> tuple[tuple[FileHit, ...], tuple[SymbolHit, ...]]:
    """The best files and, at most twice as many, the best symbols; scores are shares of the best file's."""
    query = parse(text)
    evidence = collect(known, query)
    fitted = ranking.weights()
    first = ranking.order(evidence.features, fitted.first, ranking.CANDIDATES)
    chosen = {path for path, _ in first}
    own = {
        name: {path: value for path, value in values.items() if path in chosen}
        for name, values in evidence.features.items()
    }
    ordered = ranking.refine(own, fitted, ranking.CANDIDATES)
    top = ordered[0][1] if ordered else 1.0
    best = max((units[0].score for units in evidence.units.values() if units), default=1.0)
    files: list[FileHit] = []
    symbols: list[SymbolHit] = []
    for path, score in ordered[: max(limit, SYMBOL_FILES)]:
        facts = known.facts(path)
        files.append(FileHit(path, round(score / top, 4), reasons(path, query, evidence, facts)))
        symbols.extend(_symbols(path, score / top, best, evidence, facts))
    symbols.sort(key=lambda hit: (-hit.score, hit.path, hit.line))
    return tuple(files[:limit]), tuple(symbols[: 2 * limit])


def reasons(path: str, query: Query, evidence: Evidence, facts: Facts) -> tuple[str, ...]:
    """Why a file is where it is, in words that can be checked."""
    why: list[str] = []
    if path in evidence.frames:
        order, line = evidence.frames[path]
        why.append(f"frame {order + 1} of the trace, line {line}")
    if evidence.mentions.get(path, 0.0) > 0:
        why.append("named in the text")
    if names := evidence.defines.get(path):
        written = sorted(name for name in query.identifiers if split(name.encode())[0] in names)
        why.append("defines " + ", ".join(f"`{name}`" for name in written[:3]))
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
        why = (f"line {line} of it is in the trace",) if traced else ()
        hits.append(symbol_hit(path, symbol, round(score + TRACED * traced, 4), why))
    if line and not any(hit.why for hit in hits):
        around = enclosing(facts.symbols, line)
        if around is not None:
            hits.append(symbol_hit(path, around, round(TRACED * share, 4), (f"line {line} of it is in the trace",)))
    return hits


def symbol_hit(path: str, symbol: Symbol, score: float = 0.0, why: tuple[str, ...] = ()) -> SymbolHit:
    return SymbolHit(path, symbol.qualified, symbol.kind, symbol.line, symbol.end_line, score, why, symbol.signature)
