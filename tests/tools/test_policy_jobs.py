"""Jobs and clean commands before the policy: looking is free, typing and keeping are asked about."""

from typing import Any

import pytest

from tcoder.protocol.permissions import Rule, Verdict
from tcoder.tools.policy.judge import PolicyCall, PolicyFacts, always_rule, judge, question

FACTS = PolicyFacts(sandboxed=True, root="/w", cwd="/w")
LOOKS: dict[str, Any] = {"looks": True}


@pytest.mark.parametrize(
    ("fields", "mode", "decision"),
    [
        (LOOKS, "ask", "allow"),
        (LOOKS, "plan", "allow"),
        ({"typed": "y"}, "ask", "ask"),
        ({"typed": "y"}, "auto", "allow"),
        ({"typed": "y"}, "plan", "deny"),
        ({"command": "npm start"}, "auto", "allow"),
        ({"command": "npm start", "keeps": True}, "auto", "ask"),
        ({"command": "ls", "keeps": True}, "ask", "ask"),
        ({"command": "npm start", "keeps": True}, "plan", "deny"),
    ],
)
def test_what_a_job_may(fields: dict[str, Any], mode: Any, decision: str) -> None:
    assert judge(PolicyCall("job", "shell", **fields), mode, (), FACTS).decision == decision


def test_what_is_typed_is_shown_and_never_allowed_for_good() -> None:
    call = PolicyCall("job", "shell", typed="import os\x1b[2J")
    asked = question("1", call, judge(call, "ask", (), FACTS), FACTS)
    assert asked.action == "type at the program that waits: import os⟨U+001B⟩[2J"
    assert always_rule(call) is None
    assert always_rule(PolicyCall("job", "shell", command="npm start", keeps=True)) is None


@pytest.mark.parametrize(
    ("command", "mode", "sandboxed", "clean"),
    [
        ("ls", "ask", True, True),
        ("ls -l && cat a | head", "ask", True, True),
        ("ls", "auto", True, False),  # the sandbox is why it may run
        ("ls", "auto", False, True),
        ("ls", "plan", True, True),
        ("pytest -q", "ask", True, False),  # by a rule: it needs the environment that a person set up
        ("pytest -q && ls", "ask", True, False),
        ("make", "ask", True, False),
    ],
)
def test_what_is_judged_by_its_words_runs_clean(command: str, mode: Any, sandboxed: bool, clean: bool) -> None:
    facts = PolicyFacts(sandboxed=sandboxed, root="/w", cwd="/w")
    verdict: Verdict = judge(
        PolicyCall("shell", "shell", command=command), mode, (Rule("allow", "shell", "pytest *"),), facts
    )
    assert verdict.clean is clean
