"""Plugins load, take part, and fail alone."""

from pathlib import Path

import pytest

from tcoder.plugins.loader import load
from tcoder.protocol.events import Event, Notice, Recorded, TurnFinished
from tcoder.protocol.outcome import Duration, Outcome
from tcoder.resources import plugin_folder


def make(folder: Path, name: str, code: str, manifest: str = "") -> None:
    (folder / name).mkdir(parents=True)
    text = manifest or f'name = "{name}"\ndescription = "d"\nmodule = "m"\napi = 1\n'
    (folder / name / "plugin.toml").write_text(text)
    (folder / name / "m.py").write_text(code)


class Writer:
    """A session's writer, as far as a plugin sees it."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    def record(self, event: Event) -> Recorded:
        self.events.append(event)
        return Recorded(len(self.events), "2026-01-01T00:00:00Z", event)


def turn_finished(seconds: float) -> TurnFinished:
    return TurnFinished(1, Outcome("done", 0, "ok", verified=True, duration_s=Duration(total=seconds)))


@pytest.mark.parametrize(("seconds", "told"), [(60.0, ["done after 60 s, verified"]), (2.0, [])])
def test_the_shipped_notification_tells_of_long_turns(seconds: float, told: list[str]) -> None:
    writer = Writer()
    observe = load([plugin_folder()]).observer(writer.record)
    observe(writer.record(turn_finished(seconds)))
    assert [event.text for event in writer.events if isinstance(event, Notice)] == told


@pytest.mark.parametrize(
    ("code", "manifest", "problem"),
    [
        ("1/0", "", "ZeroDivisionError"),
        ("", "", "register"),
        ("def register(api): raise SystemError('no')", "", "SystemError"),
        ("def register(api): pass", "name = 3", "Expected `str`"),
        ("def register(api): pass", 'name="x"\ndescription=""\nmodule="m"\napi=9', "plugin API 9"),
        ("def register(api): pass", 'name="x"\ndescription=""\nmodule="../m"\napi=1', "no module name"),
        ("def register(api): pass", "not toml", "plugin.toml"),
    ],
)
def test_a_plugin_that_does_not_load_is_named_and_others_go_on(
    tmp_path: Path, code: str, manifest: str, problem: str
) -> None:
    make(tmp_path, "bad", code, manifest)
    make(tmp_path, "good", "def register(api): pass")
    loaded = load([tmp_path])
    assert [plugin.name for plugin in loaded.plugins] == ["good"]
    assert problem in loaded.problems[0]


def test_a_handler_that_fails_is_switched_off_and_said_once(tmp_path: Path) -> None:
    code = """
from tcoder.protocol.events import TurnFinished
def register(api):
    api.on(TurnFinished, lambda recorded, event: 1 / 0)
"""
    make(tmp_path, "bad", code)
    writer = Writer()
    observe = load([tmp_path]).observer(writer.record)
    for _ in range(3):
        observe(Recorded(1, "", turn_finished(1)))
    assert len(writer.events) == 1
    assert "plugin bad failed" in str(writer.events[0])


def test_a_disabled_plugin_is_not_imported(tmp_path: Path) -> None:
    make(tmp_path, "bad", "1/0")
    loaded = load([tmp_path], frozenset({"bad"}))
    assert loaded.plugins == () and loaded.problems == ()
