"""The log of a failed pipeline: what went wrong first, out of the noise around it. Reads line by line, keeps little."""

import re
from collections import deque
from collections.abc import Iterable

from msgspec import Struct

BEFORE, AFTER = 8, 30
MAX_BLOCKS = 6
MAX_LINE = 400
MAX_CHARACTERS = 12_000

_ANSI = re.compile(rb"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?")
_STAMP = re.compile(
    rb"^(?:\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d+)?Z?\s+(?:\d\d[OE]\+?\s?)?|\[\d\d:\d\d:\d\d(?:\.\d+)?\]\s+)"
)
_MARK = re.compile(rb"^(?:##\[(?:group|endgroup|command)\]|section_(?:start|end):\d+:\S*)")
_ERROR = re.compile(
    rb"(?i:\btraceback \(most recent|\bassertionerror|\bpanicked at|\bsegmentation fault|\bfatal error"
    rb"|\bundefined reference|\bbuild failed|\bcompilation failed)"
    rb"|\bFAILED\b|\bFAIL\b|--- FAIL:|^E  +\S|##\[error\]|\b[A-Za-z.]*Error: |\berror(?:\[E\d+\])?: "
    rb"|\bERROR\b|^\s*\xe2\x9c\x95 |^not ok \d+|\bnpm ERR!"
)
_NOISE = re.compile(
    rb"(?i:\b0 (?:errors?|failed|failures)\b|\bfail-fast|continue-on-error|\berror-prone|--no-error|errors?=0"
    rb"|ignor(?:ed|ing))"
    rb"|Process completed with exit code|ERROR: Job failed|^\s*#"
)
_STRONG = re.compile(
    rb"(?i:traceback \(most recent|assertionerror|panicked at|segmentation fault)"
    rb"|^E  +\S|--- FAIL:|error\[E\d+\]|\b[A-Za-z.]+Error: "
)
# What every line that `_ERROR` finds has in it, in small letters: looked for first, since it is quick.
_HINTS = (b"err", b"fail", b"e  ", b"traceback", b"panicked", b"fault", b"undefined ref", b"not ok", b"\xe2\x9c\x95")


class Excerpt(Struct, frozen=True):
    """What a log says: `text` for the model, the blocks that look like causes first in their own order; `lines` read,
    `errors` lines that looked like one."""

    text: str
    lines: int
    errors: int


def excerpt(log: Iterable[bytes]) -> Excerpt:
    """Find the failures in the lines of a log. The earliest blocks with real evidence are kept, then others, then the
    end of the log, within `MAX_CHARACTERS`."""
    recent: deque[bytes] = deque(maxlen=BEFORE)  # as they came
    blocks: list[tuple[bool, list[bytes]]] = []
    block: list[bytes] = []
    strong, left, lines, errors = False, 0, 0, 0
    for whole in log:
        lines += 1
        raw = whole[: 4 * MAX_LINE]
        low = raw.lower()
        hinted = False
        for hint in _HINTS:  # a plain loop: a generator would cost more than the search
            if hint in low:
                hinted = True
                break
        if not hinted and not left:
            recent.append(raw)
            continue
        line = _clean(raw)
        hit = hinted and bool(_ERROR.search(line)) and not _NOISE.search(line)
        errors += hit
        if hit and not left:
            block = [_clean(earlier) for earlier in recent]
            strong = False
        if hit:
            left = AFTER
            strong = strong or bool(_STRONG.search(line))
        if left:
            block.append(line)
            left -= 1
            if not left or len(block) > 4 * AFTER:
                left = 0
                _keep(blocks, strong=strong, block=block)
        recent.append(raw)
    if left:
        _keep(blocks, strong=strong, block=block)
    return Excerpt(_render(blocks, [_clean(last) for last in recent]), lines, errors)


def _clean(raw: bytes) -> bytes:
    """A line without colours, time stamps and the marks of the CI system, cut when it is endless."""
    line = raw.rstrip(b"\r\n")
    if b"\x1b" in line:
        line = _ANSI.sub(b"", line)
    line = _STAMP.sub(b"", line, count=1)
    line = _MARK.sub(b"", line, count=1)
    return line.rpartition(b"\r")[2][:MAX_LINE]


def _keep(blocks: list[tuple[bool, list[bytes]]], *, strong: bool, block: list[bytes]) -> None:
    """Keep a block unless there are enough; a strong one takes the place of the last weak one."""
    if len(blocks) < MAX_BLOCKS:
        blocks.append((strong, block))
        return
    weak = next((at for at in range(len(blocks) - 1, -1, -1) if not blocks[at][0]), None)
    if strong and weak is not None:
        del blocks[weak]
        blocks.append((strong, block))


def _render(blocks: list[tuple[bool, list[bytes]]], end: list[bytes]) -> str:
    ordered = [block for strong, block in blocks if strong] + [block for strong, block in blocks if not strong]
    parts: list[str] = []
    room = MAX_CHARACTERS
    for block in [*ordered, end]:
        text = b"\n".join(block).decode("utf-8", "replace").strip("\n")
        if text and len(text) < room:
            parts.append(text)
            room -= len(text)
    return "\n…\n".join(parts)
