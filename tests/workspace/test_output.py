"""What a command prints, cleaned and bounded."""

from pathlib import Path

import pytest

from tcoder.workspace.shell.output import SPILL_FILES, Output, Stream, clean

ESCAPES = [
    ("\x1b[31mred\x1b[0m", "red"),
    ("\x1b]0;title\x07text", "text"),
    ("\x1b]52;c;ZXZpbA==\x1b\\text", "text"),
    ("\x1bP$qm\x1b\\text", "text"),
    ("\x1b[?1049h\x1b[2J\x1b[Htext", "text"),
    ("\x1bctext", "text"),
    ("\x1b(Btext", "text"),
    ("\x9b31mtext\x9d0;t\x9c", "text"),
    ("\x1b]0;without an end", ""),
    ("a\x00b\x07c\x7fd", "abcd"),
    ("10%\r50%\r100%\n", "100%\n"),
    ("kept\r\nlines\r\n", "kept\nlines\n"),
    ("10%\r", "10%"),
    ("ab\b\bxy", "xy"),
    ("ünï → 日本 🙂", "ünï → 日本 🙂"),
    ("tab\tstays\n", "tab\tstays\n"),
]


@pytest.mark.parametrize(("raw", "shown"), ESCAPES)
def test_clean(raw: str, shown: str) -> None:
    assert clean(raw) == shown


@pytest.mark.parametrize("raw", [raw for raw, _ in ESCAPES if "\r" not in raw and "\b" not in raw])
def test_a_stream_cut_anywhere_leaves_no_escape(raw: str) -> None:
    data = f"<{raw}>".encode()
    for cut in range(1, len(data)):
        stream = Stream()
        shown = stream.feed(data[:cut]) + stream.feed(data[cut:])
        assert not set(shown) & set("\x1b\x07\x9b\x9d\x00\x7f")
        assert shown == clean(data.decode()) or "without an end" in raw


def collect(pieces: list[bytes], folder: Path, budget: int = 1000) -> tuple[str, int, str]:
    output = Output(budget, folder, spill_limit=100_000)
    for piece in pieces:
        output.feed(piece)
    excerpt = output.finish()
    output.close()
    return excerpt.text, excerpt.omitted_bytes, excerpt.spill


def test_what_fits_is_whole_and_makes_no_file(tmp_path: Path) -> None:
    assert collect([b"one\n", b"two"], tmp_path / "spill") == ("one\ntwo", 0, "")
    assert not (tmp_path / "spill").exists()


def test_head_and_tail_stay_and_the_middle_is_counted(tmp_path: Path) -> None:
    whole = "".join(f"line {number}\n" for number in range(1000))
    text, omitted, spill = collect([whole.encode()], tmp_path)
    head, _, rest = text.partition("\n[… ")
    count, _, tail = rest.partition(" bytes left out …]\n")
    assert whole.startswith(head) and whole.endswith(tail)
    assert int(count) == omitted == len(whole) - len(head) - len(tail)
    assert Path(spill).read_text() == whole
    assert Path(spill).stat().st_mode & 0o777 == 0o600


def test_a_flood_is_bounded_in_memory_and_on_disk(tmp_path: Path) -> None:
    output = Output(1000, tmp_path, spill_limit=100_000)
    for _ in range(2000):
        output.feed(b"x" * 4096)
    excerpt = output.finish()
    held = len(output._head) + len(output._tail)
    output.close()
    assert held < 30_000
    assert len(excerpt.text) < 1100
    assert abs(excerpt.omitted_bytes - 2000 * 4096) < 1100
    assert Path(excerpt.spill).stat().st_size <= 100_000


def test_old_spill_files_go(tmp_path: Path) -> None:
    for _ in range(SPILL_FILES + 5):
        collect([b"x\n" * 2000], tmp_path)
    assert len(list(tmp_path.iterdir())) == SPILL_FILES


@pytest.mark.parametrize(
    "data",
    [b"\xff\xfe\x00bin", bytes(range(256)) * 40, "日本語 ".encode() * 3000, b"\xe6\x97"],
    ids=str.__len__ and None,
)
def test_any_bytes_give_text(tmp_path: Path, data: bytes) -> None:
    pieces = [data[at : at + 7] for at in range(0, len(data), 7)]
    text, _, _ = collect(pieces, tmp_path)
    assert text.encode() and "\x00" not in text


def test_a_full_disk_does_not_end_the_command(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.touch()
    text, omitted, spill = collect([b"x\n" * 5000], blocked)
    assert omitted and text and spill == ""
