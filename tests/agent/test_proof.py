"""What the tests prove, whatever the model says."""

import pytest

from tcoder.agent.proof import about_tests, judge, needs_change
from tcoder.protocol.checks import CheckReport, TestOutcome, TestResult


def report(problem: str = "", exit_code: int = 0, **outcomes: TestOutcome) -> CheckReport:
    tests = tuple(TestResult(name, outcome) for name, outcome in outcomes.items())
    return CheckReport("pytest", "pytest", exit_code, 0.1, tests, problem)


FEATURE = "add a --json flag"
REPAIR = "make the failing tests pass"


@pytest.mark.parametrize(
    ("task", "baseline", "final", "verified"),
    [
        (REPAIR, report(a="failed", exit_code=1), report(a="passed"), True),
        (REPAIR, report(a="failed", exit_code=1), report(a="failed", exit_code=1), False),
        (REPAIR, report(a="failed", b="passed"), report(a="passed", b="failed", exit_code=1), False),
        (FEATURE, report(a="failed", b="passed"), report(a="failed", b="passed", exit_code=1), True),
        (FEATURE, report(a="passed"), report(a="failed", exit_code=1), False),
        (FEATURE, report(a="passed", b="passed"), report(a="passed"), False),
        (FEATURE, None, report(a="failed", exit_code=1), False),
        (FEATURE, None, report(a="passed"), True),
        (FEATURE, None, None, None),
        (FEATURE, report(problem="no tests"), report(problem="no tests"), None),
        (FEATURE, report(a="passed"), report(problem="not collected", exit_code=2), False),
        (FEATURE, None, report(exit_code=0), True),
        (FEATURE, None, report(exit_code=1), False),
        (FEATURE, report(a="error", exit_code=2), report(a="error", exit_code=2), None),
        (FEATURE, report(a="skipped"), report(a="skipped"), None),
        (FEATURE, None, report(problem="not found", exit_code=127), None),
    ],
)
def test_judge(task: str, baseline: CheckReport | None, final: CheckReport | None, verified: bool | None) -> None:
    assert judge(task, baseline, final).verified is verified


@pytest.mark.parametrize(
    ("task", "given", "owed"),
    [(REPAIR, False, True), (FEATURE, True, True), (FEATURE, False, False), ("fix a typo", False, False)],
)
def test_what_cannot_be_proven_is_owed_where_it_was_asked_for(task: str, given: bool, owed: bool) -> None:
    missing = report(problem="no tests were found", exit_code=5)
    assert judge(task, missing, missing, given=given).owed is owed
    assert judge(task, None, None, given=given).owed is owed


def test_old_failures_are_named_when_they_do_not_count() -> None:
    proof = judge(FEATURE, report(a="failed", b="passed"), report(a="failed", b="passed", exit_code=1))
    assert proof.tolerated == ("a",)
    assert proof.why == "nothing new fails, 1 test fails as before"


@pytest.mark.parametrize(
    ("task", "asks"),
    [
        ("Fix the parser", True),
        ("make the failing tests pass", True),
        ("What does the parser do?", False),
        ("explain how sessions are stored", False),
        ("can you add a flag?", False),
        ("Refactor config loading", True),
        ("please add a flag", True),
        ("The parser is wrong. Fix it.", True),
        ("find the bug and fix it", True),
        ("write a test for hue", True),
        ("hi", False),
        ("thanks!", False),
        ("run the tests", False),
        ("write a poem about this repo", False),
        ("give me a summary of the repository", False),
        ("check whether total is right", False),
        ("plan how to rewrite cart.js, do not change anything", False),
        ("Erkläre mir den Code", False),
    ],
)
def test_needs_change(task: str, asks: bool) -> None:
    assert needs_change(task) is asks


@pytest.mark.parametrize(("task", "about"), [("fix the bug in hue", True), (FEATURE, False), (REPAIR, True)])
def test_about_tests(task: str, about: bool) -> None:
    assert about_tests(task) is about
