"""A model that plays a script: for demos and tests, without network or weights.

A script is a JSON list of steps, one for each request, played in order:

    {"text": "…", "reasoning": "…"}                    say something
    {"calls": [{"name": "read", "arguments": {…}}]}    call tools; arguments may be text to hand over word for word
    {"wait": 0.2}                                      before anything else, seconds
    {"pace": 0.02}                                     between pieces of text, seconds
    {"stop": "length"}                                 another stop reason
    {"fail": "rate_limit", "message": "…"}             raise a `ModelError` of that class
    {"retry": "overloaded"}                            show one retry first
    {"usage": {"input_uncached": 10, "output": 5}}     instead of the counted one

When the script is over the model says that it is.
"""

import asyncio
import time
from collections.abc import AsyncGenerator, Iterable
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from tcoder.models.pricing import cost
from tcoder.protocol.budget import Usage
from tcoder.protocol.errors import ErrorKind, ModelError
from tcoder.protocol.messages import AssistantMessage, AssistantPart, ReasoningPart, StopReason, TextPart, ToolCall
from tcoder.protocol.request import (
    CallDelta,
    ModelPart,
    ModelReply,
    ModelRequest,
    ReasoningDelta,
    RetryDelta,
    TextDelta,
)
from tcoder.protocol.variant import Served

_OVER = "The script is over."
_PIECE = 24


class ScriptedCall(Struct, frozen=True, forbid_unknown_fields=True):
    name: str
    arguments: dict[str, Any] | str = {}
    id: str = ""


class ScriptedUsage(Struct, frozen=True, forbid_unknown_fields=True):
    input_uncached: int = 0
    cache_read: int = 0
    cache_write: int = 0
    output: int = 0


class Step(Struct, frozen=True, forbid_unknown_fields=True):
    """One answer; see the module."""

    text: str = ""
    reasoning: str = ""
    calls: tuple[ScriptedCall, ...] = ()
    wait: float = 0.0
    pace: float = 0.0
    stop: StopReason | None = None
    fail: ErrorKind | None = None
    message: str = ""
    retry: ErrorKind | None = None
    usage: ScriptedUsage | None = None


class ScriptedModel:
    """Plays `steps`; `requests` keeps what it was asked, in order."""

    def __init__(self, steps: Iterable[Step]) -> None:
        self._steps = tuple(steps)
        self.requests: list[ModelRequest] = []

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelPart, None]:
        number = len(self.requests)
        self.requests.append(request)
        step = self._steps[number] if number < len(self._steps) else Step(text=_OVER)
        started = time.monotonic()
        await asyncio.sleep(step.wait)
        if step.retry is not None:
            yield RetryDelta(step.retry, step.message or "scripted", 0.0, 1)
        first = time.monotonic() - started
        for at in range(0, len(step.reasoning), _PIECE):
            yield ReasoningDelta(step.reasoning[at : at + _PIECE])
            await asyncio.sleep(step.pace)
        for at in range(0, len(step.text), _PIECE):
            await asyncio.sleep(step.pace)
            yield TextDelta(step.text[at : at + _PIECE])
        calls = tuple(_call(call, number, index) for index, call in enumerate(step.calls))
        for index, call in enumerate(calls):
            yield CallDelta(index, call.name, call.arguments)
        if step.fail is not None:
            raise ModelError(step.fail, step.message or "the script says so")
        message = AssistantMessage(
            _parts(step, calls, request.variant.id),
            request.variant.id,
            step.stop or ("tool_calls" if calls else "end"),
            _usage(step, request),
        )
        served = Served(request.variant.model, "", first, time.monotonic() - started, 1 if step.retry else 0)
        yield ModelReply(message, served)

    async def close(self) -> None:
        """Nothing is open."""


def open_script(path: str) -> ScriptedModel:
    """The script in a file. Raises `ModelError("unknown_model")` when it cannot be read or is no script."""
    try:
        steps = msgspec.json.decode(Path(path).read_bytes(), type=tuple[Step, ...])
    except OSError as error:
        raise ModelError("unknown_model", f"The script {path} cannot be read: {error.strerror}") from None
    except msgspec.MsgspecError as error:
        raise ModelError("unknown_model", f"{path} is no script: {error}") from None
    return ScriptedModel(steps)


def _call(call: ScriptedCall, number: int, index: int) -> ToolCall:
    arguments = call.arguments if isinstance(call.arguments, str) else msgspec.json.encode(call.arguments).decode()
    return ToolCall(call.id or f"call{number:04}{index}", call.name, arguments)


def _parts(step: Step, calls: tuple[ToolCall, ...], model_id: str) -> tuple[AssistantPart, ...]:
    parts: list[AssistantPart] = []
    if step.reasoning:
        parts.append(ReasoningPart(step.reasoning, "", model_id))
    if step.text:
        parts.append(TextPart(step.text))
    return (*parts, *calls)


def _usage(step: Step, request: ModelRequest) -> Usage:
    """What the script says, else an estimate of four bytes to a token."""
    given = step.usage
    if given is None:
        size = len(request.system) + sum(len(msgspec.json.encode(message)) for message in request.messages)
        written = len(step.text) + sum(len(str(call.arguments)) for call in step.calls)
        given = ScriptedUsage(input_uncached=size // 4 + 1, output=written // 4 + 1)
    usage = Usage(given.input_uncached, given.cache_read, given.cache_write, given.output, calls=1)
    return msgspec.structs.replace(usage, cost=cost(usage, request.variant.price))
