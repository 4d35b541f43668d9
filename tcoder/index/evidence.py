"""Everything that speaks for a file, as features: its text and names, its past, its neighbours."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import NamedTuple, Protocol

from tcoder.index.history import Echo, History
from tcoder.index.languages import role_of
from tcoder.index.matching import LoadedSegment, Matches, Postings, match
from tcoder.index.query import Query
from tcoder.index.references import subject
from tcoder.index.segment import Facts
from tcoder.index.terms import path_terms, split, stem_terms

BEST_UNITS = 12
UNIT_SHARES = (1.0, 0.3, 0.15, 0.1)

Scores = dict[str, float]


class Known(Protocol):
    """What is asked of an engine."""

    @property
    def store(self) -> Postings: ...
    @property
    def segments(self) -> Mapping[int, LoadedSegment]: ...
    @property
    def entries(self) -> Mapping[str, object]: ...
    @property
    def history(self) -> History: ...
    def facts(self, path: str) -> Facts: ...


class Unit(NamedTuple):
    """A scored unit of a file; unit 0 is what stands outside of its symbols."""

    score: float
    ordinal: int
    name: float


class Evidence(NamedTuple):
    """`features[name][path]` is above 0 and at most 1; a file without it is missing. The rest is for reasons."""

    features: dict[str, Scores]
    units: dict[str, list[Unit]]
    defines: dict[str, set[str]]
    mentions: Scores
    frames: dict[str, tuple[int, int]]
    echo: Echo


def scale(values: Scores) -> Scores:
    """Values as shares of the largest."""
    top = max(values.values(), default=0.0)
    return {key: value / top for key, value in values.items() if value > 0} if top > 0 else {}


def collect(known: Known, query: Query) -> Evidence:
    """Everything that is known about the files that a query may be about."""
    identifiers = {split(name.encode())[0]: name for name in query.identifiers}
    found = match(known.store, known.segments, query.terms, identifiers)
    units, whole, names = _by_file(known.segments, found)
    defines = _defines(known.segments, found)
    by_name = _paths_by_name(query, known.entries)
    mentions, frames = _mentions(query, by_name), _frames(query, by_name)
    echo = known.history.echo(query.terms)
    path, stem = _path_scores(known.entries, query)
    features = {
        "symbol": scale({file: _mix([unit.score for unit in best]) for file, best in units.items()}),
        "best": scale({file: best[0].score for file, best in units.items() if best}),
        "file": scale(whole),
        "title": scale(names),
        "defines": scale({file: sum(found.idf[term] for term in terms) for file, terms in defines.items()}),
        "path": scale(path),
        "stem": scale(stem),
        "mention": scale(mentions),
        "frame": {file: 1 / (1 + order) for file, (order, _) in frames.items()},
        "messages": scale({file: score for file, score in echo.messages.items() if file in known.entries}),
        "fixes": scale({file: score for file, score in echo.fixes.items() if file in known.entries}),
        "tests": scale(_tested(units)),
    }
    return Evidence(features, units, defines, mentions, frames, echo)


def _mix(scores: list[float]) -> float:
    return sum(share * score for share, score in zip(UNIT_SHARES, scores, strict=False))


def _by_file(segments: Mapping[int, LoadedSegment], found: Matches) -> tuple[dict[str, list[Unit]], Scores, Scores]:
    """The best units of each file, best first; the score of its whole text; that of its best name."""
    units: dict[str, list[Unit]] = {}
    whole: Scores = {}
    names: Scores = {}
    for id_, ordinals in found.chosen.items():
        segment, totals = segments[id_], found.files[id_]
        scores, named = found.units[id_], found.names[id_]
        for ordinal in ordinals:
            paths, total = segment.paths[ordinal], totals[ordinal]
            if total <= 0 or not paths:
                continue
            for path in paths:
                whole[path] = total
            first = segment.first_unit[ordinal]
            own = scores[first : segment.first_unit[ordinal + 1]]
            if not own or max(own) <= 0:
                continue
            ranked = sorted(range(len(own)), key=own.__getitem__, reverse=True)[:BEST_UNITS]
            best = [Unit(own[unit], unit, named.get(first + unit, 0.0)) for unit in ranked if own[unit] > 0]
            top = max((unit.name for unit in best), default=0.0)
            for path in paths:
                units[path] = best
                names[path] = top
    return units, whole, names


def _defines(segments: Mapping[int, LoadedSegment], found: Matches) -> dict[str, set[str]]:
    """For each file the identifiers of the text that it defines, as terms."""
    defines: defaultdict[str, set[str]] = defaultdict(set)
    for term, hits in found.named.items():
        for id_, unit in hits:
            segment = segments[id_]
            for path in segment.paths[segment.unit_content[unit]]:
                defines[path].add(term)
    return defines


def _paths_by_name(query: Query, entries: Iterable[str]) -> dict[str, list[str]]:
    """Known paths by their last part, for the last parts that the text names."""
    wanted = {path.rpartition("/")[2] for path in query.paths} | {
        frame.path.rpartition("/")[2] for frame in query.frames
    }
    by_name: defaultdict[str, list[str]] = defaultdict(list)
    for path in entries if wanted else ():
        name = path.rpartition("/")[2]
        if name in wanted:
            by_name[name].append(path)
    return by_name


def _mentions(query: Query, by_name: Mapping[str, list[str]]) -> Scores:
    mentions: Scores = {}
    for written in query.paths:
        for path, share in resolve(written, by_name):
            mentions[path] = max(mentions.get(path, 0.0), share)
    return mentions


def _frames(query: Query, by_name: Mapping[str, list[str]]) -> dict[str, tuple[int, int]]:
    """Files of the trace with the order of their innermost frame, counting ours only, and its line."""
    frames: dict[str, tuple[int, int]] = {}
    for frame in query.frames:
        resolved = resolve(frame.path, by_name)
        if resolved and resolved[0][1] >= 0.5 and resolved[0][0] not in frames:
            frames[resolved[0][0]] = (len(frames), frame.line)
    return frames


def resolve(written: str, by_name: Mapping[str, list[str]]) -> list[tuple[str, float]]:
    """Paths that a written path can mean, best first, with how sure that is: 1 for one that ends in all of it."""
    parts = written.strip("/").split("/")
    scored: list[tuple[str, float]] = []
    for path in by_name.get(parts[-1], ()):
        own = path.split("/")
        same = 0
        while same < min(len(parts), len(own)) and parts[-1 - same] == own[-1 - same]:
            same += 1
        sure = same == len(own) or same == len(parts) > 1
        scored.append((path, 1.0 if sure else 0.5 * same / len(parts)))
    scored.sort(key=lambda pair: (-pair[1], pair[0]))
    if len(scored) > 1 and scored[0][1] < 1.0:
        return [(path, share / len(scored)) for path, share in scored[:5]]
    return scored[:5]


def _path_scores(entries: Iterable[str], query: Query) -> tuple[Scores, Scores]:
    """How much of the query is in a path, and how much of a file's name is in the query; rare words count more."""
    wanted = query.terms.keys()
    hits = {path: hit for path in entries if (hit := path_terms(path) & wanted)}
    counts: defaultdict[str, int] = defaultdict(int)
    for hit in hits.values():
        for term in hit:
            counts[term] += 1
    whole: Scores = {}
    stems: Scores = {}
    for path, hit in hits.items():
        whole[path] = sum(1 / (1 + counts[term]) ** 0.5 for term in hit)
        own = stem_terms(path)
        if inside := own & hit:
            stems[path] = len(inside) / len(own) * sum(1 / (1 + counts[term]) ** 0.25 for term in inside)
    return whole, stems


def _tested(units: Mapping[str, list[Unit]]) -> Scores:
    """What test files say about the files that they are named after."""
    by_subject: defaultdict[str, float] = defaultdict(float)
    for path, best in units.items():
        if best and role_of(path) == "test":
            name = subject(path)
            by_subject[name] = max(by_subject[name], best[0].score)
    by_subject.pop("", None)
    return {
        path: by_subject[name] for path in units if (name := subject(path)) in by_subject and role_of(path) != "test"
    }
