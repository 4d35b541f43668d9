"""The list of stored sessions: what it shows, cheaply, and what it says of journals that cannot be read."""

import os
from pathlib import Path

import pytest

from tcoder.agent import stored
from tcoder.agent.journal import Journal
from tcoder.agent.stored import CACHE, summarise, summarise_all
from tcoder.protocol.budget import Usage
from tcoder.protocol.events import Event, NoteAdded, SessionNamed, SessionStarted, TurnFinished, TurnStarted
from tcoder.protocol.messages import TextPart, UserMessage
from tcoder.protocol.outcome import Outcome
from tcoder.protocol.variant import ModelVariant

VARIANT = ModelVariant("x/m", "m", "x", "http://127.0.0.1/v1")


def started(parent: str = "") -> SessionStarted:
    return SessionStarted("s", "/w", "1", VARIANT, "agent", "auto", "off", parent)


def turn(number: int, text: str) -> tuple[Event, Event]:
    usage = Usage(input_uncached=100, output=10, calls=2)
    return TurnStarted(number, UserMessage((TextPart(text),))), TurnFinished(
        number, Outcome("done", 0, "ok", usage=usage)
    )


def write(path: Path, *events: Event) -> Path:
    journal = Journal(path)
    for event in events:
        journal.append(event)
    journal.close()
    return path


def test_a_summary_says_what_was_asked_and_spent(tmp_path: Path) -> None:
    path = write(tmp_path / "s.jsonl", started("p"), *turn(1, "\n fix the login \nplease"), *turn(2, "and the rest"))
    summary = summarise(path)
    assert (summary.id, summary.title, summary.turns) == ("s", "fix the login", 2)
    assert (summary.usage.total, summary.usage.calls) == (220, 4)
    assert (summary.model, summary.parent, summary.busy) == ("x/m", "p", False)
    assert summary.updated.endswith("Z")


def test_the_name_a_person_gave_comes_first_and_the_last_name_counts(tmp_path: Path) -> None:
    path = write(tmp_path / "s.jsonl", started(), *turn(1, "hello"), SessionNamed("one"), SessionNamed("the login"))
    assert summarise(path).title == "the login"


def test_text_that_looks_like_an_event_is_text(tmp_path: Path) -> None:
    path = write(
        tmp_path / "s.jsonl",
        started(),
        *turn(1, '"type":"turn_started","turn":9'),
        NoteAdded("a", '"type":"session_named"'),
    )
    assert (summarise(path).turns, summarise(path).title) == (1, '"type":"turn_started","turn":9')


@pytest.mark.parametrize("data", [b"", b"\n", b"{}\n", b'{"schema":1,"seq":1,"type":"turn_started"', b"\xff\xfe\n"])
def test_a_broken_journal_has_a_summary_too(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(data)
    assert summarise(path).turns == 0


def test_a_newer_journal_is_named_and_the_others_are_listed(tmp_path: Path) -> None:
    write(tmp_path / "a.jsonl", started(), *turn(1, "hello"))
    (tmp_path / "b.jsonl").write_bytes(b'{"schema":99,"seq":1,"time":"t","type":"x"}\n')
    summaries, problems = summarise_all(tmp_path)
    assert [summary.id for summary in summaries] == ["a"]
    assert len(problems) == 1 and "newer tcoder" in problems[0]


def test_only_journals_that_changed_are_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    paths = [write(tmp_path / f"{name}.jsonl", started(), *turn(1, name)) for name in "abc"]
    for age, path in enumerate(paths):
        os.utime(path, ns=(10**18 + age, 10**18 + age))
    first, _ = summarise_all(tmp_path)
    assert [summary.id for summary in first] == ["c", "b", "a"]
    read: list[str] = []
    real = stored.summarise
    monkeypatch.setattr(stored, "summarise", lambda path: read.append(path.stem) or real(path))
    assert summarise_all(tmp_path)[0] == first
    assert read == []
    journal = Journal(paths[1], next_seq=4)
    journal.append(SessionNamed("renamed"))
    assert {summary.id: (summary.title, summary.busy) for summary in summarise_all(tmp_path)[0]} == {
        "a": ("a", False),
        "b": ("renamed", True),
        "c": ("c", False),
    }
    journal.close()
    assert read == ["b"]


def test_a_broken_cache_is_made_again_and_a_folder_that_cannot_be_written_is_listed_all_the_same(
    tmp_path: Path,
) -> None:
    write(tmp_path / "a.jsonl", started(), *turn(1, "hello"))
    (tmp_path / CACHE).write_text("{")
    assert [summary.title for summary in summarise_all(tmp_path)[0]] == ["hello"]
    (tmp_path / CACHE).unlink()
    (tmp_path / CACHE).mkdir()
    assert [summary.title for summary in summarise_all(tmp_path)[0]] == ["hello"]
