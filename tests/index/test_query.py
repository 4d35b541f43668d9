"""What a text says about where to look."""

import time

import pytest

from tcoder.index.query import FrameMention, parse, title_of

PYTHON = """Traceback (most recent call last):
  File "/home/u/app/run.py", line 10, in <module>
    main()
  File "/home/u/app/lib/core.py", line 20, in main
    boom()
ValueError: no
"""
JAVA = """Exception in thread "main" java.lang.IllegalStateException
\tat io.netty.handler.ssl.OpenSsl.load(OpenSsl.java:42)
\tat io.netty.Main.main(Main.java:7)
"""
NODE = """TypeError: x
    at Topics.purge (/srv/src/topics/delete.js:31:5)
    at async src/api/topics.js:8:1
"""


@pytest.mark.parametrize(
    ("text", "frames"),
    [
        (
            PYTHON,
            (
                FrameMention("/home/u/app/lib/core.py", 20, "main", 0),
                FrameMention("/home/u/app/run.py", 10, "<module>", 1),
            ),
        ),
        (
            JAVA,
            (
                FrameMention("io/netty/handler/ssl/OpenSsl.java", 42, "load", 0),
                FrameMention("io/netty/Main.java", 7, "main", 1),
            ),
        ),
        (
            NODE,
            (FrameMention("/srv/src/topics/delete.js", 31, "purge", 0), FrameMention("src/api/topics.js", 8, "", 1)),
        ),
        ("panicked at src/parser/mod.rs:12:9", (FrameMention("src/parser/mod.rs", 12, "", 0),)),
    ],
)
def test_frames_innermost_first(text: str, frames: tuple[FrameMention, ...]) -> None:
    assert parse(text).frames == frames


def test_identifiers_look_like_code_or_are_quoted() -> None:
    found = parse("`parse` fails: QtColor.to_py and foo::BarBaz break, but Hello and HTTP are words")
    assert set(found.identifiers) == {"parse", "QtColor", "to_py", "BarBaz"}


def test_paths_and_terms() -> None:
    found = parse("Hue wrong in src/config/types.py and Makefile.am; hue, hue!")
    assert found.paths == ("src/config/types.py", "Makefile.am")
    assert found.terms["hue"] > found.terms["config"] > 0


@pytest.mark.parametrize("text", ["", "\0\x1b[31m\ud800", "«» 日本語のタスク", "." * 5_000, "%s" * 3_000])
def test_any_text_is_read(text: str) -> None:
    assert isinstance(parse(text).terms, dict)


@pytest.mark.parametrize(
    "unit",
    [
        "a/",
        "a.",
        "a::",
        "at a.",
        'File "',
        "`",
        "```\n",
        "/",
        "x" * 50,
        "<!--",
        "https://",
        "- [x] ",
        "a@-+.",
        "\\",
        "at [a ",
        "<$ ",
    ],
)
def test_a_huge_hostile_text_is_read_in_linear_time(unit: str) -> None:
    began = time.process_time()
    parse(unit * (50_000_000 // len(unit)))
    assert time.process_time() - began < 3


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("# Title\n\nHue is wrong\n\nmore", "Hue is wrong"),
        ("**Title: Hue is wrong**\nmore", "Hue is wrong"),
        ("## Title: Hue is wrong in themes ## Description: " + "more " * 60, "Hue is wrong in themes"),
        ("Hue is wrong in themes. " + "more " * 60, "Hue is wrong in themes. "),
        ("\n \n", ""),
    ],
)
def test_title_without_its_label_and_without_the_rest(text: str, title: str) -> None:
    assert title_of(text) == title


def test_terms_of_the_title_and_of_code_within_sentences() -> None:
    found = parse("Hue is wrong\n\nSee `parse_hue` of the palette.")
    assert found.title == {"hue"}
    assert {"parse_hue", "pars", "hue"} <= found.coded
    assert "palett" not in found.coded
