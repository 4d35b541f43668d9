"""What "always" adds is kept where it was said to be kept, and can be read and edited."""

import stat
from pathlib import Path

import pytest

from tcoder.agent.grants import Grants
from tcoder.protocol.permissions import Rule

SETTINGS = (Rule("deny", "shell", "curl *", source="settings"),)


@pytest.mark.parametrize(("answer", "later"), [("once", False), ("session", False), ("project", True)])
def test_how_long_a_rule_lasts(tmp_path: Path, answer: str, later: bool) -> None:
    file = tmp_path / "rules.toml"
    grants = Grants(SETTINGS, file)
    grants.add(Rule("allow", "shell", 'make "a b" *'), answer)  # pyright: ignore[reportArgumentType] from the table
    matches = [rule.match for rule in grants.rules]
    assert matches == ["curl *", *([] if answer == "once" else ['make "a b" *'])]
    again = [rule.match for rule in Grants(SETTINGS, file).rules]
    assert again == ["curl *", *(['make "a b" *'] if later else [])]


def test_the_file_is_private(tmp_path: Path) -> None:
    file = tmp_path / "rules.toml"
    Grants((), file).add(Rule("allow", "shell", "make"), "project")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
