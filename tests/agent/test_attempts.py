"""What was tried is known again; counts become verdicts; edits without a model."""

import pytest

from tcoder.agent import repairs, units
from tcoder.agent.attempts import Tried, best, signature, tell, unified, verdict
from tcoder.agent.candidates import Candidate, fill_request, from_fill, from_rewrite, gaps, rewrite_prompt, shortened
from tcoder.agent.guided_moves import schedule
from tcoder.agent.suspects import Suspect
from tcoder.protocol.attempt import Attempt
from tcoder.protocol.checks import Frame, TestResult

SOURCE = '''import os


class Shop:
    def price(self, count, each, limit=10):
        """What so many cost.

        With a discount.
        """
        total = count * each
        if count > limit and each:
            return total - 1
        return max(total, 0)
'''
UNIT = units.cut("shop.py", SOURCE)[0]
SUSPECT = Suspect(UNIT, 1.0, lines=(11, 10, 13))


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("x = 1\n", "x  =  1  # one\n", True),
        ("x = 1\n", "x = 2\n", False),
        ("def f():\n    return 'a'\n", 'def f():\n\n    return "a"\n', True),
    ],
)
def test_equivalent_texts_are_tried_once(one: str, other: str, same: bool) -> None:
    tried = Tried()
    assert tried.is_new("a.py", one)
    assert not tried.is_new("a.py", one)
    assert tried.is_new("b.py", one)
    assert tried.is_new("a.py", other) is not same


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [(3, 0, "solved"), (3, 1, "better"), (3, 3, "same"), (3, 5, "worse"), (3, -1, "invalid")],
)
def test_verdict(before: int, after: int, said: str) -> None:
    assert verdict(before, after) == said


def attempt(number: int, after: int, diff: str = "") -> Attempt:
    return Attempt(number, f"try {number}", diff, 3, after, verdict(3, after))


def test_the_best_attempt_has_the_fewest_failures_then_the_smallest_diff() -> None:
    tries = [attempt(1, 2, "+++++"), attempt(2, 1, "++++"), attempt(3, 1, "++"), attempt(4, -1)]
    assert best(tries) == tries[2]
    assert best([attempt(1, -1)]) is None
    assert "try 3 (better, 3 → 1 failing)" in tell(tries)


def test_the_same_error_has_the_same_signature_whatever_the_values() -> None:
    def error(value: int) -> TestResult:
        return TestResult("t", "failed", message=f"ValueError: no {value}", frames=(Frame("a.py", value, "f"),))

    assert signature([error(1)]) == signature([error(22)]) == "a.py:f: ValueError: no …"
    assert signature([]) == ""


def test_unified_is_a_patch_git_would_take() -> None:
    diff = unified("a.py", "a\nb", "a\nc")
    assert diff.startswith("--- a/a.py\n+++ b/a.py\n@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline")


def test_gaps_follow_the_suspicious_lines() -> None:
    assert gaps(SUSPECT, SOURCE, 9) == ((11, 11), (10, 10), (13, 13))


def test_a_gap_shows_the_code_around_it_and_the_failure_above() -> None:
    fill = fill_request(SUSPECT, SOURCE, (11, 11), "got 3, expected 4", "LIMIT = 3")
    assert fill.before.startswith("LIMIT = 3\n# got 3, expected 4\nclass Shop:\n    def price(")
    assert "With a discount" not in fill.before
    assert fill.before.endswith("total = count * each\n        ")
    assert fill.after == "\n            return total - 1\n        return max(total, 0)\n"


@pytest.mark.parametrize(
    ("answer", "line"),
    [
        ("if count >= limit:", "        if count >= limit:"),
        ("  if x:\n more", "        if x:"),
        ("", None),
        ("# no", None),
    ],
)
def test_a_filled_gap_becomes_an_edit(answer: str, line: str | None) -> None:
    candidate = from_fill(answer, SUSPECT, SOURCE, (11, 11))
    assert (candidate.text if candidate else None) == line


@pytest.mark.parametrize(
    ("line", "shorter"),
    [
        ("    return a + b % c", ["    return a + b", "    return a"]),
        ("x = f(a) % 3", ["x = f(a)"]),
        ("return f(a).g()", ["return f(a)"]),
        ("return a", []),
        ("return", []),
        ("if a:", []),
    ],
)
def test_a_filled_line_without_its_last_operation(line: str, shorter: list[str]) -> None:
    assert [short.text for short in shortened(Candidate("a.py", 1, 1, line, ""))] == shorter


REWRITTEN = """Here it is:
```python
def price(self, count, each, limit=10):
    total = count * each
    if count >= limit:
        return total - 1
    return max(total, 0)
```
"""


@pytest.mark.parametrize(
    "answer",
    [
        REWRITTEN,
        REWRITTEN.replace("```python\n", "```python\nclass Shop:\n")
        .replace("\n    ", "\n        ")
        .replace("\ndef", "\n    def"),
        REWRITTEN.rpartition("```")[0],
        REWRITTEN.replace("10):\n", '10):\n    """Cost."""\n'),
    ],
)
def test_a_rewritten_function_keeps_its_place_and_its_docstring(answer: str) -> None:
    candidate = from_rewrite(answer, SUSPECT, SOURCE)
    assert candidate is not None
    assert candidate.apply(SOURCE) == SOURCE.replace("if count > limit and each:", "if count >= limit:")


@pytest.mark.parametrize("answer", ["", "no code", "```python\ndef other(): ...\n```", "```python\ndef price(:\n```"])
def test_an_answer_without_the_function_is_nothing(answer: str) -> None:
    assert from_rewrite(answer, SUSPECT, SOURCE) is None


def test_the_prompt_is_short() -> None:
    text = rewrite_prompt(SUSPECT, SOURCE, "got 3, expected 4", "")
    assert text.startswith("got 3, expected 4\n") and len(text) < 500


def test_small_edits_parse_and_come_with_the_likeliest_first() -> None:
    found = repairs.small_edits(UNIT, SOURCE, SUSPECT.lines, 60)
    texts = [candidate.text.strip() for candidate in found]
    assert texts[0] == "if count >= limit and each:"
    assert {"if count > limit or each:", "total = count / each", "return min(total, 0)"} <= set(texts)
    assert all(units.parses("shop.py", candidate.apply(SOURCE)) for candidate in found)
    assert len(set(texts)) == len(texts)


def test_a_missing_import_is_added_without_a_model() -> None:
    source = '"""Doc."""\n\nimport sys\n\n\ndef f():\n    return Path(json.dumps(helper()))\n'
    for name, line in (
        ("Path", "from pathlib import Path"),
        ("json", "import json"),
        ("helper", "from a.b import helper"),
    ):
        test = TestResult("t", "failed", message=f"NameError: name '{name}' is not defined", frames=(Frame("m.py", 7),))
        first = repairs.named_errors([test], {"m.py": source}, {"helper": "a.b"})[0]
        assert first.apply(source) == source.replace("import sys", f"{line}\nimport sys")


def test_a_misspelt_name_is_corrected_without_a_model() -> None:
    source = "def f(values):\n    return valeus[0]\n"
    test = TestResult("t", "failed", message="NameError: name 'valeus' is not defined", frames=(Frame("m.py", 2),))
    assert Candidate("m.py", 2, 2, "    return values[0]", repairs.RENAMED) in repairs.named_errors(
        [test], {"m.py": source}, {}
    )


def test_the_schedule_is_finite_and_begins_with_what_is_likely() -> None:
    far = Suspect(UNIT, 0.1)
    moves = list(schedule([SUSPECT, far], can_fill=True))
    assert [move.kind for move in moves[:4]] == ["edits", "rewrite", "fill", "edits"]
    assert moves[0].suspect is SUSPECT
    assert {move.suspect.score for move in moves} == {1.0, 0.1}
    assert "fill" not in {move.kind for move in schedule([SUSPECT], can_fill=False)}
    assert list(schedule([], can_fill=True)) == []
