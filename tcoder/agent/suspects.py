"""Where the cause of a failure may be: ranked from what failing and passing tests ran, stack frames, and the index."""

import re
from collections.abc import Iterable, Mapping, Sequence
from math import sqrt

from msgspec import Struct

from tcoder.agent.units import Unit
from tcoder.protocol.checks import SeenCall, TestResult, TestTrace
from tcoder.protocol.location import SymbolHit

FRAME, INNERMOST, VALUE, NAMED, INDEXED = 0.1, 0.45, 0.25, 0.25, 0.2
CONSTANT_SHARE, IMPORT_SHARE = 0.55, 0.5
HEAD_AT = 4
MAX_SUSPECTS = 12


class Suspect(Struct, frozen=True):
    """A unit that may hold the cause. `lines` are its suspicious lines, most suspicious first (empty = not known);
    `calls` are calls of it that failing tests made; scores compare within one ranking only."""

    unit: Unit
    score: float
    why: tuple[str, ...] = ()
    lines: tuple[int, ...] = ()
    calls: tuple[SeenCall, ...] = ()


def rank(
    failing: Sequence[TestResult],
    traces: Sequence[TestTrace],
    units: Mapping[str, Sequence[Unit]],
    hits: Sequence[SymbolHit] = (),
) -> tuple[Suspect, ...]:
    """The suspects, best first. `units` holds the units of every file that may matter; test files must not be among
    them. Without traces the frames and the index's hits decide."""
    bad = {test.id for test in failing}
    at_import = {path: set(lines) for trace in traces if not trace.id for path, lines in trace.lines.items()}
    traces = [trace for trace in traces if trace.id]
    spectrum = ochiai(traces, bad)
    failing_calls = [call for trace in traces if trace.id in bad for call in trace.calls]
    found: list[Suspect] = []
    for path, pieces in units.items():
        scores = spectrum.get(path, {})
        for unit in pieces:
            if unit.kind == "function":
                suspect = _judge(unit, scores, failing, failing_calls, hits)
                if suspect.score > 0:
                    found.append(suspect)
    found += _at_import(at_import, found, units)
    found += _constants(found, units, failing)
    return tuple(sorted(found, key=lambda one: (-one.score, one.unit.length, one.unit.path))[:MAX_SUSPECTS])


def ochiai(traces: Sequence[TestTrace], bad: set[str]) -> dict[str, dict[int, float]]:
    """How suspicious each line is, 0..1, by path: run by many of the failing tests and few of the passing ones."""
    failed = sum(trace.id in bad for trace in traces)
    counts: dict[tuple[str, int], list[int]] = {}
    for trace in traces:
        fails = trace.id in bad
        for path, lines in trace.lines.items():
            for line in lines:
                counts.setdefault((path, line), [0, 0])[0 if fails else 1] += 1
    scores: dict[str, dict[int, float]] = {}
    for (path, line), (in_failing, in_passing) in counts.items():
        if in_failing:
            scores.setdefault(path, {})[line] = in_failing / sqrt(failed * (in_failing + in_passing))
    return scores


def _judge(
    unit: Unit,
    scores: Mapping[int, float],
    failing: Sequence[TestResult],
    calls: Sequence[SeenCall],
    hits: Sequence[SymbolHit],
) -> Suspect:
    why: list[str] = []
    lines = {line: score for line, score in scores.items() if unit.holds(line) and line >= unit.body}
    score = max(lines.values(), default=0.0)
    if score:
        why.append(f"run by the failing tests ({score:.2f})")
    inner, on_stack = _on_stack(unit, failing)
    if inner:
        score += INNERMOST
        why.append("the error was raised in it")
    elif on_stack:
        score += FRAME
        why.append("on the stack of the error")
    for line in inner or on_stack:
        lines[line] = max(lines.values(), default=0.0) + 0.1
    own = tuple(call for call in calls if call.path == unit.path and unit.holds(call.line))
    if _gave_the_wrong_value(own, failing):
        score += VALUE
        why.append("gave the value that the test did not expect")
    if any(_is_named(unit, test) for test in failing):
        score += NAMED
        why.append("the failing test is named after it")
    if any(hit.path == unit.path and unit.holds(hit.line) for hit in hits):
        score += INDEXED
        why.append("the index finds it for the failure")
    for line, inside in unit.branches:  # a condition is as suspicious as what it let happen
        if line in lines:
            lines[line] = max([lines[line], *(lines[first] - 0.01 for first in inside if first in lines)])
    ordered = sorted(lines, key=lambda line: (-lines[line], line))
    if unit.defaults:  # a wrong default is never a line that runs in the function
        ordered.insert(HEAD_AT, unit.head)
    return Suspect(unit, score, tuple(why), tuple(ordered), own[:4])


def _on_stack(unit: Unit, failing: Sequence[TestResult]) -> tuple[list[int], list[int]]:
    """Lines of the unit on the failing tests' stacks: where the error was raised, and anywhere."""
    inner: list[int] = []
    anywhere: list[int] = []
    for test in failing:
        for at, frame in enumerate(test.frames):
            if frame.path == unit.path and unit.holds(frame.line):
                (inner if at == len(test.frames) - 1 else anywhere).append(frame.line)
    return inner, anywhere


def _gave_the_wrong_value(calls: Sequence[SeenCall], failing: Sequence[TestResult]) -> bool:
    wrong = {test.actual for test in failing if test.actual and test.actual not in ("None", "True", "False", "0", "1")}
    return any(call.result in wrong for call in calls)


def _is_named(unit: Unit, test: TestResult) -> bool:
    name = unit.name.rpartition(".")[2].strip("_").lower()
    return len(name) > 2 and name in test.id.rpartition("::")[2].lower().replace("test_", "").split("[")[0]


def _at_import(
    lines: Mapping[str, set[int]], suspects: Sequence[Suspect], units: Mapping[str, Sequence[Unit]]
) -> list[Suspect]:
    """Functions that ran while the module was imported, to make what its other functions use."""
    known = {suspect.unit for suspect in suspects}
    best = {suspect.unit.path: suspect.score for suspect in reversed(suspects)}
    found: list[Suspect] = []
    for path, pieces in units.items():
        for unit in pieces:
            ran = sorted(line for line in lines.get(path, ()) if unit.holds(line) and line >= unit.body)
            if unit.kind == "function" and ran and unit not in known and path in best:
                found.append(Suspect(unit, best[path] * IMPORT_SHARE, ("ran at import",), tuple(ran)))
    return found


def _constants(
    suspects: Iterable[Suspect], units: Mapping[str, Sequence[Unit]], failing: Sequence[TestResult]
) -> list[Suspect]:
    """Statements outside of functions run at import, which no test's trace shows: they are as suspicious as a share of
    the functions that use them. In a long one those lines come first that share words with what the tests say."""
    said = [words for test in failing[:3] if (words := _words(f"{test.id}\n{test.message}"))]
    found: list[Suspect] = []
    ranked = sorted(suspects, key=lambda one: -one.score)
    for path, pieces in units.items():
        for unit in pieces:
            if unit.kind != "statement":
                continue
            names = set(unit.name.rpartition(".")[2].split(", "))
            user = next((one for one in ranked if one.unit.path == path and names & one.unit.uses), None)
            if user:
                why = (f"{user.unit.name} uses it",)
                lines = _alike(unit, said) or (unit.line,)
                found.append(Suspect(unit, user.score * CONSTANT_SHARE, why, lines))
    return found


def _words(text: str) -> set[str]:
    return {word.lower() for word in re.findall(r"[A-Za-z]{2,}|\d+", text)}


def _alike(unit: Unit, said: Sequence[set[str]]) -> tuple[int, ...]:
    """Lines of a table, those first that share the longest beginnings of words with the failures; rare words count
    more than those that stand on many lines."""
    lines = {unit.line + at: _words(text) for at, text in enumerate(unit.text)}
    common: dict[str, int] = {}
    for words in lines.values():
        for word in words:
            common[word] = common.get(word, 0) + 1

    def score(words: set[str]) -> float:
        return max(
            (
                len(word) / common[word]
                for word in words
                for spoken in said
                if any(other.startswith(word) or word.startswith(other) for other in spoken)
            ),
            default=0.0,
        )

    scores = {line: score(words) for line, words in lines.items()}
    return tuple(sorted((line for line in lines if scores[line]), key=lambda line: (-scores[line], line)))
