"""The first real failure is found in the noise of a pipeline's log."""

import pytest

from tcoder.agent.ci_log import MAX_CHARACTERS, excerpt

STAMP = "2026-11-30T10:00:00.1234567Z "
NOISE = [f"{STAMP}Downloading package {number}\n".encode() for number in range(3000)]
PYTEST = [
    f"{STAMP}{line}\n".encode()
    for line in (
        "=================== FAILURES ===================",
        "\x1b[31m\x1b[1m______ test_hue ______\x1b[0m",
        "    def test_hue():",
        ">       assert hue(1, 0, 0) == 0",
        "E       assert 60 == 0",
        "tests/test_hue.py:7: AssertionError",
        "FAILED tests/test_hue.py::test_hue - assert 60 == 0",
    )
]
END = [f"{STAMP}##[error]Process completed with exit code 1.\n".encode()]


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        (PYTEST, ["assert 60 == 0", "tests/test_hue.py:7"]),
        ([b"--- FAIL: TestHue (0.00s)\n", b"    hue_test.go:9: got 60, want 0\n"], ["hue_test.go:9: got 60"]),
        ([b"error[E0308]: mismatched types\n", b"  --> src/lib.rs:4:5\n"], ["src/lib.rs:4:5"]),
        ([b"section_start:1:step\n", b"npm ERR! missing script: test\n"], ["missing script"]),
    ],
)
def test_the_failure_is_kept(lines: list[bytes], words: list[str]) -> None:
    found = excerpt([*NOISE, *lines, *NOISE, *END])
    assert all(word in found.text for word in words)
    assert "\x1b" not in found.text and "10:00:00" not in found.text
    assert len(found.text) <= MAX_CHARACTERS + 100


@pytest.mark.parametrize("line", [b"0 errors, 0 warnings\n", b"fail-fast: false\n", b"continue-on-error: true\n"])
def test_what_only_sounds_like_a_failure_is_none(line: bytes) -> None:
    assert excerpt([*NOISE, line]).errors == 0


def test_real_evidence_pushes_weak_lines_out() -> None:
    weak = [b"ERROR something odd\n", *NOISE[:60]] * 20
    assert "assert 60 == 0" in excerpt([*weak, *PYTEST]).text


def test_an_endless_line_and_broken_bytes_are_no_trouble() -> None:
    assert excerpt([b"x" * 5_000_000 + b"\n", b"\xff\xfe FAILED \x80\n"]).errors == 1
