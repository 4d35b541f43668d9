"""What a person chose is kept where only they can read it."""

import stat
import tomllib
from pathlib import Path

import pytest

from tcoder.app import credentials, keeping
from tcoder.models import catalogue
from tcoder.protocol.errors import UsageError


def test_a_kept_key_is_found_for_its_own_address_only(tmp_path: Path) -> None:
    file = tmp_path / "config" / "credentials.toml"
    variant = catalogue.resolve("openai/gpt-x")
    keeping.store_key(file, "anthropic", "https://api.anthropic.com/v1", "sk-other")
    keeping.store_key(file, "openai", variant.base_url, 'sk-"quoted"\\')
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert credentials.key_for(variant, {}, file, own_url=False) == 'sk-"quoted"\\'
    elsewhere = catalogue.resolve("openai/gpt-x", base_url="http://evil.example/v1")
    assert credentials.key_for(elsewhere, {}, file, own_url=False) is None
    assert tomllib.loads(file.read_text())["anthropic"]["key"] == "sk-other"


@pytest.mark.parametrize(
    "before",
    ["", 'effort = "low"\n', '[ui]\ntheme = "mono"\n', 'model = "old/one"\nbase_url = "x"\n\n[ui]\ntheme = "mono"\n'],
)
def test_a_chosen_model_stands_at_the_head_of_the_settings(tmp_path: Path, before: str) -> None:
    file = tmp_path / "config.toml"
    file.write_text(before)
    expected = {**tomllib.loads(before), "model": "local/x", "base_url": "http://127.0.0.1:1/v1"}
    keeping.store_model(file, "local/x", "http://127.0.0.1:1/v1")
    assert tomllib.loads(file.read_text()) == expected
    keeping.store_model(file, "local/y", "")
    expected["model"] = "local/y"
    del expected["base_url"]
    assert tomllib.loads(file.read_text()) == expected


def test_settings_that_cannot_be_read_are_left_alone(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text('x = """\n[a\n')
    with pytest.raises(UsageError):
        keeping.store_model(file, "local/x", "")
    assert file.read_text() == 'x = """\n[a\n'
