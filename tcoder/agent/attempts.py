"""What was tried: nothing equivalent twice, the best is known, and a model can be told in a few words."""

import ast
import difflib
import re
from collections.abc import Sequence

from tcoder.protocol.attempt import Attempt, AttemptVerdict
from tcoder.protocol.checks import CheckReport, TestResult

TOLD = 6


def normal_form(source: str, path: str = "x.py") -> str:
    """What stays the same when only layout and comments differ: of Python the syntax tree, of anything else the text
    without white space. Empty for Python that does not parse."""
    if path.endswith((".py", ".pyi")):
        try:
            return ast.dump(ast.parse(source))
        except (SyntaxError, ValueError, RecursionError):
            return ""
    return re.sub(r"\s+", " ", source).strip()


class Tried:
    """The states of files that were tried in one turn, the ones they began with included."""

    def __init__(self) -> None:
        self._seen: set[tuple[str, int]] = set()

    def is_new(self, path: str, source: str) -> bool:
        """Whether no equivalent of this text was there before; from now on one was."""
        key = (path, hash(normal_form(source, path)))
        if key in self._seen:
            return False
        self._seen.add(key)
        return True


def unified(path: str, old: str, new: str) -> str:
    """A unified diff of one file, with git's prefixes."""
    lines = difflib.unified_diff(
        old.splitlines(keepends=True), new.splitlines(keepends=True), f"a/{path}", f"b/{path}", n=3
    )
    return "".join(line if line.endswith("\n") else line + "\n\\ No newline at end of file\n" for line in lines)


_VALUES = re.compile(r"0x[0-9a-f]+|\d+|'[^']*'|\"[^\"]*\"")


def signature(tests: Sequence[TestResult]) -> str:
    """Names the error of the first of some failing tests so that the same one is known again: where it was raised and
    what it says, without values."""
    if not tests:
        return ""
    test = tests[0]
    where = f"{test.frames[-1].path}:{test.frames[-1].function}" if test.frames else test.id
    said = _VALUES.sub("…", test.message.strip().split("\n")[0])
    return f"{where}: {said}"[:200]


def verdict(before: int, after: int) -> AttemptVerdict:
    """How a count of failing tests changed; `after` below zero means that the tests could not run, `before` below zero
    that it is not known, which counts as no gain."""
    if after < 0:
        return "invalid"
    if after == 0:
        return "solved"
    if after == before or before < 0:
        return "same"
    return "better" if after < before else "worse"


def failing(report: CheckReport) -> int:
    """How many tests fail, -1 when nothing can be said; a command that names no tests counts as one."""
    if report.problem:
        return -1
    return len(report.failing) if report.tests else int(report.exit_code != 0)


def best(attempts: Sequence[Attempt]) -> Attempt | None:
    """The attempt to keep: one that breaks nothing before one that does, then fewest failing tests, then the smallest
    diff, then the first. Those that did not run all tests come after those that did."""
    ran = [attempt for attempt in attempts if attempt.failing_after >= 0]
    return min(
        ran,
        key=lambda one: (not one.full, bool(one.new_failures), one.failing_after, len(one.diff), one.number),
        default=None,
    )


def equivalent(attempts: Sequence[Attempt], base: str, fingerprint: str) -> Attempt | None:
    """The attempt that did the same to the same tree and made nothing better; None when there is none. One whose tests
    could not run says nothing about its patch."""
    if not fingerprint:
        return None
    tried = (one for one in attempts if one.fingerprint == fingerprint and one.base == base)
    return next((one for one in tried if one.verdict in ("same", "worse")), None)


def repeats(attempts: Sequence[Attempt]) -> int:
    """How many attempts at the end failed with one and the same error."""
    count = 0
    for attempt in reversed(attempts):
        if attempt.verdict == "solved" or not attempt.signature or attempt.signature != attempts[-1].signature:
            break
        count += 1
    return count


def tell(attempts: Sequence[Attempt]) -> str:
    """The last attempts for a model: what was changed and what came of it."""
    lines: list[str] = []
    for attempt in attempts[-TOLD:]:
        changed = [line for line in attempt.diff.split("\n") if line[:1] in "+-" and line[:3] not in ("+++", "---")]
        left = f"; left: {attempt.signature}" if attempt.signature else ""
        before = "?" if attempt.failing_before < 0 else attempt.failing_before
        counts = f", {before} → {attempt.failing_after} failing" if attempt.failing_after >= 0 else ""
        lines.append(f"{attempt.hypothesis} ({attempt.verdict}{counts}{left}): {' '.join(changed)[:200]}")
    return "\n".join(lines)
