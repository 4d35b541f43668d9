"""What a message mentions goes along with it."""

from pathlib import Path

import pytest

from tcoder.frontends.attach import mentioned


@pytest.mark.parametrize(
    ("text", "added"),
    [
        ("look at @a.py:2-3.", "a.py, lines 2 to 3:\n```\ntwo\nthree\n```"),
        ("(@a.py:2)", "a.py, lines 2 to 2:\n```\ntwo\n```"),
        ("@a.py:3-99", "a.py, lines 3 to 3:\n```\nthree\n```"),
        ("see @a.py", ""),
        ("mail me@a.py:1", ""),
        ("@../outside.txt:1", ""),
        ("@nothing.py:1-2", ""),
        ("@a.py:9", ""),
    ],
)
def test_lines(tmp_path: Path, text: str, added: str) -> None:
    root = tmp_path / "root"
    root.mkdir()
    (root / "a.py").write_text("one\ntwo\nthree")
    (tmp_path / "outside.txt").write_text("secret")
    assert mentioned(text, str(root)) == (f"{text}\n\n{added}" if added else text, ())


def test_an_image_goes_along(tmp_path: Path) -> None:
    (tmp_path / "dot.png").write_bytes(b"\x89PNG")
    text, images = mentioned("what is @dot.png?", str(tmp_path))
    assert text == "what is @dot.png?" and [image.media_type for image in images] == ["image/png"]
