"""The shipped table: what each mode says of each command."""

import re
from pathlib import Path

import pytest

from tcoder.protocol.permissions import Approval, Decision
from tcoder.tools.policy.judge import PolicyCall, PolicyFacts, judge

ROOT = "/w"
COLUMNS: tuple[tuple[Approval, bool], ...] = (
    ("ask", True),
    ("edits", True),
    ("auto", True),
    ("auto", False),
    ("plan", True),
)
LETTERS: dict[str, Decision] = {"a": "allow", "k": "ask", "d": "deny"}
SIGNS = {"⏎": "\n", "␍": "\r", "␀": "\0", "␛": "\x1b", "→": "\t"}


def table() -> list[tuple[str, str]]:
    """Pairs of a command and its five letters."""
    rows: list[tuple[str, str]] = []
    letters = ""
    for line in (Path(__file__).parent / "data" / "policy_commands.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("== "):
            letters = line[3:8]
        elif line and letters:
            for sign, character in SIGNS.items():
                line = line.replace(sign, character)
            rows.append((re.sub(r"␢([0-9A-F]{4})", lambda found: chr(int(found.group(1), 16)), line), letters))
    return rows


ROWS = table()


def test_the_table_is_as_large_as_promised() -> None:
    assert len({command for command, _ in ROWS}) == len(ROWS)
    assert len(ROWS) >= 600
    assert {letters for _, letters in ROWS} == {"aaaaa", "aaaka", "kkakd", "kkkkd", "ddddd"}


@pytest.mark.parametrize(("command", "letters"), ROWS, ids=[ascii(command) for command, _ in ROWS])
def test_verdict(command: str, letters: str) -> None:
    found = ""
    reasons: list[str] = []
    for mode, sandboxed in COLUMNS:
        facts = PolicyFacts(sandboxed=sandboxed, root=ROOT, cwd=ROOT)
        verdict = judge(PolicyCall("shell", "shell", command=command), mode, (), facts)
        found += next(letter for letter, decision in LETTERS.items() if decision == verdict.decision)
        reasons.append(f"{mode}: {verdict.reason}")
        assert verdict.reason
    assert found == letters, reasons
