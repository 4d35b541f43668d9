"""The guided strategy in a real session: repositories with bugs, a model that plays a script, the tests for real."""

import asyncio
import sys
from pathlib import Path
from typing import Any

import pytest
from support.desk import Desk, git
from support.live import live, turn

from tcoder.agent.session import Session
from tcoder.protocol.events import AttemptRecorded, ChecksRan, Located, ModelAsked, Progress
from tcoder.protocol.ops import Interrupt, Submit
from tcoder.protocol.outcome import Outcome

QUICK = f"PYTEST_DISABLE_PLUGIN_AUTOLOAD=1 {sys.executable} -m pytest -q"
FIX_IT = "make the failing tests pass"


NOTHING: dict[str, Any] = {"text": "I do not know."}


def said(code: str) -> dict[str, Any]:
    return {"text": f"```python\n{code}```"}


def fill_desk(desk: Desk, calc: str, tests: str) -> None:
    (desk.root / "calc.py").write_text(calc)
    (desk.root / "test_calc.py").write_text(tests)
    git(desk.root, "commit", "-q", "-a", "-m", "as it is")


def events(session: Session, kind: type[Any]) -> list[Any]:
    return [recorded.event for recorded in session.log if isinstance(recorded.event, kind)]


async def repair(desk: Desk, server: Any, task: str = FIX_IT, **options: Any) -> tuple[Outcome, Session]:
    async with live(desk, server, **{"no_tests": False, "strategy": "guided", "test_cmd": QUICK, **options}) as session:
        outcome = (await turn(session, task)).outcome
    return outcome, session


async def test_a_small_edit_is_found_proven_and_told_step_by_step(desk: Desk, serve: Any) -> None:
    outcome, session = await repair(desk, serve(NOTHING, NOTHING, NOTHING, NOTHING))
    assert (outcome.status, outcome.verified, outcome.exit_code) == ("done", True, 0)
    assert git(desk.root, "diff", "--stat").count("|") == 1
    assert "return a + b" in (desk.root / "calc.py").read_text()
    assert [event.phase for event in events(session, ChecksRan)] == ["baseline", "final"]
    (located,) = events(session, Located)
    assert located.location.symbols[0].name == "add"
    last = events(session, AttemptRecorded)[-1].attempt
    assert (last.verdict, last.kept, last.failing_before, last.failing_after) == ("solved", True, 1, 0)
    assert "+    return a + b" in last.diff


PRICE = """def price(count, each):
    if count == 0:
        return 0
    return None


def label(count, each):
    return "%d" % price(count, each)
"""
PRICE_TESTS = """from calc import price, label


def test_price():
    assert price(3, 4) == 12


def test_label():
    assert label(2, 2) == "4"


def test_nothing():
    assert price(0, 4) == 0
"""


async def test_the_model_rewrites_what_no_small_edit_repairs(desk: Desk, serve: Any) -> None:
    fill_desk(desk, PRICE, PRICE_TESTS)
    server = serve(said("def price(count, each):\n    if count == 0:\n        return 0\n    return count * each\n"))
    outcome, session = await repair(desk, server)
    assert (outcome.verified, outcome.exit_code) == (True, 0)
    prompt = server.bodies[0]["messages"][-1]["content"]
    assert "assert price(3, 4) == 12" in prompt and "got None, expected 12" in prompt and len(prompt) < 700
    assert all(event.aside for event in events(session, ModelAsked))
    assert events(session, AttemptRecorded)[-1].attempt.variant


async def test_what_cannot_be_repaired_is_said_and_the_tree_is_as_it_was(desk: Desk, serve: Any) -> None:
    fill_desk(desk, "def f():\n    return None\n", "from calc import f\n\n\ndef test_f():\n    assert f() == 'x7'\n")
    answer = said("def f():\n    return 'y'\n")
    outcome, session = await repair(desk, serve(answer, answer, answer, answer))
    assert (outcome.status, outcome.verified, outcome.exit_code) == ("checks_fail", False, 3)
    assert git(desk.root, "status", "--porcelain") == ""
    attempts = [event.attempt for event in events(session, AttemptRecorded)]
    assert len({attempt.diff for attempt in attempts}) == len(attempts)
    assert not any(attempt.kept for attempt in attempts)


async def test_two_bugs_are_repaired_one_after_the_other(desk: Desk, serve: Any) -> None:
    calc = "import math\n\n\ndef up(x):\n    return floor(x)\n\n\ndef add(a, b):\n    return a - b\n"
    tests = "from calc import add, up\n\n\ndef test_up():\n    assert up(2.0) == 2\n"
    tests += "\n\ndef test_add():\n    assert add(1, 2) == 3\n"
    fill_desk(desk, calc, tests)
    outcome, session = await repair(desk, serve(NOTHING, NOTHING, NOTHING, NOTHING))
    assert outcome.verified is True
    assert "from math import floor" in (desk.root / "calc.py").read_text()
    kept = [event.attempt for event in events(session, AttemptRecorded) if event.attempt.kept]
    assert [(attempt.failing_before, attempt.failing_after) for attempt in kept] == [(2, 1), (1, 0)]


@pytest.mark.parametrize(
    ("tests", "options", "reason"),
    [
        ("def test_ok():\n    assert True\n", {}, "no test fails"),
        ("import pytest\n", {}, "no tests were found"),
        ("def test_ok(): ...\n", {"test_cmd": "exit 126"}, "could not be run"),
    ],
)
async def test_without_a_failing_test_there_is_nothing_to_go_by(
    desk: Desk, serve: Any, tests: str, options: dict[str, Any], reason: str
) -> None:
    (desk.root / "test_calc.py").write_text(tests)
    outcome, _ = await repair(desk, serve(), **options)
    assert (outcome.status, outcome.exit_code, outcome.verified) == ("no_progress", 7, None)
    assert reason in outcome.reason


async def test_not_to_know_the_tests_is_a_matter_of_usage(desk: Desk, serve: Any) -> None:
    outcome, _ = await repair(desk, serve(), no_tests=True)
    assert (outcome.status, outcome.exit_code, outcome.verified) == ("error", 2, None)
    assert "not known how this project is tested" in outcome.reason and "--test-cmd CMD" in outcome.reason


async def test_a_question_about_a_file_is_asked_with_the_file(desk: Desk, serve: Any) -> None:
    fill_desk(desk, "LIMIT = 3\n\n\ndef add(a, b):\n    return a + b\n", "def test_ok(): ...\n")
    server = serve({"text": "It adds."})
    await repair(desk, server, "what does calc.py do?")
    assert "LIMIT = 3" in server.requests[-1].raw.decode()


async def test_a_question_is_answered(desk: Desk, serve: Any) -> None:
    outcome, _ = await repair(desk, serve({"text": "It adds."}), "what does add do?")
    assert (outcome.status, outcome.answer) == ("done", "It adds.")


async def test_a_flaky_test_is_named_and_not_repaired(desk: Desk, serve: Any, tmp_path: Path) -> None:
    marker = tmp_path / "ran"
    tests = (
        f"import pathlib\n\n\ndef test_now_and_then():\n    p = pathlib.Path({str(marker)!r})\n    known = p.exists()\n"
    )
    fill_desk(desk, "x = 1\n", tests + "    p.touch()\n    assert known\n")
    outcome, _ = await repair(desk, serve(NOTHING, NOTHING, NOTHING, NOTHING))
    assert outcome.reason.startswith("no test fails")
    assert any("flaky" in warning and "test_now_and_then" in warning for warning in outcome.warnings)


async def test_interrupted_in_a_trial_the_file_is_as_it_was(desk: Desk, serve: Any) -> None:
    slow = "import time\nfrom calc import add\n\n\ndef test_add():\n    time.sleep(0.4)\n    assert add(1, 2) == 3\n"
    fill_desk(desk, "def add(a, b):\n    return a - b\n", slow)
    async with live(desk, serve({"text": ""}), no_tests=False, strategy="guided", test_cmd=QUICK) as session:
        with session.subscribe() as feed:
            await session.submit(Submit(FIX_IT))
            async for item in feed:
                if isinstance(item, Progress) and item.text.startswith("trying"):
                    while "a - b" in (desk.root / "calc.py").read_text():
                        await asyncio.sleep(0.01)
                    await session.submit(Interrupt())
                    break
        while session.state.running:
            await asyncio.sleep(0.01)
        outcome = session.state.outcome
    assert outcome is not None and outcome.status == "interrupted"
    assert git(desk.root, "status", "--porcelain") == ""


async def test_the_budget_ends_it_with_the_tree_as_it_was(desk: Desk, serve: Any) -> None:
    fill_desk(desk, "def f():\n    return None\n", "from calc import f\n\n\ndef test_f():\n    assert f() == 'x7'\n")
    answer = said("def f():\n    return 'y'\n")
    outcome, _ = await repair(desk, serve(answer, answer), max_turns=1)
    assert (outcome.status, outcome.exit_code, outcome.verified) == ("budget", 5, False)
    assert git(desk.root, "status", "--porcelain") == ""


async def test_a_package_that_is_not_there_is_named_and_the_rest_repaired(desk: Desk, serve: Any) -> None:
    (desk.root / "test_other.py").write_text("import no_such_package\n\n\ndef test_x(): ...\n")
    git(desk.root, "add", "test_other.py")
    fill_desk(
        desk,
        "def add(a, b):\n    return a - b\n",
        "from calc import add\n\n\ndef test_add():\n    assert add(1, 2) == 3\n",
    )
    outcome, session = await repair(desk, serve(NOTHING, NOTHING, NOTHING, NOTHING))
    assert (outcome.status, outcome.verified) == ("done", True)
    assert "return a + b" in (desk.root / "calc.py").read_text()
    assert any("no_such_package is not installed" in warning for warning in outcome.warnings)
    assert all("test_other" not in event.attempt.signature for event in events(session, AttemptRecorded))
