"""Keys do not survive being written."""

import base64
import json
from urllib.parse import quote

import pytest

from tcoder.tools.redact import MIN_LENGTH, REDACTED, Redactor, secrets_of

CANARY = 'canary/7f3a+"quoted"=é-do-not-print'

# Assembled here, so that no scanner takes this file for a leak.
KEYS = [
    "sk-" + "a1B2" * 6,
    "sk-" + "ant-api03-" + "a1B2_" * 10,
    "sk-" + "or-v1-" + "0f" * 32,
    "sk_" + "live_" + "a1B2" * 6,
    "AIza" + "SyA_b-c" * 5,
    "ghp_" + "a1B2" * 9,
    "github_pat_" + "a1B2_" * 12,
    "glpat-" + "a1B2" * 5,
    "xoxb-" + "123456789012-abcdef",
    "AKIA" + "ABCDEFGH12345678",
    "hf_" + "aBcD" * 8,
    "gsk_" + "aBcD" * 12,
    "npm_" + "a1B2" * 9,
    "pypi-" + "AgEIcHlwaS5vcmc" * 5,
    "eyJ" + "hbGciOiJIUzI1NiJ9." + "eyJ" + "zdWIiOiIxMjM0In0." + "c2lnbmF0dXJl",
    "-----BEGIN RSA PRIVATE " + "KEY-----\nMIIEow\nabc\n-----END RSA PRIVATE " + "KEY-----",
]


@pytest.mark.parametrize("key", KEYS)
def test_what_looks_like_a_key_goes(key: str) -> None:
    redactor = Redactor()
    for text in (key, f"x={key} y", f'{{"key": "{key}"}}', f"({key})", f"a\n{key}\nb"):
        shown = redactor.text(text)
        assert key not in shown
        assert shown == text.replace(key, REDACTED)
    assert key[6:] not in redactor.text(json.dumps({"key": key}))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Authorization: Bearer abcdefgh12345678", "Authorization: Bearer [redacted]"),
        ("'authorization': 'bearer abcdefgh.12345678'", "'authorization': 'bearer [redacted]'"),
        ("x-api-key: abcdefgh12345678", "x-api-key: [redacted]"),
        ('{"x-goog-api-key": "abcdefgh12345678"}', '{"x-goog-api-key": "[redacted]"}'),
        ("https://user:hunter22@host/x", "https://user:[redacted]@host/x"),
        ("http://127.0.0.1:8080/x", "http://127.0.0.1:8080/x"),
        ("see https://a.example and mail x@y.example", "see https://a.example and mail x@y.example"),
        ("task-force sk-learn risk-averse", "task-force sk-learn risk-averse"),
        ("the api-key: none", "the api-key: none"),
        ("Bearer of news", "Bearer of news"),
        ("git commit 0123456789abcdef0123456789abcdef01234567", "git commit 0123456789abcdef0123456789abcdef01234567"),
        ("pytest -k 'sk-' tests", "pytest -k 'sk-' tests"),
    ],
)
def test_headers_keep_their_shape_and_prose_its_words(text: str, expected: str) -> None:
    assert Redactor().text(text) == expected


@pytest.mark.parametrize(
    "spelling",
    [
        CANARY,
        json.dumps(CANARY),
        json.dumps(CANARY, ensure_ascii=False),
        quote(CANARY, safe=""),
        base64.b64encode(CANARY.encode()).decode(),
        base64.urlsafe_b64encode(CANARY.encode()).decode(),
        repr(ValueError(f"401 for {CANARY}")),
        f"{CANARY}{CANARY}",
    ],
)
def test_a_known_value_goes_in_every_spelling(spelling: str) -> None:
    shown = Redactor([CANARY]).text(f"before {spelling} after")
    assert "canary" not in shown
    assert "do-not-print" not in shown
    assert shown.startswith("before ") and shown.endswith(" after")
    assert REDACTED in shown


def test_a_longer_value_is_not_left_in_part() -> None:
    assert (
        Redactor(["secret-one", "secret-one-longer"]).text("secret-one-longer secret-one") == f"{REDACTED} {REDACTED}"
    )


def test_short_values_and_nothing_are_no_secrets() -> None:
    assert Redactor(["", "x", "a" * (MIN_LENGTH - 1)]).text("xaaaaaaa x") == "xaaaaaaa x"


def test_twice_is_once() -> None:
    redactor = Redactor([CANARY])
    text = " ".join([*KEYS, CANARY, "Bearer abcdefgh12345678", "https://u:pppppppp@h"])
    once = redactor.text(text)
    assert redactor.text(once) == once


def test_bytes_that_are_no_text_are_kept() -> None:
    assert Redactor(["secret-value"]).data(b"\xff\xfe secret-value \x80") == b"\xff\xfe [redacted] \x80"


def test_a_stored_line_loses_keys_and_keeps_what_only_looks_like_one() -> None:
    redactor = Redactor(["my-Secret-value-77"])
    line = json.dumps({"a": f"x my-Secret-value-77 {KEYS[0]}", "b": "Authorization: Bearer authentication é"}).encode()
    written = redactor.line(line)
    assert json.loads(written) == {
        "a": f"x {REDACTED} {REDACTED}", "b": "Authorization: Bearer authentication é",
    }  # fmt: skip
    assert redactor.line(written) is written


@pytest.mark.parametrize(
    ("name", "value", "secret"),
    [
        ("OPENAI_API_KEY", "abc-DEF-123456", True),
        ("WHATEVER", "ghp_" + "a1B2" * 9, True),
        ("GIT_AUTHOR_NAME", "Jane Doe", False),
        ("SSH_AUTH_SOCK", "/run/agent", False),
        ("APP_TOKEN", "development", False),
        ("MAX_TOKENS", "12345678", False),
        ("EDITOR", "vim", False),
    ],
)
def test_which_variables_hold_secrets(name: str, value: str, secret: bool) -> None:
    assert (secrets_of({name: value}) == (value,)) is secret
