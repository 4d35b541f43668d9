"""A package that the environment lacks is told apart from a module that the code broke."""

import pytest

from tcoder.agent.absent import packages, tell
from tcoder.protocol.checks import TestResult


@pytest.mark.parametrize(
    ("message", "name"),
    [
        ("ModuleNotFoundError: No module named 'freezegun'", "freezegun"),
        ("ModuleNotFoundError: No module named 'google.cloud.storage'", "google"),
        ("Error: Cannot find module 'left-pad'", "left-pad"),
        ("Error [ERR_MODULE_NOT_FOUND]: Cannot find package '@scope/tool/part' imported from a.js", "@scope/tool"),
        ("Error: Cannot find module './parse'", None),
        ("ModuleNotFoundError: No module named 'ours.parse'", None),
        ("ImportError: cannot import name 'x' from 'freezegun'", None),
        ("AssertionError: assert 1 == 2", None),
    ],
)
def test_what_is_missing(message: str, name: str | None) -> None:
    found = packages([TestResult("t", "error", message=message)], lambda module: module == "ours")
    assert found == ({"t": name} if name else {})


def test_it_is_told_with_what_to_do() -> None:
    said = tell({"tests/test_a.py": "freezegun"}, "python3 -m pytest")
    assert "freezegun is not installed" in said
    assert "--test-cmd" in said
