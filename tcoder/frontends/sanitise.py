"""The one place where foreign text is made harmless for a terminal.

Everything that did not come from tcoder's own source passes through `clean` before it is drawn: model text, tool
output, file names, commit messages, errors. What a terminal would act on, or what would show text in another order
than it stands, becomes visible instead: ESC as ␛, other C0 controls as control pictures, everything else as ⟨U+…⟩.
"""

import re

# C0 without tab and newline, DEL and C1; bidi controls and marks; zero-width and invisible format characters;
# line and paragraph separators; interlinear and tag characters; lone surrogates; variation selectors that hide data.
_FOREIGN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f"
    "\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0d\ufeff\uffa0\ufff0-\ufffb\ud800-\udfff"
    "\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
# The joiners make emoji and several scripts readable; between ASCII characters they only hide something.
_JOINER = re.compile(r"(?<=[\x00-\x7f])[\u200c\u200d]|[\u200c\u200d](?=[\x00-\x7f]|$)|^[\u200c\u200d]")
_NEWLINES = re.compile("\r+\n")


def _visible(match: re.Match[str]) -> str:
    code = ord(match.group())
    if code < 0x20:
        return chr(0x2400 + code)
    if code == 0x7F:
        return "␡"
    if 0xD800 <= code <= 0xDFFF:
        return "\N{REPLACEMENT CHARACTER}"
    return f"⟨U+{code:04X}⟩"


def clean(text: str) -> str:
    """`text` without anything that a terminal acts on. Newlines and tabs stay, CRLF becomes a newline, a lone carriage
    return becomes visible. Applying it twice changes nothing more."""
    if "\r" in text:
        text = _NEWLINES.sub("\n", text)
    if text.isascii() and text.isprintable():
        return text
    text = _FOREIGN.sub(_visible, text)
    return _JOINER.sub(_visible, text) if "\u200c" in text or "\u200d" in text else text


def clean_line(text: str, limit: int = 500) -> str:
    """`text` as one harmless line of at most `limit` characters: newlines and tabs become spaces."""
    line = clean(text[: limit * 2]).replace("\n", " ").replace("\t", " ").strip()
    return line if len(line) <= limit and len(text) <= limit * 2 else line[: limit - 1] + "…"


def hidden_characters(text: str) -> int:
    """How many characters `clean` makes visible, tabs and line ends apart."""
    return len(_FOREIGN.findall(text.replace("\r\n", "\n"))) + len(_JOINER.findall(text))


def escape_json(text: str) -> str:
    """JSON text with everything that `clean` would mark written as \\uXXXX, so that the same value is decoded and
    nothing reaches a terminal that shows it. (C0 controls are escaped in JSON anyway.)"""
    return text if text.isascii() and "\x7f" not in text else _FOREIGN.sub(_escaped, text)


def _escaped(match: re.Match[str]) -> str:
    raw = match.group().encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{raw[at] << 8 | raw[at + 1]:04x}" for at in range(0, len(raw), 2))
