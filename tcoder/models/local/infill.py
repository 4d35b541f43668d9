"""Fill in the middle: a completions request in a model's own tokens, for models that were trained to fill a gap.

Spoken on `/completions` of an OpenAI-compatible server. A variant that can do it carries a quirk `fill_NAME`, where
NAME is one of `FORMATS`. Small code models fill one line far better than they follow instructions about it.
"""

from collections.abc import Collection
from typing import Any, cast

import msgspec
from msgspec import Struct

from tcoder.models.dialects.assembly import Assembly, decode_event
from tcoder.models.dialects.dialect import Answer, History, WireRequest, encode_json, plain_usage
from tcoder.models.wire.faults import stream_error
from tcoder.protocol.budget import Usage
from tcoder.protocol.errors import ModelError
from tcoder.protocol.messages import StopReason
from tcoder.protocol.request import ModelPart, ModelRequest

PATH = "/completions"
FORMATS = {
    "qwen": ("<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>"),
    "starcoder": ("<fim_prefix>", "<fim_suffix>", "<fim_middle>"),
    "deepseek": ("<｜fim▁begin｜>", "<｜fim▁hole｜>", "<｜fim▁end｜>"),
    "codegemma": ("<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>"),
}
_QUIRK = "fill_"


def to_wire(request: ModelRequest, history: History | None = None) -> WireRequest:  # noqa: ARG001 - as every dialect
    """The gap of `request.fill` as one POST. Raises `ModelError("bad_request")` for a variant that cannot fill."""
    variant = request.variant
    name = next((quirk.removeprefix(_QUIRK) for quirk in variant.quirks if quirk.startswith(_QUIRK)), "")
    if request.fill is None or name not in FORMATS:
        raise ModelError("bad_request", f"{variant.id} cannot fill a gap", "ask it in words")
    before, after, middle = FORMATS[name]
    fill = request.fill
    body: dict[str, Any] = {
        "model": variant.model,
        "prompt": f"{before}{_clean(fill.before)}{after}{_clean(fill.after)}{middle}",
        "stream": True,
        "stream_options": {"include_usage": True},
        "max_tokens": request.max_output or 64,
    }
    if request.temperature is not None:
        body["temperature"] = request.temperature
    if request.seed is not None:
        body["seed"] = request.seed
    if request.stop:
        body["stop"] = request.stop
    return WireRequest(PATH, {}, encode_json(body))


def _clean(text: str) -> str:
    """Text of the repository must not hold the model's control tokens."""
    for tokens in FORMATS.values():
        for token in tokens:
            text = text.replace(token, "")
    return text


class _Choice(Struct):
    text: str | None = None
    finish_reason: str | None = None


class _Usage(Struct):
    prompt_tokens: int = 0
    completion_tokens: int = 0


class _Chunk(Struct):
    choices: list[_Choice] | None = None
    usage: _Usage | None = None
    model: str | None = None
    error: Any = None


_decoder = msgspec.json.Decoder(_Chunk)
_STOPS: dict[str, StopReason] = {"stop": "end", "length": "length"}


class InfillFold:
    """Folds one stream; see `Fold`."""

    def __init__(self, request: ModelRequest) -> None:
        self._assembly = Assembly(request.variant.id, ())
        self._finish = ""
        self._usage: Usage | None = None
        self._model = ""
        self.ended = False

    @property
    def complete(self) -> bool:
        return self.ended or bool(self._finish)

    def feed(self, events: list[bytes]) -> list[ModelPart]:
        out: list[ModelPart] = []
        for data in events:
            if data.startswith(b"[DONE]"):
                self.ended = True
                break
            chunk = decode_event(data, _decoder, _Chunk, _tidy)
            if chunk.error:
                raise stream_error(chunk.error)
            if chunk.usage is not None:
                self._usage = plain_usage(chunk.usage.prompt_tokens, 0, 0, chunk.usage.completion_tokens, 0)
            self._model = chunk.model or self._model
            for choice in chunk.choices or ():
                if choice.text:
                    self._assembly.text(choice.text, out)
                self._finish = choice.finish_reason or self._finish
        self._assembly.flush(out)
        return out

    def finish(self) -> Answer:
        if not self.complete:
            raise ModelError("truncated", "The answer broke off before its end")
        return Answer(self._assembly.message(_STOPS.get(self._finish, "unknown"), self._usage), self._model)


def open_fold(request: ModelRequest, taken: Collection[str] = ()) -> InfillFold:  # noqa: ARG001 - as every dialect
    """A fold for the response to `request`."""
    return InfillFold(request)


def _tidy(value: Any) -> Any:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}
