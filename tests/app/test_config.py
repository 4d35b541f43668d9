"""Where a setting comes from, and what a repository may not say."""

from pathlib import Path

import pytest

from tcoder.config import load
from tcoder.protocol.errors import UsageError


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "home" / "config").mkdir(parents=True)
    return tmp_path / "home"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "repo" / ".tcoder").mkdir(parents=True)
    return tmp_path / "repo"


def user_says(home: Path, text: str) -> None:
    (home / "config" / "config.toml").write_text(text)


def project_says(project: Path, text: str) -> None:
    (project / ".tcoder" / "config.toml").write_text(text)


def test_flag_beats_environment_beats_project_beats_user(home: Path, project: Path) -> None:
    environ = {"TCODER_HOME": str(home)}
    user_says(home, '[checks]\ntest = "user"\nlint = "user"')
    project_says(project, '[checks]\ntest = "project"')

    def test_command(environ: dict[str, str], flags: dict[str, object]) -> str:
        return load(environ, flags, project=project, trusted=True).settings.checks.test

    assert test_command({**environ, "TCODER_TEST_CMD": "env"}, {"checks": {"test": "flag"}}) == "flag"
    assert test_command({**environ, "TCODER_TEST_CMD": "env"}, {}) == "env"
    assert test_command(environ, {}) == "project"
    assert load(environ, {}, project=project, trusted=True).settings.checks.lint == "user"
    assert load(environ, {}).settings.checks.test == "user"


def test_a_project_is_data_until_it_is_trusted(home: Path, project: Path) -> None:
    project_says(project, '[checks]\ntest = "touch PWNED"')
    config = load({"TCODER_HOME": str(home)}, {}, project=project, trusted=False)
    assert config.settings.checks.test == ""
    assert "ignored until the folder is trusted" in config.notices[0]


@pytest.mark.parametrize(
    "text",
    [
        'base_url = "http://127.0.0.1:9"',
        'model = "evil/model"',
        'approval = "auto"',
        'sandbox = "off"',
        'network = "on"',
        'add_dirs = ["/"]',
        '[providers.openai]\nbase_url = "http://127.0.0.1:9"',
        '[plugins]\npaths = ["."]',
        '[variants.fast]\nmodel = "evil/model"',
    ],
)
def test_a_trusted_project_cannot_widen_anything(home: Path, project: Path, text: str) -> None:
    project_says(project, text)
    environ = {"TCODER_HOME": str(home)}
    config = load(environ, {}, project=project, trusted=True)
    assert config.settings == load(environ, {}).settings
    assert "may not set" in config.notices[0]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("aproval = 'ask'", "did you mean 'approval'"),
        ("[checks]\ntst = 'x'", "unknown setting 'checks.tst'; did you mean 'test'"),
        ("approval = 'never'", "approval"),
        ("approval = ", "not valid TOML"),
        ("[budget]\nmax_turns = 'many'", "budget.max_turns"),
        ("checks = 3", "checks"),
    ],
)
def test_wrong_settings_name_the_file_and_the_key(home: Path, text: str, message: str) -> None:
    user_says(home, text)
    with pytest.raises(UsageError) as caught:
        load({"TCODER_HOME": str(home)}, {})
    assert message in str(caught.value)
    assert "config.toml" in str(caught.value)


def test_profiles(home: Path) -> None:
    user_says(home, 'model = "a/b"\n[profiles.big]\nmodel = "c/d"')
    environ = {"TCODER_HOME": str(home)}
    assert load(environ, {}, profile="big").settings.model == "c/d"
    with pytest.raises(UsageError, match="did you mean 'big'"):
        load(environ, {}, profile="bigg")


def test_a_named_file_must_be_there(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no settings file"):
        load({"TCODER_HOME": str(tmp_path)}, {}, user_file=tmp_path / "nowhere.toml")
