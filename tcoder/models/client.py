"""A model behind HTTP: a dialect, the door to the network, and the patience to try again."""

import asyncio
import random
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing

from msgspec import Struct, structs

from tcoder.models.dialects import anthropic, openai_chat, openai_responses
from tcoder.models.dialects.dialect import Answer, DialectCodec, History
from tcoder.models.local import infill
from tcoder.models.pricing import cost, price_served
from tcoder.models.wire.faults import ReasoningRefusedError
from tcoder.models.wire.http import Door, Timeouts
from tcoder.models.wire.lean_httpx import httpx
from tcoder.models.wire.retry import wait_before_retry
from tcoder.protocol.budget import Usage
from tcoder.protocol.errors import ModelError
from tcoder.protocol.handles import Model
from tcoder.protocol.messages import AssistantMessage, Message, ReasoningPart
from tcoder.protocol.request import ModelPart, ModelReply, ModelRequest, RetryDelta
from tcoder.protocol.variant import Dialect, ModelVariant, Served

SMALLEST_CONTEXT = 1_000
FEWEST_TOKENS = 12
"""Bytes of a body for which a server that reads all of it counts at least one token."""

_DIALECTS: dict[Dialect, DialectCodec] = {
    "openai-chat": openai_chat,
    "openai-responses": openai_responses,
    "anthropic": anthropic,
}


def open_model(
    variant: ModelVariant,
    api_key: str | None,
    *,
    retry_budget_s: float = 60,
    timeouts: Timeouts | None = None,
    transport: httpx.AsyncBaseTransport | None = None,
    chance: Callable[[], float] = random.random,
    pause: Callable[[float], Awaitable[None]] = asyncio.sleep,
) -> Model:
    """A client for `variant`'s provider. It serves every variant with the same base URL and key, so a request for
    another of the provider's variants may go through it too.

    `retry_budget_s` is how long one request may wait for retries in all. `transport` replaces the network, `chance` and
    `pause` the dice and the clock of the retries. The key is sent to `variant.base_url` only and shows up nowhere else.
    Raises `ModelError("auth")` for a key that no header can carry.
    """
    if api_key and not (api_key.isascii() and api_key.isprintable()):
        raise ModelError("auth", "The key holds characters that no key has", "set it again, without line breaks")
    return HttpModel(variant, api_key or "", retry_budget_s, timeouts or patience_of(variant), transport, chance, pause)


def patience_of(variant: ModelVariant) -> Timeouts:
    """A model on this machine may think about a long prompt for many minutes."""
    if variant.on_this_machine:
        return Timeouts(connect=5, first=1800, idle=300, total=3600)
    return Timeouts()


class HttpModel:
    """See `open_model`."""

    def __init__(
        self,
        variant: ModelVariant,
        api_key: str,
        retry_budget_s: float,
        timeouts: Timeouts,
        transport: httpx.AsyncBaseTransport | None,
        chance: Callable[[], float],
        pause: Callable[[float], Awaitable[None]],
    ) -> None:
        self._base_url = variant.base_url
        self._secret = api_key
        self._retry_budget_s = retry_budget_s
        self._chance = chance
        self._pause = pause
        self._history = History()
        self._door = Door(variant.base_url, _credentials(variant, api_key), timeouts, transport)
        self._refused: tuple[Message, ...] = ()
        self._counted = Counted()

    def __repr__(self) -> str:
        return f"HttpModel({self._base_url!r})"

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelPart, None]:
        """See `Model.stream`. An answer that broke off is asked for again: nothing of it has run, since calls run only
        from whole answers."""
        failures, waited = 0, 0.0
        request = self._without_refused(request)
        while True:
            try:
                async with aclosing(self._once(request, failures)) as parts:
                    async for part in parts:
                        yield part
                return
            except ReasoningRefusedError as error:
                stripped = _without_reasoning(request)
                if stripped is request:
                    raise self._scrubbed(error, 0) from None
                self._refused = request.messages
                request = stripped
                continue
            except ModelError as error:
                failures += 1
                wait = wait_before_retry(error, failures, waited, self._retry_budget_s, self._chance())
                if wait is None:
                    raise self._scrubbed(error, failures) from None
                waited += wait
                shown = self._scrubbed(error, 0)
            yield RetryDelta(shown.failure, shown.message, wait, failures)
            await self._pause(wait)

    async def close(self) -> None:
        await self._door.close()

    async def _once(self, request: ModelRequest, retries: int) -> AsyncGenerator[ModelPart, None]:
        variant = request.variant
        if variant.base_url != self._base_url:
            raise ModelError("bad_request", f"This client talks to {self._base_url} only", "open another one")
        dialect: DialectCodec = infill if request.fill is not None else _DIALECTS[variant.dialect]
        wire = dialect.to_wire(request, self._history)
        fold = dialect.open_fold(request, self._history.call_ids)
        started = time.monotonic()
        first: float | None = None
        try:
            async with aclosing(self._door.events(wire, variant, fold)) as batches:
                async for batch in batches:
                    for part in fold.feed(batch):
                        if first is None:
                            first = time.monotonic() - started
                        yield part
        except ModelError as error:
            # A connection that breaks after the last word, while only the usage is missing, has cost us nothing.
            if not fold.complete or error.failure not in ("network", "timeout"):
                raise
        answer = fold.finish()
        usage = answer.message.usage
        warning = cut_silently(wire.body, usage, self._counted.before(request))
        self._counted = Counted(variant.model, request.messages, len(wire.body), usage.prompt if usage else 0)
        served = Served(answer.model, answer.tier, first, time.monotonic() - started, retries, warning)
        yield ModelReply(_priced(answer, variant), served)

    def _without_refused(self, request: ModelRequest) -> ModelRequest:
        """Reasoning that the provider refused once is not sent to it again."""
        known = len(self._refused)
        if not known or request.messages[:known] != self._refused:
            return request
        cleaned = structs.replace(request, messages=self._refused)
        return structs.replace(request, messages=_without_reasoning(cleaned).messages + request.messages[known:])

    def _scrubbed(self, error: ModelError, failures: int) -> ModelError:
        """`error` without the key, which some servers repeat in what they answer."""
        message = error.message.replace(self._secret, "…") if self._secret else error.message
        if failures > 1:
            message = f"{message}; tried {failures} times"
        return ModelError(error.failure, message, error.hint, retry_after_s=error.retry_after_s)


class Counted(Struct, frozen=True):
    """A request that was counted: its conversation, the length of its body, and what the server says it read."""

    model: str = ""
    messages: tuple[Message, ...] = ()
    size: int = 0
    prompt: int = 0

    def before(self, request: ModelRequest) -> "Counted | None":
        """Itself when `request` goes on with its conversation and model, else None."""
        known = len(self.messages)
        goes_on = request.variant.model == self.model and request.messages[:known] == self.messages
        return self if self.prompt and goes_on else None


def cut_silently(body: bytes, usage: Usage | None, earlier: Counted | None = None) -> str:
    """A warning when the server counted far fewer prompt tokens than it was sent: some, Ollama above all, drop the
    beginning of what does not fit into a small default context and say nothing. It shows in a count that is too small
    for the text (which has three to six bytes to a token), or that stays while the conversation grows. Empty = no sign
    of it."""
    if usage is None or not usage.prompt or b"base64" in body:
        return ""
    short = len(body) >= 16_000 and len(body) >= FEWEST_TOKENS * usage.prompt
    grown = len(body) - earlier.size if earlier else 0
    stays = earlier is not None and usage.prompt - earlier.prompt < grown // FEWEST_TOKENS
    if not short and not (grown >= 2_000 and stays and usage.prompt >= SMALLEST_CONTEXT):
        return ""
    return (
        f"The server read only {usage.prompt} tokens of a prompt of about {len(body) // 4}: it cuts long prompts "
        "silently. Give it a larger context (for Ollama set OLLAMA_CONTEXT_LENGTH=65536)."
    )


def _credentials(variant: ModelVariant, api_key: str) -> dict[str, str]:
    headers: dict[str, str] = {}
    if variant.dialect == "anthropic":
        headers["anthropic-version"] = "2023-06-01"
        if api_key:
            headers["x-api-key"] = api_key
    if api_key and (variant.dialect != "anthropic" or "bearer" in variant.quirks):
        headers["authorization"] = f"Bearer {api_key}"
    return headers


def _priced(answer: Answer, variant: ModelVariant) -> AssistantMessage:
    usage = answer.message.usage
    if usage is None:
        return answer.message
    price = price_served(variant, answer.tier)
    return structs.replace(answer.message, usage=structs.replace(usage, cost=cost(usage, price)))


def _without_reasoning(request: ModelRequest) -> ModelRequest:
    changed = False
    messages: list[Message] = []
    for message in request.messages:
        if isinstance(message, AssistantMessage) and any(isinstance(p, ReasoningPart) for p in message.parts):
            message = structs.replace(
                message, parts=tuple(p for p in message.parts if not isinstance(p, ReasoningPart))
            )
            changed = True
        messages.append(message)
    return structs.replace(request, messages=tuple(messages)) if changed else request
