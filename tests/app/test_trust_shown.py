"""A folder that wants trust: what it would run is shown, and that, nothing else, is what a yes is about."""

from pathlib import Path

import pytest

from tcoder.app.options import Options
from tcoder.app.place import find_place


def test_what_is_shown_is_what_is_trusted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TCODER_HOME", str(tmp_path / "own"))
    settings = tmp_path / "work/.tcoder/config.toml"
    settings.parent.mkdir(parents=True)
    settings.write_text('[checks]\ntest = "make evil"\n')
    options = Options(path=str(tmp_path / "work"))
    place = find_place(options)
    assert place.asks_trust
    assert "not trusted: checks.test: new: make evil" in place.config.notices
    settings.write_text('[checks]\ntest = "make worse"\n')
    place.trust()
    changed = find_place(options)
    assert changed.asks_trust, "it changed between the question and the answer"
    assert "not trusted: checks.test: make evil → make worse" in changed.config.notices
    changed.trust()
    trusted = find_place(options)
    assert trusted.trusted and not [note for note in trusted.config.notices if note.startswith("not trusted")]
