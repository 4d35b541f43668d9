"""What the tests prove about a task: pure judgement over two reports."""

import re

from msgspec import Struct

from tcoder.protocol.checks import CheckReport, TestResult


class Proof(Struct, frozen=True):
    """`verified`: True = what should pass passes, False = it does not, None = nothing could be said (`why`).

    `missing` are tests that should pass and do not; `tolerated` failed before and are not what the task is about;
    `vanished` ran before and no longer do.
    """

    verified: bool | None
    why: str
    missing: tuple[TestResult, ...] = ()
    tolerated: tuple[str, ...] = ()
    vanished: tuple[str, ...] = ()


_ABOUT_TESTS = re.compile(r"\b(tests?|testing|suite|pytest|fail\w*|fix\w*|repair\w*|broken|green|bugs?|pass)\b", re.I)
_QUESTION = re.compile(
    r"^\s*(what|why|how|where|who|which|when|is|are|does|do|did|can|could|should|explain|describe|summari[sz]e|tell"
    r"|show|list|find|review|look)\b",
    re.I,
)


def about_tests(task: str) -> bool:
    """Whether a task asks for tests that fail to pass, so that old failures count."""
    return bool(_ABOUT_TESTS.search(task))


def needs_change(task: str) -> bool:
    """Whether a task asks for a change of the tree rather than for an answer."""
    return not _QUESTION.match(task) and not task.rstrip().endswith("?")


def judge(task: str, baseline: CheckReport | None, final: CheckReport | None) -> Proof:
    """Hold the final run against the one before the first edit. Without a baseline every failure counts."""
    if final is None:
        return Proof(None, "no tests were run")
    if final.problem:
        broke = baseline is not None and not baseline.problem
        return Proof(False if broke else None, f"the tests could not be run: {final.problem}")
    if not final.tests:
        ok = final.exit_code == 0
        return Proof(ok, f"{final.command} ended with exit code {final.exit_code}")
    before = {test.id: test for test in baseline.tests} if baseline else {}
    after = {test.id for test in final.tests}
    old_count = about_tests(task)
    missing: list[TestResult] = []
    tolerated: list[str] = []
    for test in final.failing:
        old = before.get(test.id)
        if old is not None and old.outcome in ("failed", "error") and not old_count:
            tolerated.append(test.id)
        else:
            missing.append(test)
    vanished = tuple(
        test.id for test in before.values() if test.outcome in ("passed", "failed") and test.id not in after
    )
    if missing:
        return Proof(False, f"{len(missing)} tests fail", tuple(missing), tuple(tolerated), vanished)
    if vanished:
        return Proof(False, f"{len(vanished)} tests no longer run", (), tuple(tolerated), vanished)
    if final.exit_code not in (0, None) and not tolerated:
        return Proof(False, f"{final.command} ended with exit code {final.exit_code}", (), (), vanished)
    if not final.passed:
        return Proof(None, f"no test passes: {len(tolerated)} could not be run or fail as before", (), tuple(tolerated))
    return Proof(True, f"{final.passed} tests pass", (), tuple(tolerated), vanished)
