"""Everything that speaks for a file, as features: its text and names, its past, its neighbours."""

from collections import defaultdict
from collections.abc import Mapping
from typing import NamedTuple, Protocol

from tcoder.index.history import Echo, History
from tcoder.index.languages import role_of
from tcoder.index.matching import LoadedSegment, Matches, Part, Postings, match
from tcoder.index.pathwords import PathWords
from tcoder.index.query import Query
from tcoder.index.references import subject
from tcoder.index.segment import Facts
from tcoder.index.terms import split

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
    @property
    def path_words(self) -> PathWords: ...
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
    found = match(known.store, known.segments, query.terms, identifiers, (query.title, query.coded))
    units, whole, names = _by_file(known.segments, found)
    defines = _defines(known.segments, found)
    by_name = _paths_by_name(query, known.path_words)
    mentions, frames = _mentions(query, by_name), _frames(query, by_name)
    echo = known.history.echo(query.terms)
    path, stem = known.path_words.scores(query.terms.keys())
    features = {
        "symbol": scale({file: _mix([unit.score for unit in best]) for file, best in units.items()}),
        "best": scale({file: best[0].score for file, best in units.items() if best}),
        "file": scale(whole),
        "name": scale(names),
        "defines": scale({file: sum(found.idf[term] for term in terms) for file, terms in defines.items()}),
        "path": scale(path),
        "stem": scale(stem),
        "mention": scale(mentions),
        "frame": {file: 1 / (1 + order) for file, (order, _) in frames.items()},
        "messages": scale({file: score for file, score in echo.messages.items() if file in known.entries}),
        "fixes": scale({file: score for file, score in echo.fixes.items() if file in known.entries}),
        "tests": scale(_tested(units)),
        **_of_part("title", known.segments, found, found.parts[0]),
        **_of_part("coded", known.segments, found, found.parts[1]),
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
            scored = [(score, -unit) for unit, score in enumerate(own) if score > 0]
            if not scored:
                continue
            scored.sort(reverse=True)
            best = [Unit(score, -unit, named.get(first - unit, 0.0)) for score, unit in scored[:BEST_UNITS]]
            top = max((unit.name for unit in best), default=0.0)
            for path in paths:
                units[path] = best
                names[path] = top
    return units, whole, names


def _of_part(name: str, segments: Mapping[int, LoadedSegment], found: Matches, part: Part) -> dict[str, Scores]:
    """The features of files by a part of the terms alone, as for all of them: its best symbols, the best of these,
    the whole text, the best name."""
    symbol: Scores = {}
    best: Scores = {}
    whole: Scores = {}
    names: Scores = {}
    for id_ in found.chosen:
        segment, named = segments[id_], part.names[id_]
        contents = segment.unit_content
        scores: defaultdict[int, list[float]] = defaultdict(list)
        for unit, score in part.units[id_].items():
            scores[contents[unit]].append(score)
        top: dict[int, float] = {}
        for unit, score in named.items():
            top[contents[unit]] = max(top.get(contents[unit], 0.0), score)
        for ordinal, total in part.files[id_].items():
            own = sorted(scores.get(ordinal, ()), reverse=True)[: len(UNIT_SHARES)]
            for path in segment.paths[ordinal]:
                whole[path] = total
                if own:
                    symbol[path], best[path], names[path] = _mix(own), own[0], top.get(ordinal, 0.0)
    features = {"symbol": symbol, "best": best, "file": whole, "name": names}
    return {f"{name} {kind}": scale(values) for kind, values in features.items()}


def _defines(segments: Mapping[int, LoadedSegment], found: Matches) -> dict[str, set[str]]:
    """For each file the identifiers of the text that it defines, as terms."""
    defines: defaultdict[str, set[str]] = defaultdict(set)
    for term, hits in found.named.items():
        for id_, unit in hits:
            segment = segments[id_]
            for path in segment.paths[segment.unit_content[unit]]:
                defines[path].add(term)
    return defines


def _paths_by_name(query: Query, words: PathWords) -> dict[str, list[str]]:
    """Known paths by their last part, for the last parts that the text names."""
    wanted = {path.rpartition("/")[2] for path in query.paths} | {
        frame.path.rpartition("/")[2] for frame in query.frames
    }
    return {name: words.named(name) for name in sorted(wanted)}


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
