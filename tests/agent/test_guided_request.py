"""Changes and questions that no failing test stands for: what is meant, what is written, what is said of it."""

import sys
from typing import Any

import pytest
from support.desk import Desk, git
from support.live import live, turn, until

from tcoder.agent.guided_place import mentions
from tcoder.agent.guided_request import Target, is_request, written
from tcoder.protocol.events import Located, Notice
from tcoder.protocol.ops import Undo
from tcoder.protocol.outcome import Outcome

QUICK = f"PYTEST_DISABLE_PLUGIN_AUTOLOAD=1 {sys.executable} -m pytest -q"
CALC = "import os\n\n\ndef add(a, b):\n    return a + b\n\n\nclass Box:\n    def size(self):\n        return 1\n"
TESTS = "from calc import Box, add\n\n\ndef test_add():\n    assert add(1, 2) == 3\n    assert Box().size() == 1\n"


@pytest.mark.parametrize(
    ("task", "names", "files"),
    [
        ("Add `retry` to http/client.py", ("retry",), ("http/client.py",)),
        ("let parse_hue() accept percentages", ("parse_hue",), ()),
        ("the function ordinal in number.py", ("ordinal",), ("number.py",)),
        ("rename Session.close, e.g. in version 1.2", ("Session.close",), ()),
        ("make the box bigger", (), ()),
    ],
)
def test_what_a_task_mentions(task: str, names: tuple[str, ...], files: tuple[str, ...]) -> None:
    said = mentions(task)
    assert tuple(name for name in said.names if name in names) == names
    assert said.files == files


@pytest.mark.parametrize(
    ("task", "request_"),
    [("Add a flag --json", True), ("please rename add to plus", True), ("Add a test that fails", False),
     ("Fix add", False), ("make add accept strings", True), ("make the failing tests pass", False),
     ("add returns 3 for 1, 1", True)],
)  # fmt: skip
def test_is_request(task: str, request_: bool) -> None:
    assert is_request(task) is request_


def fenced(code: str) -> str:
    return f"Here it is:\n```python\n{code}\n```\nDone."


METHOD = Target("calc.py", "Box.size", CALC, "", 9, 10)
NEW = Target("calc.py", "double", CALC, "")


@pytest.mark.parametrize(
    ("target", "answer", "old", "new"),
    [
        (METHOD, fenced("def size(self):\n    return 2"), "        return 1", "        return 2"),
        (METHOD, fenced("    def size(self):\n        return 2"), "        return 1", "        return 2"),
        (METHOD, fenced("import math\n\ndef size(self):\n    return math.e"), "return 1", "        return math.e"),
        (NEW, fenced("def double(x):\n    return 2 * x"), "", "def double(x):\n    return 2 * x"),
    ],
)  # fmt: skip
def test_written(target: Target, answer: str, old: str, new: str) -> None:
    text = written(answer, target)
    assert text is not None
    assert new in text
    assert not old or old not in text
    assert text.count("import math") == answer.count("import math")
    compile(text, "calc.py", "exec")


@pytest.mark.parametrize("answer", ["I cannot.", fenced("def other(): ...").replace("size", "x"), "```\n```"])
def test_an_answer_without_the_definition_writes_nothing(answer: str) -> None:
    assert written(answer, METHOD) is None


def fill(desk: Desk) -> None:
    (desk.root / "calc.py").write_text(CALC)
    (desk.root / "test_calc.py").write_text(TESTS)
    git(desk.root, "commit", "-q", "-a", "-m", "as it is")


async def ask(desk: Desk, server: Any, task: str, **options: Any) -> tuple[Outcome, list[Located]]:
    options = {"no_tests": False, "strategy": "guided", "test_cmd": QUICK, **options}
    async with live(desk, server, **options) as session:
        outcome = (await turn(session, task)).outcome
        return outcome, [one.event for one in session.log if isinstance(one.event, Located)]


async def test_what_is_asked_for_is_written_tested_and_not_called_proven_by_it(desk: Desk, serve: Any) -> None:
    fill(desk)
    server = serve({"text": fenced("def add(a, b, c=0):\n    return a + b + c")})
    outcome, (located,) = await ask(desk, server, "let `add` take a third number")
    assert (outcome.status, outcome.exit_code) == ("done", 0)
    assert "def add(a, b, c=0):" in (desk.root / "calc.py").read_text()
    assert "No test shows that it does what was asked" in outcome.answer
    assert located.location.symbols[0].name == "add"
    assert "return a + b" in str(server.requests[0])


async def test_what_breaks_tests_is_put_back_and_tried_again(desk: Desk, serve: Any) -> None:
    fill(desk)
    worse, better = fenced("def add(a, b):\n    return 0"), fenced("def add(a, b):\n    return sum((a, b))")
    outcome, _ = await ask(desk, serve({"text": worse}, {"text": worse}, {"text": better}), "rewrite `add` with sum")
    assert outcome.verified is True
    assert "return sum((a, b))" in (desk.root / "calc.py").read_text()
    outcome, _ = await ask(desk, serve({"text": worse}, {"text": worse}, {"text": "no"}), "implement `add` anew")
    assert (outcome.status, outcome.verified, outcome.exit_code) == ("no_progress", None, 7)
    assert "broke tests" in outcome.reason
    assert "return sum((a, b))" in (desk.root / "calc.py").read_text()


async def test_what_was_tried_and_taken_back_is_not_undone(desk: Desk, serve: Any) -> None:
    fill(desk)
    worse = {"text": fenced("def add(a, b):\n    return 0")}
    options: dict[str, Any] = {"no_tests": False, "strategy": "guided", "test_cmd": QUICK}
    async with live(desk, serve(worse, worse, {"text": "no"}), **options) as session:
        await turn(session, "implement `add` anew")
        assert [patch.cause.kind for patch in session.state.patches][:2] == ["edit", "rollback"]
        events = await until(session, Notice, Undo())
    assert isinstance(events[-1], Notice) and "nothing to undo" in events[-1].text
    assert (desk.root / "calc.py").read_text() == CALC


async def test_something_new_goes_to_the_file_that_is_named(desk: Desk, serve: Any) -> None:
    fill(desk)
    outcome, _ = await ask(
        desk, serve({"text": fenced("def double(x):\n    return 2 * x")}), "Add double(x) to calc.py"
    )
    assert outcome.status == "done"
    assert (desk.root / "calc.py").read_text() == CALC + "\n\ndef double(x):\n    return 2 * x\n"


async def test_a_question_is_answered_from_the_code_that_it_is_about(desk: Desk, serve: Any) -> None:
    fill(desk)
    server = serve({"text": "It returns 1."})
    outcome, _ = await ask(desk, server, "What does Box.size return?")
    assert (outcome.status, outcome.answer) == ("done", "It returns 1.")
    assert "calc.py:9" in str(server.requests[0])
    assert "return 1" in str(server.requests[0])
