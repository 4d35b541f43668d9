"""Takes keys out of text before it is written anywhere: journals, logs, debug files, error messages."""

import base64
import json
import re
from collections.abc import Iterable, Mapping
from urllib.parse import quote

from tcoder.workspace.sandbox.environment import looks_secret

REDACTED = "[redacted]"
MIN_LENGTH = 8
"""Shorter values are words, not keys: taking them out would garble everything."""

# What the vendors' keys look like, each with a piece of text without which it need not be looked for.
_PATTERNS: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (marker, re.compile(pattern))
    for marker, pattern in (
        ("sk-", r"(?<![A-Za-z0-9])sk-[A-Za-z0-9_-]{20,200}"),
        ("sk_", r"(?<![A-Za-z0-9])[sr]k_(?:live|test)_[A-Za-z0-9]{16,200}"),
        ("AIza", r"(?<![A-Za-z0-9])AIza[A-Za-z0-9_-]{35}"),
        ("gh", r"(?<![A-Za-z0-9])gh[opusr]_[A-Za-z0-9]{36,255}"),
        ("github_pat_", r"(?<![A-Za-z0-9])github_pat_[A-Za-z0-9_]{40,255}"),
        ("glpat-", r"(?<![A-Za-z0-9])glpat-[A-Za-z0-9_-]{20,200}"),
        ("xox", r"(?<![A-Za-z0-9])xox[abeoprs]-[A-Za-z0-9-]{10,200}"),
        ("AKIA", r"(?<![A-Za-z0-9])AKIA[A-Z0-9]{16}(?![A-Z0-9])"),
        ("ASIA", r"(?<![A-Za-z0-9])ASIA[A-Z0-9]{16}(?![A-Z0-9])"),
        ("hf_", r"(?<![A-Za-z0-9])hf_[A-Za-z0-9]{30,100}"),
        ("gsk_", r"(?<![A-Za-z0-9])gsk_[A-Za-z0-9]{40,100}"),
        ("xai-", r"(?<![A-Za-z0-9])xai-[A-Za-z0-9]{40,200}"),
        ("r8_", r"(?<![A-Za-z0-9])r8_[A-Za-z0-9]{30,100}"),
        ("npm_", r"(?<![A-Za-z0-9])npm_[A-Za-z0-9]{36}"),
        ("pypi-", r"(?<![A-Za-z0-9])pypi-[A-Za-z0-9_-]{50,400}"),
        ("eyJ", r"(?<![A-Za-z0-9])eyJ[A-Za-z0-9_-]{8,2000}\.eyJ[A-Za-z0-9_-]{8,4000}\.[A-Za-z0-9_-]{8,1000}"),
        ("PRIVATE KEY", r"(?s)-----BEGIN [A-Z ]{0,20}PRIVATE KEY-----.{0,20000}?-----END [A-Z ]{0,20}PRIVATE KEY-----"),
    )
)
# Headers and addresses keep their shape: only what follows the name goes.
_AFTER = (
    (("earer",), re.compile(r"([Bb]earer\s{1,4})[A-Za-z0-9._~+/=-]{8,4000}")),
    (
        ("-key", "-Key", "-KEY"),
        re.compile(
            r"""((?i:x-api-key|x-goog-api-key|api-key)["']?\s{0,4}[:=]\s{0,4}["']?)[A-Za-z0-9._~+/=-]{8,4000}"""
        ),
    ),
    (("://",), re.compile(r"(://[^\s/:@\"']{0,200}:)[^\s/@\"']{1,500}(?=@)")),
)


class Redactor:
    """Takes known values and everything that looks like a vendor's key out of text.

    `values` are secrets that the caller holds, such as the key of the model; they are also found as JSON, percent
    encoding or base64 writes them. Values shorter than `MIN_LENGTH` are left alone. A secret that is split over two
    texts is not found: give whole lines.
    """

    def __init__(self, values: Iterable[str] = ()) -> None:
        spellings = {spelling for value in values if len(value) >= MIN_LENGTH for spelling in _spellings(value)}
        # The longest first, so that no part of a longer one is left.
        self._values = tuple(sorted(spellings, key=lambda value: (-len(value), value)))

    def text(self, text: str) -> str:
        """`text` with `[redacted]` in the place of each secret. Doing it twice changes nothing more."""
        for value in self._values:
            if value in text:
                text = text.replace(value, REDACTED)
        for marker, pattern in _PATTERNS:
            if marker in text:
                text = pattern.sub(REDACTED, text)
        for markers, pattern in _AFTER:
            if any(marker in text for marker in markers):
                text = pattern.sub(rf"\g<1>{REDACTED}", text)
        return text

    def line(self, line: bytes) -> bytes:
        """A line of a journal: known values and vendors' keys go. What merely follows `Bearer` or stands where a
        password could is left, since a stored conversation about such code has to stay what it was."""
        text = line.decode("utf-8", "surrogateescape")
        kept = text
        for value in self._values:
            if value in text:
                text = text.replace(value, REDACTED)
        for marker, pattern in _PATTERNS:
            if marker in text:
                text = pattern.sub(REDACTED, text)
        return line if text is kept else text.encode("utf-8", "surrogateescape")

    def data(self, data: bytes) -> bytes:
        """The same for bytes that are text in UTF-8; other bytes are kept as they are."""
        return self.text(data.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")


def secrets_of(environ: Mapping[str, str]) -> tuple[str, ...]:
    """The values of an environment that are credentials by name or form; paths, plain words and names of people are
    none."""
    return tuple(
        value
        for name, value in environ.items()
        if looks_secret(name, value)
        and not name.startswith("GIT_")
        and not value.startswith("/")
        and not (value.isalpha() and value.islower())
        and not value.isdecimal()
    )


def _spellings(value: str) -> Iterable[str]:
    yield value
    yield json.dumps(value)[1:-1]
    yield json.dumps(value, ensure_ascii=False)[1:-1]
    yield quote(value, safe="")
    encoded = value.encode("utf-8", "surrogatepass")
    for alphabet in (base64.b64encode, base64.urlsafe_b64encode):
        yield alphabet(encoded).decode().rstrip("=")
