"""From a text to files and symbols: collect the evidence, order it, say why."""

from collections import defaultdict
from collections.abc import Mapping
from typing import NamedTuple, Protocol

from tcoder.index import ranking
from tcoder.index.languages import role_of
from tcoder.index.matching import LoadedSegment, Matches, Postings, match
from tcoder.index.query import Query, parse
from tcoder.index.segment import Facts
from tcoder.index.terms import split, terms_of
from tcoder.protocol.location import FileHit, Symbol, SymbolHit

CANDIDATES = 250
BEST_UNITS = 4
UNIT_SHARES = (1.0, 0.3, 0.15, 0.1)
WEIGHTS = {
    "symbol": 1.0,
    "file": 0.5,
    "name": 0.35,
    "path": 0.2,
    "mention": 1.0,
    "frame": 1.2,
    "history": 0.5,
    "exact": 0.2,
}


class Known(Protocol):
    """What locating needs of an engine."""

    @property
    def store(self) -> Postings: ...
    @property
    def segments(self) -> Mapping[int, LoadedSegment]: ...
    @property
    def entries(self) -> Mapping[str, object]: ...
    def facts(self, path: str) -> Facts: ...


class Unit(NamedTuple):
    """A scored unit of a file; unit 0 is what stands outside of its symbols."""

    score: float
    ordinal: int


def locate(known: Known, text: str, limit: int) -> tuple[tuple[FileHit, ...], tuple[SymbolHit, ...]]:
    query = parse(text)
    identifiers = {split(name.encode())[0]: name for name in query.identifiers}
    found = match(known.store, known.segments, query.terms, identifiers)
    units, whole = _by_file(known.segments, found)
    named = _named(known.segments, found)
    mentions, frames = _mentions(query, known.entries)
    paths = _path_scores(known.entries, query, found)
    features: dict[str, dict[str, float]] = {
        "symbol": ranking.scale({path: _mix([unit.score for unit in best]) for path, best in units.items()}),
        "file": ranking.scale(whole),
        "name": ranking.scale({path: sum(found.idf[term] for term in terms) for path, terms in named.items()}),
        "path": ranking.scale(paths),
        "mention": ranking.scale(mentions),
        "frame": ranking.scale({path: 1 / (1 + order) for path, (order, _) in frames.items()}),
    }
    totals: defaultdict[str, float] = defaultdict(float)
    for name, values in features.items():
        for path, value in values.items():
            totals[path] += WEIGHTS[name] * value
    chosen = sorted(totals, key=lambda path: (-totals[path], path))[:CANDIDATES]
    candidates = [
        ranking.Candidate(
            path, role_of(path), {name: values[path] for name, values in features.items() if path in values}
        )
        for path in chosen
    ]
    ordered = ranking.order(candidates, WEIGHTS)
    top = ordered[0][0] if ordered else 1.0
    files: list[FileHit] = []
    symbols: list[SymbolHit] = []
    for score, candidate in ordered[: max(limit, 30)]:
        facts = known.facts(candidate.path)
        best = units.get(candidate.path, [])
        why = _reasons(candidate.path, named, identifiers, mentions, frames, facts, best)
        files.append(FileHit(candidate.path, round(score / top, 4), why))
        symbols.extend(_symbols(candidate.path, score / top, best, facts))
    symbols.sort(key=lambda hit: (-hit.score, hit.path, hit.line))
    return tuple(files[:limit]), tuple(symbols[: 2 * limit])


def _mix(scores: list[float]) -> float:
    return sum(share * score for share, score in zip(UNIT_SHARES, scores, strict=False))


def _by_file(segments: Mapping[int, LoadedSegment], found: Matches) -> tuple[dict[str, list[Unit]], dict[str, float]]:
    """The best units of each file, best first, and the score of its whole text."""
    units: dict[str, list[Unit]] = {}
    whole: dict[str, float] = {}
    for id_, scores in found.units.items():
        segment = segments[id_]
        for ordinal, score in enumerate(found.files[id_]):
            paths = segment.paths[ordinal]
            if score <= 0 and not paths:
                continue
            first, last = segment.first_unit[ordinal], segment.first_unit[ordinal + 1]
            best = sorted(
                ((scores[unit], unit - first) for unit in range(first, last) if scores[unit] > 0), reverse=True
            )[:BEST_UNITS]
            for path in paths:
                units[path] = [Unit(*pair) for pair in best]
                whole[path] = score
    return units, whole


def _named(segments: Mapping[int, LoadedSegment], found: Matches) -> dict[str, set[str]]:
    """For each file the identifiers of the text that it defines."""
    named: defaultdict[str, set[str]] = defaultdict(set)
    for term, hits in found.named.items():
        for id_, unit in hits:
            segment = segments[id_]
            for path in segment.paths[segment.unit_content[unit]]:
                named[path].add(term)
    return named


def _mentions(query: Query, entries: Mapping[str, object]) -> tuple[dict[str, float], dict[str, tuple[int, int]]]:
    """Files whose path the text names, and files of its frames with their order and line."""
    by_name: defaultdict[str, list[str]] = defaultdict(list)
    wanted = {path.rpartition("/")[2] for path in query.paths} | {
        frame.path.rpartition("/")[2] for frame in query.frames
    }
    for path in entries:
        name = path.rpartition("/")[2]
        if name in wanted:
            by_name[name].append(path)
    mentions: dict[str, float] = {}
    for written in query.paths:
        for path, share in _resolve(written, by_name):
            mentions[path] = max(mentions.get(path, 0.0), share)
    frames: dict[str, tuple[int, int]] = {}
    order = 0
    for frame in query.frames:
        resolved = _resolve(frame.path, by_name)
        if resolved and resolved[0][0] not in frames and resolved[0][1] >= 0.5:
            frames[resolved[0][0]] = (order, frame.line)
            order += 1
    return mentions, frames


def _resolve(written: str, by_name: Mapping[str, list[str]]) -> list[tuple[str, float]]:
    """Paths that a written path can mean, best first, with how sure that is."""
    parts = written.strip("/").split("/")
    scored: list[tuple[str, float]] = []
    for path in by_name.get(parts[-1], ()):
        own = path.split("/")
        same = 0
        while same < min(len(parts), len(own)) and parts[-1 - same] == own[-1 - same]:
            same += 1
        full = same == len(own) or same == len(parts) > 1
        scored.append((path, 1.0 if full else 0.5 * same / max(len(parts), 1)))
    scored.sort(key=lambda pair: (-pair[1], pair[0]))
    if len(scored) > 1 and scored[0][1] < 1.0:
        return [(path, share / len(scored)) for path, share in scored[:5]]
    return scored[:5]


def _path_scores(entries: Mapping[str, object], query: Query, found: Matches) -> dict[str, float]:
    scores: dict[str, float] = {}
    for path in entries:
        hit = [term for term in set(terms_of(path.rpartition(".")[0])) if term in query.terms]
        if hit:
            scores[path] = sum(found.idf.get(term, 1.0) for term in hit)
    return scores


def _reasons(
    path: str,
    named: Mapping[str, set[str]],
    identifiers: Mapping[str, str],
    mentions: Mapping[str, float],
    frames: Mapping[str, tuple[int, int]],
    facts: Facts,
    best: list[Unit],
) -> tuple[str, ...]:
    why: list[str] = []
    if path in frames:
        why.append(f"frame {frames[path][0] + 1} of the trace, line {frames[path][1]}")
    if mentions.get(path, 0.0) > 0:
        why.append("named in the text")
    if path in named:
        why.append("defines " + ", ".join(f"`{identifiers[term]}`" for term in sorted(named[path])[:3]))
    symbols = [facts.symbols[unit.ordinal - 1].qualified for unit in best[:2] if 0 < unit.ordinal <= len(facts.symbols)]
    if symbols:
        why.append("best in " + ", ".join(f"`{name}`" for name in symbols))
    return tuple(why)


def _symbols(path: str, share: float, best: list[Unit], facts: Facts) -> list[SymbolHit]:
    top = best[0].score if best else 1.0
    return [
        symbol_hit(path, facts.symbols[unit.ordinal - 1], round(share * unit.score / top, 4))
        for unit in best
        if 0 < unit.ordinal <= len(facts.symbols)
    ]


def symbol_hit(path: str, symbol: Symbol, score: float = 0.0, why: tuple[str, ...] = ()) -> SymbolHit:
    return SymbolHit(path, symbol.qualified, symbol.kind, symbol.line, symbol.end_line, score, why, symbol.signature)
