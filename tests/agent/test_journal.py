"""The journal: what survives a killed process, a full disk and a second process."""

import os
import stat
from pathlib import Path

import pytest

from tcoder.agent.journal import Journal, load
from tcoder.protocol.codec import decode_line, encode_line
from tcoder.protocol.errors import JournalError
from tcoder.protocol.events import NoteAdded, Notice, Recorded


def write(path: Path, *texts: str) -> None:
    journal = Journal(path)
    for text in texts:
        journal.append(Notice("info", "test", text))
    journal.close()


def texts(path: Path) -> list[str]:
    return [recorded.event.text for recorded in load(path).events if isinstance(recorded.event, Notice)]


def test_what_is_written_is_read_and_private(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "s.jsonl"
    write(path, "one", "two")
    assert texts(path) == ["one", "two"]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_a_torn_last_line_loses_only_itself(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    write(path, "one", "two")
    for cut in range(1, 40):
        data = path.read_bytes()
        torn = tmp_path / f"torn{cut}.jsonl"
        torn.write_bytes(data[: len(data) - cut])
        loaded = load(torn)
        assert [recorded.event for recorded in loaded.events] == [Notice("info", "test", "one")]
        assert "incomplete" in loaded.problems[0]


def test_writing_goes_on_after_a_torn_line(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    write(path, "one", "two")
    path.write_bytes(path.read_bytes()[:-10])
    write(path, "three")
    assert texts(path) == ["one", "three"]


def test_a_bad_line_in_the_middle_is_skipped_and_named(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    write(path, "one", "two", "three")
    lines = path.read_bytes().split(b"\n")
    lines[1] = b'{"schema":1,"broken'
    path.write_bytes(b"\n".join(lines))
    assert texts(path) == ["one", "three"]
    assert load(path).problems[0].startswith("line 2 ")


def test_a_newer_format_is_refused_and_untouched(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    line = encode_line(Recorded(1, "2026-01-01T00:00:00Z", NoteAdded("a", "b")))
    data = line.replace(b'"schema":1', b'"schema":999')
    path.write_bytes(data)
    with pytest.raises(JournalError, match="newer tcoder"):
        load(path)
    assert path.read_bytes() == data


def test_a_second_process_is_told_apart(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    first = Journal(path)
    with pytest.raises(JournalError, match="open in another tcoder"):
        Journal(path)
    first.close()
    Journal(path).close()


def test_a_full_disk_is_said_and_leaves_whole_lines(tmp_path: Path) -> None:
    """Fails on /dev/full-like conditions: the file size limit stands in for the disk."""
    import resource
    import signal

    path = tmp_path / "s.jsonl"
    journal = Journal(path)
    journal.append(Notice("info", "test", "fits"))
    size = path.stat().st_size
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (size + 20, before[1]))
        journal.append(Notice("info", "test", "does not fit"))
        assert "no longer saved" in journal.problem
        journal.append(Notice("info", "test", "goes on in memory"))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)
        journal.close()
    assert texts(path) == ["fits"]
    assert load(path).problems == ()


def test_a_line_is_one_line_whatever_the_text(tmp_path: Path) -> None:
    recorded = Recorded(7, "2026-01-01T00:00:00Z", NoteAdded("a", 'line\nline "quoted" \x00 \u2028'))
    line = encode_line(recorded)
    assert line.count(b"\n") == 1 and line.endswith(b"\n")
    assert decode_line(line) == recorded


def test_a_folder_in_the_way_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "state").write_text("a file")
    with pytest.raises(JournalError, match="not a folder"):
        Journal(tmp_path / "state" / "s.jsonl")
    assert os.listdir(tmp_path) == ["state"]
