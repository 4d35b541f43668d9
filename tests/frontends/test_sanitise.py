"""Foreign text never reaches a terminal as more than text (A45, A50, A51, A53)."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tcoder.frontends.sanitise import clean, clean_line, escape_json, hidden_characters

CASES = [
    ("plain", "plain"),
    ("tab\tand\nline", "tab\tand\nline"),
    ("\x1b]52;c;AAAA\x07", "␛]52;c;AAAA␇"),
    ("\x1b[21t\x1b[6n\x1b[?1049l\x1bc", "␛[21t␛[6n␛[?1049l␛c"),
    ("\x9b31m", "⟨U+009B⟩31m"),
    ("\x90$qm\x9c", "⟨U+0090⟩$qm⟨U+009C⟩"),
    ("rm -rf /\rls", "rm -rf /␍ls"),
    ("dos\r\nline\r\r\n", "dos\nline\n"),
    ("\x7f\x08", "␡␈"),
    ("a\u202eb", "a⟨U+202E⟩b"),
    ("\u2066x\u2069", "⟨U+2066⟩x⟨U+2069⟩"),
    ("tag\U000e0041", "tag⟨U+E0041⟩"),
    ("zero\u200bwidth", "zero⟨U+200B⟩width"),
    ("pay\u200dpal", "pay⟨U+200D⟩pal"),
    ("👩‍👩‍👧", "👩‍👩‍👧"),
    ("한글 é ä", "한글 é ä"),
    ("\ud83d", "\N{REPLACEMENT CHARACTER}"),
    ("x\u2028y", "x⟨U+2028⟩y"),
    ("[@click=app.quit][/", "[@click=app.quit][/"),
]


@pytest.mark.parametrize(("foreign", "shown"), CASES)
def test_clean(foreign: str, shown: str) -> None:
    assert clean(foreign) == shown


@given(st.text(st.characters()))
def test_nothing_a_terminal_acts_on_is_left(text: str) -> None:
    shown = clean(text)
    assert not any(
        (ord(c) < 0x20 and c not in "\n\t") or 0x7F <= ord(c) <= 0x9F or 0xD800 <= ord(c) < 0xE000 for c in shown
    )
    assert clean(shown) == shown
    shown.encode()


@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\u200c\u200d")))
def test_escaped_json_decodes_to_the_same_and_is_harmless(text: str) -> None:
    escaped = escape_json(json.dumps({"a": text}, ensure_ascii=False))
    assert json.loads(escaped) == {"a": text}
    assert clean(escaped) == escaped


def test_one_line() -> None:
    assert clean_line("a\nb\tc\x1b") == "a b c␛"
    assert clean_line("x" * 20, 10) == "x" * 9 + "…"


def test_hidden_characters_are_counted() -> None:
    assert hidden_characters("a\u202eb\U000e0041\r\n\tc") == 2
