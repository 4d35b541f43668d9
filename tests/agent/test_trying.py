"""Attempts of the `agent` strategy: recorded, not repeated, the best one kept; what weakened tests are worth."""

from typing import Any

import pytest
from support.desk import Desk, git
from support.live import live, turn

from tcoder.agent.attempts import repeats
from tcoder.agent.equivalence import fingerprint, same_command
from tcoder.agent.journal import load
from tcoder.protocol.attempt import Attempt
from tcoder.protocol.events import AttemptRecorded, Notice, ToolFinished, TurnFinished

TASK = "make the failing tests pass"
QUICK = "python -m pytest -q -p no:cacheprovider"
CALC = "def add(a, b):\n    return a - b\n\n\ndef twice(a):\n    return a + a\n\n\ndef neg(a):\n    return a\n"
TESTS = """from calc import add, neg, twice


def test_add():
    assert add(1, 2) == 3


def test_neg():
    assert neg(3) == -3


def test_twice():
    assert twice(2) == 4
"""


def edit(old: str, new: str, path: str = "calc.py", why: str = "") -> dict[str, Any]:
    step: dict[str, Any] = {"calls": [{"name": "edit", "arguments": {"path": path, "old": old, "new": new}}]}
    return {**step, "text": why} if why else step


def run(command: str) -> dict[str, Any]:
    return {"calls": [{"name": "shell", "arguments": {"command": command}}]}


TEST = {"calls": [{"name": "test", "arguments": {}}]}
DONE = {"text": "Done."}
ADD_RIGHT, ADD_WRONG = ("return a - b", "return a + b"), ("return a - b", "return a * b")


def fill(desk: Desk, calc: str = CALC, tests: str = TESTS) -> None:
    (desk.root / "calc.py").write_text(calc)
    (desk.root / "test_calc.py").write_text(tests)
    git(desk.root, "add", "-A")
    git(desk.root, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "-m", "as it is")


class Played:
    """What came of a script."""

    def __init__(self, ended: TurnFinished, events: list[Any], server: Any) -> None:
        self.outcome = ended.outcome
        self.attempts = [event.attempt for event in events if isinstance(event, AttemptRecorded)]
        self.results = [event.result for event in events if isinstance(event, ToolFinished)]
        self.notices = [event.text for event in events if isinstance(event, Notice)]
        self.server = server


async def play(desk: Desk, serve: Any, *steps: dict[str, Any], task: str = TASK, **options: Any) -> Played:
    server = serve(*steps)
    wanted: dict[str, Any] = {"no_tests": False, "test_cmd": QUICK, "strategy": "agent", "yolo": True, **options}
    async with live(desk, server, **wanted) as session:
        ended = await turn(session, task)
        return Played(ended, [recorded.event for recorded in session.log], server)


def verdicts(attempts: list[Attempt]) -> list[tuple[int, str, int]]:
    return [(one.number, one.verdict, one.failing_after) for one in attempts if not one.kept]


async def test_attempts_are_recorded_with_hypothesis_patch_and_outcome_and_survive_the_session(
    desk: Desk, serve: Any
) -> None:
    fill(desk)
    steps = (
        edit(*ADD_RIGHT, why="The sign in add is wrong. I turn it."),
        DONE,
        edit("return a\n", "return -a\n"),
        DONE,
    )
    played = await play(desk, serve, *steps, session_id="first")
    assert verdicts(played.attempts) == [(1, "better", 1), (2, "solved", 0)]
    first, second = (one for one in played.attempts if not one.kept)
    assert first.hypothesis == "The sign in add is wrong."
    assert "+    return a + b" in first.diff and first.signature and first.checkpoint_id and first.full
    assert (first.failing_before, first.new_failures, first.calls) == (2, (), 2)
    assert second.diff.count("\n+    ") == 2  # against the tree before all attempts
    assert [one.number for one in played.attempts if one.kept] == [2]
    assert (played.outcome.exit_code, played.outcome.verified) == (0, True)
    stored = next((desk.home / "state" / "projects").glob("*/first.jsonl"))
    told = [recorded.event for recorded in load(stored).events]
    assert [event.attempt for event in told if isinstance(event, AttemptRecorded)] == played.attempts
    async with live(desk, serve(DONE), resume="first") as session:
        assert [one.number for one in session.state.attempts] == [1, 2]


async def test_an_equivalent_of_a_failed_patch_is_refused_and_taken_back(desk: Desk, serve: Any) -> None:
    fill(desk)
    back = ("return a * b", "return a - b")
    again = (ADD_WRONG[0], "return a  *  b  # the product")
    played = await play(desk, serve, edit(*ADD_WRONG), TEST, edit(*back), edit(*again), DONE, max_turns=6)
    refused = played.results[3]
    assert refused.status == "error" and "what attempt 1 was" in refused.content and "test_calc.py" in refused.content
    assert "# the product" not in (desk.root / "calc.py").read_text()


async def test_a_command_that_failed_is_not_run_twice_on_the_same_tree(desk: Desk, serve: Any) -> None:
    fill(desk)
    count = "echo x >>.git/count; false"
    steps = (
        run("false || ls nowhere"),
        run("false ||  ls   nowhere"),
        edit(*ADD_RIGHT),
        run("false || ls nowhere"),
        DONE,
    )
    played = await play(desk, serve, *steps, max_turns=5)
    assert [result.status for result in played.results][:4] == ["error", "error", "ok", "error"]
    told = [result.content for result in played.results]
    assert told[1].startswith("refused: this command just failed") and "nowhere" in told[1]
    assert not told[3].startswith("refused")
    assert count not in told


async def test_the_same_error_twice_demands_another_hypothesis(desk: Desk, serve: Any) -> None:
    fill(desk, CALC.replace("return a\n", "return -a\n"))
    wrong = (
        edit(*ADD_WRONG),
        DONE,
        edit("return a * b", "return a // b"),
        DONE,
        edit("return a // b", "return b"),
        DONE,
    )
    played = await play(desk, serve, *wrong)
    said = [str(seen.body["messages"][-1]["content"]) for seen in played.server.requests]
    assert "another hypothesis" not in said[2]
    assert "The same error came 2 times" in said[4] and "another hypothesis" in said[4]
    assert "Your attempts so far:" in said[4] and "a * b" in said[4]
    assert played.outcome.verified is False and played.outcome.exit_code == 3


async def test_the_best_attempt_is_kept_when_the_money_or_the_turns_end(desk: Desk, serve: Any) -> None:
    fill(desk)
    worse = edit("return a + a", "return a * 3")
    played = await play(desk, serve, edit(*ADD_RIGHT), TEST, worse, TEST, worse, DONE, max_turns=4)
    assert verdicts(played.attempts) == [(1, "better", 1), (2, "same", 2)]
    assert [one.number for one in played.attempts if one.kept] == [1]
    text = (desk.root / "calc.py").read_text()
    assert "return a + b" in text and "return a + a" in text
    assert played.outcome.exit_code == 5 and "kept attempt 1, the best of 2" in played.outcome.reason
    assert played.outcome.verified is False


async def test_when_every_attempt_breaks_more_the_tree_is_as_it_was(desk: Desk, serve: Any) -> None:
    fill(desk)
    breaks = edit("return a + a", "return a * 3")
    played = await play(desk, serve, breaks, DONE, DONE)
    assert (desk.root / "calc.py").read_text() == CALC
    assert "the state before all attempts" in played.outcome.reason and played.outcome.verified is False


SH = {
    "breaks": "sed -i 's/return a + a/return a * 3/' calc.py",
    "mends": "sed -i 's/return a - b/return a + b/' calc.py",
    "deletes the tests": "rm test_calc.py",
    "breaks the syntax": "echo 'def f(((' >> calc.py",
}


@pytest.mark.parametrize(
    ("how", "verdict", "counts", "verified"),
    [
        ("breaks", "worse", (1, 2), False),
        ("mends", "solved", (1, 0), True),
        ("deletes the tests", "invalid", (1, -1), False),
        ("breaks the syntax", "worse", (1, 4), False),
    ],
)
async def test_a_change_by_a_command_is_held_against_the_tests_as_they_were(
    desk: Desk, serve: Any, how: str, verdict: str, counts: tuple[int, int], verified: bool
) -> None:
    fill(desk, CALC.replace("return a\n", "return -a\n"))
    played = await play(desk, serve, run(SH[how]), DONE, DONE)
    first = played.attempts[0]
    assert (first.verdict, first.failing_before, first.failing_after) == (verdict, *counts)
    assert (played.outcome.verified, played.outcome.exit_code) == (verified, 0 if verified else 3)


async def test_an_edit_after_which_a_file_does_not_parse_is_told_at_once(desk: Desk, serve: Any) -> None:
    fill(desk)
    mended = edit("return a + (", "return a + b")
    played = await play(desk, serve, edit("return a - b", "return a + ("), mended, DONE, DONE, max_turns=4)
    assert "calc.py does not parse any more: line 2: '(' was never closed" in played.results[0].content
    assert "parse" not in played.results[1].content


async def test_a_broken_file_is_not_progress_because_fewer_tests_fail(desk: Desk, serve: Any) -> None:
    fill(desk)  # two tests fail; with a file that does not load it is one failure, of the file
    played = await play(desk, serve, edit("return a - b", "return a - ("), TEST, DONE, DONE)
    assert played.attempts[0].verdict == "worse" and played.attempts[0].failing_after > 2


@pytest.mark.parametrize("command", ["nosuchcmd", "python -m pytest -q nowhere.py", "false"])
async def test_tests_that_a_person_named_and_that_cannot_run_are_no_success(
    desk: Desk, serve: Any, command: str
) -> None:
    fill(desk)
    played = await play(desk, serve, edit(*ADD_RIGHT), DONE, DONE, DONE, task="add two numbers right", test_cmd=command)
    assert played.outcome.verified is not True and played.outcome.exit_code == 3


async def test_old_failures_that_nobody_asked_about_are_named_with_the_proof(desk: Desk, serve: Any) -> None:
    fill(desk)
    comment = edit("def twice(a):", "def twice(a):  # two times")
    played = await play(desk, serve, comment, DONE, task="add a comment to twice")
    assert played.outcome.verified is True and played.outcome.exit_code == 0
    assert played.outcome.reason == "nothing new fails, 2 tests fail as before"


@pytest.mark.parametrize("task", ["hi", "run the tests", "Erkläre mir den Code", "write a poem about this repo"])
async def test_an_answer_is_no_failure_where_no_change_was_asked_for(desk: Desk, serve: Any, task: str) -> None:
    fill(desk)
    played = await play(desk, serve, {"text": "Well."}, task=task)
    assert (played.outcome.status, played.outcome.exit_code, played.outcome.reason) == ("done", 0, "")


WEAKENED = {
    "deleted": ("def test_add():\n    assert add(1, 2) == 3\n\n\n", ""),
    "skipped": ("def test_add():", "import pytest\n\n\n@pytest.mark.skip\ndef test_add():"),
    "expected to fail": ("def test_add():", "import pytest\n\n\n@pytest.mark.xfail\ndef test_add():"),
    "without its assertion": ("    assert add(1, 2) == 3\n", "    add(1, 2)\n"),
    "with another value": ("add(1, 2) == 3", "add(1, 2) == -1"),
}


@pytest.mark.parametrize("how", WEAKENED)
async def test_a_weakened_test_proves_nothing(desk: Desk, serve: Any, how: str) -> None:
    fill(desk, CALC.replace("return a\n", "return -a\n"))
    old, new = WEAKENED[how]
    played = await play(desk, serve, edit(old, new, "test_calc.py"), DONE, DONE)
    assert played.outcome.verified is not True, played.outcome
    assert played.outcome.exit_code == 3
    assert any("test_add" in warning for warning in (*played.outcome.warnings, played.outcome.reason)), played.outcome


async def test_a_conftest_that_swallows_failures_proves_nothing(desk: Desk, serve: Any) -> None:
    fill(desk, CALC.replace("return a\n", "return -a\n"))
    hook = (
        "import pytest\n\n\n@pytest.hookimpl(hookwrapper=True)\ndef pytest_runtest_makereport(item, call):\n"
        "    outcome = yield\n    report = outcome.get_result()\n    report.outcome = 'passed'\n"
    )
    write = {"calls": [{"name": "write", "arguments": {"path": "conftest.py", "content": hook}}]}
    played = await play(desk, serve, write, DONE, DONE)
    assert played.outcome.verified is not True and played.outcome.exit_code == 3
    assert "conftest.py" in " ".join(played.outcome.warnings)


async def test_a_test_that_is_right_to_change_is_told_and_counts(desk: Desk, serve: Any) -> None:
    fill(desk, CALC.replace("return a\n", "return -a\n"))
    changed = edit("add(1, 2) == 3", "add(1, 2) == -1", "test_calc.py")
    played = await play(desk, serve, changed, DONE, task="change the test of add: it must expect a difference")
    assert played.outcome.exit_code == 0 and played.outcome.verified is True
    assert any("test_add" in warning for warning in played.outcome.warnings)


async def test_a_flaky_test_is_named_and_is_no_repair(desk: Desk, serve: Any) -> None:
    flaky = (
        "from pathlib import Path\n\n\ndef test_now_and_then():\n    seen = Path('.git/seen')\n"
        "    count = int(seen.read_text()) if seen.exists() else 0\n    seen.write_text(str(count + 1))\n"
        "    assert count != 0\n"
    )
    fill(desk, CALC, flaky)
    played = await play(desk, serve, edit(*ADD_RIGHT), DONE, DONE)
    assert any("flaky" in text and "test_now_and_then" in text for text in played.notices)
    assert played.outcome.verified is not True


def test_repeats_counts_equal_errors_at_the_end() -> None:
    def tried(*signatures: str) -> list[Attempt]:
        return [Attempt(n, "h", "", 1, 1, "same", signature=said) for n, said in enumerate(signatures, 1)]

    assert [repeats(tried(*said)) for said in (("a",), ("a", "a"), ("a", "b", "b"), ("b", ""), ())] == [1, 2, 2, 0, 0]


BEFORE = {"a.py": "def f(x):\n    return x\n", "b.js": "let a = 1;\n"}
SAME = [
    ({"a.py": "def f(x):\n    return x + 1\n"}, {"a.py": "def f(x):\n\n    # one more\n    return x+1\n"}, True),
    ({"a.py": "def f(x):\n    return 'a'\n"}, {"a.py": 'def f(x):\n    return "a"\n'}, True),
    ({"a.py": "def f(x):\n    return x + 1\n"}, {"a.py": "def f(x):\n    return x + 2\n"}, False),
    ({"b.js": "let a = 2;\n"}, {"b.js": "let  a=2; // two\n"}, True),
    ({"b.js": "let a = 'x y';\n"}, {"b.js": "let a = 'x  y';\n"}, False),
    ({"a.py": None}, {"a.py": ""}, False),
]


@pytest.mark.parametrize(("one", "other", "same"), SAME)
def test_patches_are_equal_but_for_layout(one: dict[str, Any], other: dict[str, Any], same: bool) -> None:
    def of(changed: dict[str, Any]) -> str:
        return fingerprint({path: (BEFORE[path], text) for path, text in changed.items()})

    assert (of(one) == of(other)) is same


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("pytest  -q tests", "pytest -q tests", True),
        ("pytest -q 'a  b'", "pytest -q 'a b'", False),
        ("make test", "make lint", False),
        ("make a\nmake b", "make a make b", False),
        ("pytest -q 2>&1 | tail -20", "pytest -q", True),
    ],
)
def test_commands_are_equal_but_for_layout(one: str, other: str, same: bool) -> None:
    assert (same_command(one) == same_command(other)) is same
