"""A live probe of a model: does it stream, call tools, several at once, cache, see images, and how fast is it?

Every check is a real request and costs real tokens (about two thousand in all, the needle test more).
"""

import json
import time
import zlib
from base64 import b64encode
from struct import pack
from typing import Any, Literal

from msgspec import Struct

from tcoder.models.needle import NeedleReport, ask_needles
from tcoder.models.speed import tokens_per_s
from tcoder.protocol.budget import Usage
from tcoder.protocol.errors import ModelError
from tcoder.protocol.handles import Model
from tcoder.protocol.messages import ImagePart, Message, TextPart, ToolResult, ToolResults, ToolSpec, UserMessage
from tcoder.protocol.request import CallDelta, ModelReply, ModelRequest, ReasoningDelta, RetryDelta, TextDelta
from tcoder.protocol.variant import ModelVariant

Finding = Literal["yes", "no", "partly", "unknown", "failed"]

_WEATHER = ToolSpec(
    "weather",
    "The weather in a city today",
    {
        "type": "object",
        "properties": {"city": {"type": "string"}},
        "required": ["city"],
        "additionalProperties": False,
    },
)
_FILLER = "Rule {n}: names say what a thing is for, and a reader can find it from the name alone.\n"


class ProbeCheck(Struct, frozen=True):
    """One thing that was tried, what came of it, and a few words why."""

    name: str
    finding: Finding
    detail: str = ""


class ProbeReport(Struct, frozen=True):
    """`ok` = a text answer came. Times in seconds, speed in tokens a second while streaming, both of the longest
    answer; `served` is the model that the server says it ran; `usage` is the sum over the probe."""

    model: str
    ok: bool
    checks: tuple[ProbeCheck, ...]
    served: str = ""
    tier: str = ""
    first_token_s: float | None = None
    tokens_per_s: float | None = None
    usage: Usage = Usage()
    needle: NeedleReport | None = None


class _Asked(Struct):
    reply: ModelReply | None = None
    deltas: int = 0
    first_s: float | None = None
    seconds: float = 0.0
    error: ModelError | None = None


async def probe(model: Model, variant: ModelVariant, *, needle: bool = False) -> ProbeReport:
    """Try everything once; a failed request is a finding, not an exception. With `needle` also plant facts at set
    depths and ask for them."""
    asked: list[_Asked] = []

    async def ask(system: str, *messages: Message, tools: tuple[ToolSpec, ...] = (), limit: int = 512) -> _Asked:
        request = ModelRequest(variant, system, messages, tools, max_output=limit)
        asked.append(await _ask(model, request))
        return asked[-1]

    text = await ask("You answer briefly.", _user("Count from 1 to 40 in digits, separated by spaces."))
    checks = [_streaming(text)]
    if text.error is None:
        checks += await _tools(ask)
        checks.append(await _caching(ask))
        checks.append(await _images(ask, variant))
    report = await ask_needles(model, variant) if needle and text.error is None else None
    usages = [one.reply.message.usage for one in asked if one.reply and one.reply.message.usage]
    if report is not None:
        usages.append(report.usage)
    served = text.reply.served if text.reply else None
    return ProbeReport(
        model=variant.id,
        ok=text.reply is not None and bool(text.reply.message.text.strip()),
        checks=tuple(checks),
        served=served.model if served else "",
        tier=served.tier if served else "",
        first_token_s=text.first_s,
        tokens_per_s=_speed(text),
        usage=sum(usages, Usage()),
        needle=report,
    )


async def _ask(model: Model, request: ModelRequest) -> _Asked:
    asked = _Asked()
    started = time.monotonic()
    try:
        async for part in model.stream(request):
            match part:
                case TextDelta() | ReasoningDelta() | CallDelta():
                    asked.deltas += 1
                    asked.first_s = asked.first_s or time.monotonic() - started
                case ModelReply():
                    asked.reply = part
                case RetryDelta():
                    pass
    except ModelError as error:
        asked.error = error
    asked.seconds = time.monotonic() - started
    return asked


def _user(text: str) -> UserMessage:
    return UserMessage((TextPart(text),))


def _speed(asked: _Asked) -> float | None:
    return tokens_per_s(asked.reply.message, asked.first_s, asked.seconds) if asked.reply else None


def _streaming(asked: _Asked) -> ProbeCheck:
    if asked.error is not None:
        return ProbeCheck("streaming", "failed", str(asked.error))
    several = asked.deltas > 1
    return ProbeCheck("streaming", "yes" if several else "no", f"{asked.deltas} pieces")


async def _tools(ask: Any) -> list[ProbeCheck]:
    system = "Use the tools. Call a tool for every city at once, in one answer."
    question = _user("What is the weather in Oslo and in Lima?")
    asked: _Asked = await ask(system, question, tools=(_WEATHER,))
    if asked.error is not None:
        return [ProbeCheck("tools", "failed", str(asked.error)), ProbeCheck("parallel tools", "unknown")]
    assert asked.reply is not None  # no error, so a reply
    message = asked.reply.message
    good = [call for call in message.calls if call.name == "weather" and _city(call.arguments)]
    if not good:
        said = message.text[:80].replace("\n", " ")
        return [ProbeCheck("tools", "no", f"it said {said!r}"), ProbeCheck("parallel tools", "unknown")]
    parallel = ProbeCheck("parallel tools", "yes" if len(good) > 1 else "no", f"{len(good)} calls in one answer")
    results = ToolResults(tuple(ToolResult(call.id, "sunny, 17 degrees") for call in message.calls))
    after: _Asked = await ask(system, question, message, results, tools=(_WEATHER,))
    if after.error is not None:
        return [ProbeCheck("tools", "partly", f"results are refused: {after.error}"), parallel]
    assert after.reply is not None  # no error, so a reply
    used = "17" in after.reply.message.text or bool(after.reply.message.calls)
    detail = "calls, and uses the results" if used else "calls, but ignores the results"
    return [ProbeCheck("tools", "yes" if used else "partly", detail), parallel]


def _city(arguments: str) -> bool:
    try:
        return isinstance(json.loads(arguments)["city"], str)
    except (ValueError, KeyError, TypeError):
        return False


async def _caching(ask: Any) -> ProbeCheck:
    """The same long beginning twice; the second time it should come from the cache. Long enough for vendors that cache
    from 1024 tokens on."""
    system = "".join(_FILLER.format(n=n) for n in range(90))
    for question in ("Say yes.", "Say no."):
        asked: _Asked = await ask(system, _user(question), limit=64)
        if asked.error is not None:
            return ProbeCheck("caching", "failed", str(asked.error))
    usage = asked.reply.message.usage if asked.reply else None
    if usage is None:
        return ProbeCheck("caching", "unknown", "the server reports no usage")
    if len(system) // 8 > usage.prompt:
        return ProbeCheck("caching", "no", f"only {usage.prompt} tokens were read: the server cuts prompts silently")
    share = usage.cache_read / usage.prompt if usage.prompt else 0.0
    return ProbeCheck("caching", "yes" if share > 0.5 else "no", f"{share:.0%} of {usage.prompt} tokens")


async def _images(ask: Any, variant: ModelVariant) -> ProbeCheck:
    if not variant.images:
        return ProbeCheck("images", "unknown", "the catalogue does not offer them to this model")
    picture = ImagePart("image/png", b64encode(red_png()).decode())
    asked: _Asked = await ask("You answer with one word.", UserMessage((TextPart("Which colour is this?"), picture)))
    if asked.error is not None:
        return ProbeCheck("images", "failed", str(asked.error))
    said = asked.reply.message.text.strip()[:40] if asked.reply else ""
    return ProbeCheck("images", "yes" if "red" in said.lower() else "no", f"it said {said!r}")


def red_png(side: int = 32) -> bytes:
    """A red square as a PNG."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return pack(">I", len(data)) + kind + data + pack(">I", zlib.crc32(kind + data))

    rows = b"".join(b"\0" + b"\xe0\x10\x10" * side for _ in range(side))
    header = pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)
    image = chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + image


def render(report: ProbeReport) -> str:
    """The report as lines for people."""
    served = f" (served: {report.served}{', ' + report.tier if report.tier else ''})" if report.served else ""
    lines = [f"{report.model}{served}"]
    lines += [f"  {check.name:15} {check.finding:8} {check.detail}".rstrip() for check in report.checks]
    first = "–" if report.first_token_s is None else f"{report.first_token_s:.2f} s"
    speed = "–" if report.tokens_per_s is None else f"{report.tokens_per_s:.1f} tokens/s"
    price = "unknown" if report.usage.cost is None else f"${report.usage.cost:.4f}"
    lines.append(f"  first token {first}, {speed}, {report.usage.total} tokens in all, cost {price}")
    if report.needle is not None:
        lines += report.needle.lines()
    return "\n".join(lines) + "\n"
