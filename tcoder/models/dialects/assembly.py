"""Puts an assistant message together from what a stream brings, whatever the dialect."""

import json
import re
from collections.abc import Callable, Collection
from hashlib import sha256
from typing import Any, TypeVar

import msgspec

from tcoder.protocol.budget import Usage
from tcoder.protocol.errors import ModelError
from tcoder.protocol.messages import AssistantMessage, AssistantPart, ReasoningPart, StopReason, TextPart, ToolCall
from tcoder.protocol.request import CallDelta, ModelPart, ReasoningDelta, TextDelta

T = TypeVar("T")


def decode_event(data: bytes, decoder: "msgspec.json.Decoder[T]", kind: type[T], tidy: Callable[[Any], Any]) -> T:
    """An event's JSON as `kind`. What the strict and quick decoder refuses (a lone surrogate, a vendor's odd types) is
    read by the standard library, put right by `tidy` and converted. Raises `ModelError("bad_response")`."""
    try:
        return decoder.decode(data)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        pass
    try:
        return msgspec.convert(tidy(json.loads(data)), kind, strict=False)
    except (ValueError, RecursionError, msgspec.MsgspecError) as error:
        shown = data[:120].decode("utf-8", "replace")
        raise ModelError("bad_response", f"The server sent an event that cannot be read: {shown!r}") from error


class Joiner:
    """Joins neighbouring deltas of one batch, because each delta costs its reader far more than a longer string.

    Also joins surrogate halves that a server put into two deltas; a half without its other becomes U+FFFD.
    """

    def __init__(self) -> None:
        self._held = {TextDelta: "", ReasoningDelta: ""}

    def text_parts(self, kind: type[TextDelta] | type[ReasoningDelta], pieces: list[str]) -> str:
        text = self._held[kind] + "".join(pieces)
        if text.isascii():
            return text
        self._held[kind] = ""
        if "\ud800" <= text[-1] <= "\udbff":
            self._held[kind] = text[-1]
            text = text[:-1]
        return mend(text)


def mend(text: str) -> str:
    """`text` with surrogate pairs joined and lone halves replaced, so that it can always be encoded."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


class Block:
    """One part under construction: text, reasoning or a call."""

    __slots__ = ("call_id", "index", "kind", "name", "opaque", "pieces")

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.pieces: list[str] = []
        self.opaque = ""
        self.call_id = ""
        self.name = ""
        self.index = 0  # among the calls


class Assembly:
    """Blocks in the order in which they began, and the deltas that show them growing."""

    def __init__(self, model_id: str, taken: Collection[str]) -> None:
        self._model_id = model_id
        self._taken = taken
        self._blocks: list[Block] = []
        self._open: Block | None = None
        self._joiner = Joiner()
        self._batch: list[str] = []
        self._batch_kind: type[TextDelta] | type[ReasoningDelta] = TextDelta
        self._calls = 0

    # -- growing -----------------------------------------------------------------------------------------------------

    def text(self, piece: str, out: list[ModelPart]) -> None:
        self._say(TextDelta, "text", piece, out)

    def reasoning(self, piece: str, out: list[ModelPart]) -> None:
        self._say(ReasoningDelta, "reasoning", piece, out)

    def _say(self, kind: type[TextDelta] | type[ReasoningDelta], name: str, piece: str, out: list[ModelPart]) -> None:
        if not piece:
            return
        if kind is not self._batch_kind:
            self.flush(out)
            self._batch_kind = kind
        self._batch.append(piece)
        block = self._open
        if block is None or block.kind != name:
            block = self.begin(name)
        block.pieces.append(piece)

    def flush(self, out: list[ModelPart]) -> None:
        """Put the batch's text into `out`; call it at the end of each batch."""
        if not self._batch:
            return
        text = self._joiner.text_parts(self._batch_kind, self._batch)
        self._batch.clear()
        if text:
            out.append(self._batch_kind(text))

    def begin(self, kind: str) -> Block:
        """Start a block of its own even if one of the same kind is open."""
        block = Block(kind)
        self._blocks.append(block)
        self._open = block
        return block

    def end(self) -> None:
        """The open block is whole: what follows begins another."""
        self._open = None

    def begin_call(self, call_id: str, name: str, out: list[ModelPart]) -> Block:
        self.flush(out)
        block = self.begin("call")
        block.call_id = call_id
        block.name = name
        block.index = self._calls
        self._calls += 1
        out.append(CallDelta(block.index, name, ""))
        self._open = None  # calls may grow side by side; text after one is a block of its own
        return block

    def grow_call(self, block: Block, piece: str, out: list[ModelPart]) -> None:
        if not piece:
            return
        self.flush(out)
        block.pieces.append(piece)
        last = out[-1] if out else None
        if isinstance(last, CallDelta) and last.index == block.index:
            out[-1] = CallDelta(block.index, block.name, last.arguments + piece)
        else:
            out.append(CallDelta(block.index, block.name, piece))

    def attach_reasoning(self, opaque: str) -> None:
        """Keep the vendor's own form of what it thought, on the last reasoning block."""
        thoughts = [block for block in self._blocks if block.kind == "reasoning"]
        block = thoughts[-1] if thoughts else Block("reasoning")
        block.opaque = opaque
        if not thoughts:
            self._blocks.insert(0, block)

    # -- reading -----------------------------------------------------------------------------------------------------

    @property
    def has_calls(self) -> bool:
        return self._calls > 0

    def message(self, stop: StopReason, usage: Usage | None) -> AssistantMessage:
        """The message so far. Call ids are unique within it and against `taken`; a call without one gets one. Empty
        arguments mean `{}`, except in an answer that was cut, where they mean that nothing arrived."""
        parts: list[AssistantPart] = []
        seen: set[str] = set()
        for block in self._blocks:
            body = mend("".join(block.pieces))
            match block.kind:
                case "call":
                    call_id = self._unique(block.call_id, seen)
                    arguments = body if body.strip() or stop == "length" else "{}"
                    parts.append(ToolCall(call_id, block.name, arguments))
                case "reasoning":
                    if body or block.opaque:
                        parts.append(ReasoningPart(body, block.opaque, self._model_id))
                case _:
                    if body:
                        parts.append(TextPart(body))
        return AssistantMessage(tuple(parts), self._model_id, stop, usage)

    def _unique(self, call_id: str, seen: set[str]) -> str:
        wanted, number = call_id, len(seen)
        while not wanted or wanted in seen or wanted in self._taken:
            wanted = f"call{len(self._taken) + number:05}"  # nine letters and digits, which every vendor accepts
            number += 1
        seen.add(wanted)
        return wanted


def wire_id(call_id: str, pattern: "re.Pattern[str]") -> str:
    """`call_id` as the vendor accepts it: unchanged when it fits `pattern`, else nine characters made from it."""
    return call_id if pattern.fullmatch(call_id) else sha256(call_id.encode()).hexdigest()[:9]
