"""Commands that install or fetch: with a person there, the question is whether they may have the network."""

from typing import Any

import pytest

from tcoder.tools.policy.judge import PolicyCall, PolicyFacts, judge, question

FACTS = PolicyFacts(sandboxed=True, root="/w", cwd="/w", lends_network=True)
REACHING = [
    "pip install x", "python3 -m pip install x", ".venv/bin/pip install -e .", "npm ci", "npm install", "uv sync",
    "cargo add serde", "go get ./...", "git clone https://h/x", "curl https://h", "cd a && npm install && npm test",
]  # fmt: skip
NOT_REACHING = [
    "pip list", "pip install --no-index x", "npm test", "npm ci --offline", "cargo build", "cargo test --offline",
    "pytest -q", "go test ./...", "git status", "uv run pytest",
]  # fmt: skip


@pytest.mark.parametrize("mode", ["ask", "edits", "auto"])
@pytest.mark.parametrize("command", REACHING)
def test_an_install_asks_for_the_network(command: str, mode: Any) -> None:
    call = PolicyCall("shell", "shell", command=command)
    verdict = judge(call, mode, (), FACTS)
    assert (verdict.decision, verdict.network) == ("ask", True)
    asked = question("1", call, verdict, FACTS)
    assert asked.network and not asked.always and "the network is off" in asked.reason


@pytest.mark.parametrize("command", NOT_REACHING)
def test_what_needs_none_does_not(command: str) -> None:
    assert not judge(PolicyCall("shell", "shell", command=command), "auto", (), FACTS).network


def test_without_a_person_it_is_tried_as_it_is() -> None:
    facts = PolicyFacts(sandboxed=True, root="/w", cwd="/w")
    verdict = judge(PolicyCall("shell", "shell", command="npm ci"), "auto", (), facts)
    assert (verdict.decision, verdict.network) == ("allow", False)
    plan = judge(PolicyCall("shell", "shell", command="npm ci"), "plan", (), FACTS)
    assert (plan.decision, plan.network) == ("deny", False)
