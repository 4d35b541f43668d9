"""What the tests prove about a task: pure judgement over two reports."""

import re
from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from tcoder.agent.integrity import Finding
from tcoder.protocol.checks import CheckReport, TestResult


class Proof(Struct, frozen=True):
    """`verified`: True = what should pass passes, False = it does not, None = nothing could be said (`why`).

    `missing` are tests that should pass and do not; `tolerated` failed before and are not what the task is about;
    `vanished` ran before and no longer do; `flaky` failed and passed with nothing changed. `unmended` failed at first
    and still do as they were then, whatever became of them. `doubts` say in a sentence each why passing tests may
    prove less; with `informs` the task was to change tests, so that they decide nothing. `passed` counts the tests
    that pass. `owed`: nothing was proven though it was asked for, so that this is no success.
    """

    verified: bool | None
    why: str
    missing: tuple[TestResult, ...] = ()
    tolerated: tuple[str, ...] = ()
    vanished: tuple[str, ...] = ()
    flaky: tuple[str, ...] = ()
    unmended: tuple[TestResult, ...] = ()
    doubts: tuple[str, ...] = ()
    informs: bool = False
    passed: int = 0
    owed: bool = False


_ABOUT_TESTS = re.compile(r"\b(tests?|testing|suite|pytest|fail\w*|fix\w*|repair\w*|broken|green|bugs?|pass)\b", re.I)
_NAMES_TESTS = re.compile(r"\b(tests?|specs?|suite|pytest|green)\b", re.I)
_QUESTION = re.compile(
    r"^\s*(what|why|how|where|who|which|when|is|are|does|do|did|can|could|should|explain|describe|summari[sz]e|tell"
    r"|show|list|find|review|look)\b",
    re.I,
)


def about_tests(task: str) -> bool:
    """Whether a task asks for tests that fail to pass, so that old failures count."""
    return bool(_ABOUT_TESTS.search(task))


_CHANGE = re.compile(
    r"(?:^|[.!;:\n]\s*|\b(?:and|then|please|now|also|must|should|to)\s+)[\s\"'`*\-]*(?:please\s+|now\s+|also\s+)?"
    r"(?:fix|repair|make|add|implement|create|remove|delete|rename|replace|refactor|change|update|convert|migrate|move"
    r"|extract|split|merge|upgrade|bump|port|rewrite|simplify|optimi[sz]e|improve|support|enable|disable|ensure|handle"
    r"|introduce|drop|revert|resolve|solve|correct|adjust|extend|reduce|validate|deprecate|inline|clean\s+up|format"
    r"|write\s+(?:\w+\s+){0,3}?(?:tests?|docs?|docstrings?|function|class|method|module|code))\b",
    re.I,
)
_NO_CHANGE = re.compile(
    r"\b(?:do not|don'?t|without)\s+(?:chang|edit|modif|touch|writ)\w*\s+"
    r"(?:anything|any\s+files?|files|(?:the\s+)?code)",
    re.I,
)


def is_question(task: str) -> bool:
    """Whether a task asks for an answer, whatever verbs stand in it."""
    return bool(_QUESTION.match(task)) or task.rstrip().endswith("?")


def needs_change(task: str) -> bool:
    """Whether a task plainly asks for a change of the tree; False also where it cannot be told, as in a greeting."""
    if _QUESTION.match(task) and not re.search(r"\band\s+(?:then\s+)?(?:fix|repair|correct|change)\b", task, re.I):
        return False
    return bool(_CHANGE.search(task)) and not task.rstrip().endswith("?") and not _NO_CHANGE.search(task)


_CHANGES_TESTS = re.compile(
    r"\b(?:writ\w*|add\w*|updat\w*|chang\w*|edit\w*|renam\w*|remov\w*|delet\w*|rewrit\w*|refactor\w*|mov\w*|skip\w*"
    r"|adjust\w*|adapt\w*|correct\w*|migrat\w*|convert\w*|split\w*|clean\w*|disabl\w*|extend\w*|improv\w*)\b"
    r"(?:\W+\w+){0,5}?\W+(?:unit\W+|regression\W+)?(?:tests?|specs?|assertions?|fixtures?|conftest|test[- ]?suite)\b"
    r"|\b(?:tests?|expectations?|assertions?)\b(?:\W+\w+){0,2}?\W+(?:(?:is|are|itself)\W+)?(?:wrong|outdated|obsolete"
    r"|incorrect|stale|mistaken)\b",
    re.I,
)
_NEVER = re.compile(
    r"\b(?:don'?t|do not|never|without|not)\W+(?:\w+\W+){0,2}?(?:\w*ing|chang\w*|edit|touch|modify)\b", re.I
)


def changes_tests(task: str) -> bool:
    """Whether a task asks for tests to be changed, so that changed tests are what was wanted."""
    found = _CHANGES_TESTS.search(task)
    return bool(found) and not _NEVER.search(task[: found.end()] if found else "")


def weigh(task: str, proof: Proof, findings: Sequence[Finding]) -> Proof:
    """The proof with all that speaks against it. Tests that fail as they were at the start are not mended, whatever
    they say now; anything else is a doubt that `verified` carries."""
    informs = changes_tests(task)
    doubts = (*proof.doubts, *(finding.text for finding in findings))
    if proof.unmended and proof.verified is not False and not informs:
        names = ", ".join(test.id for test in proof.unmended[:3])
        why = f"as they were at the start, {_tests(len(proof.unmended))} still fail: {names}"
        return replace(proof, verified=False, why=why, missing=proof.unmended, doubts=doubts, informs=informs)
    why = proof.why
    if proof.verified and doubts and not informs:
        why = f"{why}, but see the warnings: {doubts[0]}"
    return replace(proof, why=why, doubts=doubts, informs=informs)


def judge(task: str, baseline: CheckReport | None, final: CheckReport | None, *, given: bool = False) -> Proof:
    """Hold the final run against the one before the first change. Without a baseline every failure counts. A test that
    was flaky before is not counted as fixed. `given` = a person said how the tests are run, so that they must run."""
    owed = given or bool(_NAMES_TESTS.search(task))
    if final is None:
        return Proof(None, "no tests were run", owed=owed)
    if final.problem:
        broke = baseline is not None and not baseline.problem
        return Proof(False if broke else None, f"the tests could not be run: {final.problem}", owed=owed)
    if not final.tests:
        ok = final.exit_code == 0
        return Proof(ok, f"{final.command} ended with exit code {final.exit_code}")
    before = {test.id: test for test in baseline.tests} if baseline else {}
    after = {test.id for test in final.tests}
    old_count = about_tests(task)
    missing: list[TestResult] = []
    tolerated: list[str] = []
    flaky = tuple(dict.fromkeys((*(baseline.flaky if baseline else ()), *final.flaky)))
    for test in final.failing:
        old = before.get(test.id)
        if old is not None and old.outcome in ("failed", "error") and not old_count:
            tolerated.append(test.id)
        elif test.id not in flaky:
            missing.append(test)
    vanished = tuple(
        test.id for test in before.values() if test.outcome in ("passed", "failed") and test.id not in after
    )
    said = Proof(None, "", tuple(missing), tuple(tolerated), vanished, flaky, passed=final.passed)
    if missing:
        return replace(said, verified=False, why=_fail(len(missing)))
    if vanished:
        return replace(said, verified=False, why=f"{_tests(len(vanished))} no longer run")
    if final.exit_code not in (0, None) and not tolerated:
        if final.failing:  # flaky ones alone
            return replace(said, why=f"{', '.join(flaky[:3])} failed and passed with nothing changed")
        return replace(said, verified=False, why=f"{final.command} ended with exit code {final.exit_code}")
    if not final.passed:
        return replace(said, why=f"no test passes: {len(tolerated)} fail as before or could not be run")
    failed = [test.id for test in baseline.failing] if baseline else []
    if old_count and failed and set(failed) <= set(flaky):
        return replace(said, why=f"the tests that failed are flaky, so nothing shows a repair: {', '.join(failed[:3])}")
    if tolerated:
        return replace(said, verified=True, why=f"nothing new fails, {_fail(len(tolerated))} as before")
    return replace(said, verified=True, why=f"{_tests(final.passed)} {'passes' if final.passed == 1 else 'pass'}")


def _tests(count: int) -> str:
    return f"{count} test" if count == 1 else f"{count} tests"


def _fail(count: int) -> str:
    return f"{_tests(count)} {'fails' if count == 1 else 'fail'}"
