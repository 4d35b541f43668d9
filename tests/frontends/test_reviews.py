"""The review as lines, and what a commit message must be."""

import pytest

from tcoder.frontends import reviews
from tcoder.frontends.lines import plain
from tests.support.open_story import REVIEW


def test_lines() -> None:
    assert (
        plain(reviews.headline(REVIEW))
        == "Review  3 files · 4 hunks · +5 −2   base: checkpoint 14:02   tests: 1 failed"
    )
    assert [plain(reviews.file_line(file, marked=False)).strip() for file in REVIEW.files] == [
        "◐ src/retry.py  1/2", "· README.md  0/2", "· logo.png  binary, 4.1 KB → 4.…",
    ]  # fmt: skip
    lines, first, last = reviews.hunk_lines(REVIEW.files[0], 1)
    assert plain(lines[first]).startswith("▌✓ hunk 2/2") and last == len(lines) - 1
    assert any("⚠ new debug line" in plain(line) for line in lines)


def test_the_new_side_is_what_stands_in_the_file() -> None:
    assert reviews.new_side(REVIEW.files[0].hunks[1]) == "return\n# done\n"


@pytest.mark.parametrize(
    ("message", "problem"),
    [
        ("fix: it", ""),
        ("fix: it\n\nbody", ""),
        ("", "the message is empty"),
        ("x" * 73, "the subject has 73 characters, 72 at most"),
        ("fix: it\nbody", "a blank line must follow the subject"),
    ],
)
def test_message(message: str, problem: str) -> None:
    assert reviews.message_problem(message) == problem
