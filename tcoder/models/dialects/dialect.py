"""What a wire dialect is: a request to bytes, and server-sent events back to parts."""

from collections.abc import Callable, Collection
from typing import Any, Protocol

import msgspec
from msgspec import Struct

from tcoder.protocol.budget import Usage
from tcoder.protocol.messages import AssistantMessage, Message
from tcoder.protocol.request import ModelPart, ModelRequest

encode_json: Callable[[Any], bytes] = msgspec.json.Encoder().encode


class WireRequest(Struct, frozen=True):
    """One POST without its credentials: `path` is below the variant's base URL."""

    path: str
    headers: dict[str, str]
    body: bytes


class Answer(Struct, frozen=True):
    """What a whole stream said: the message with its usage (not priced yet), and what the server says it ran."""

    message: AssistantMessage
    model: str = ""
    tier: str = ""


class Fold(Protocol):
    """Reads one response. `complete`: the answer is whole, though more (usage) may follow. `ended`: nothing follows."""

    @property
    def complete(self) -> bool: ...

    @property
    def ended(self) -> bool: ...

    def feed(self, events: list[bytes]) -> list[ModelPart]:
        """The deltas that these event payloads bring, neighbours of a kind joined. Raises `ModelError` for an error
        that the server reports inside the stream and for payloads that are no JSON."""
        ...

    def finish(self) -> Answer:
        """The whole answer. Raises `ModelError("truncated")` unless `complete`."""
        ...


class History:
    """Encoded bytes of the conversations that were sent lately, so that a step encodes only what is new.

    A conversation is found again by its first message; at most `kept` are held (the main one and some asides).
    """

    def __init__(self, kept: int = 4) -> None:
        self._kept = kept
        self._transcripts: list[_Transcript] = []

    def encoded(self, key: object, messages: tuple[Message, ...], encode: Callable[[Message], bytes]) -> bytes:
        """`messages` encoded one by one and joined with commas; an empty encoding leaves no trace. `key` says what the
        encoding depends on besides the messages: bytes are reused only under an equal key."""
        transcript = self._find(key, messages)
        transcript.extend(messages, encode)
        return bytes(transcript.joined)

    @property
    def call_ids(self) -> Collection[str]:
        """Ids of all tool calls in the conversation that was encoded last."""
        return self._transcripts[-1].call_ids if self._transcripts else ()

    def _find(self, key: object, messages: tuple[Message, ...]) -> "_Transcript":
        for transcript in self._transcripts:
            if transcript.key == key and transcript.messages[:1] == messages[:1]:
                self._transcripts.remove(transcript)
                break
        else:
            transcript = _Transcript(key)
            del self._transcripts[: max(0, len(self._transcripts) + 1 - self._kept)]
        self._transcripts.append(transcript)
        return transcript


class _Transcript:
    def __init__(self, key: object) -> None:
        self.key = key
        self.messages: tuple[Message, ...] = ()
        self.joined = bytearray()
        self.call_ids: set[str] = set()
        self._ends: list[int] = []  # length of `joined` after each message

    def extend(self, messages: tuple[Message, ...], encode: Callable[[Message], bytes]) -> None:
        known = len(self.messages)
        if messages[:known] != self.messages:  # identical objects compare at once, so this is cheap when it holds
            self._cut(_common(self.messages, messages))
        for message in messages[len(self.messages) :]:
            encoded = encode(message)
            if encoded and self.joined:
                self.joined += b","
            self.joined += encoded
            self._ends.append(len(self.joined))
            if isinstance(message, AssistantMessage):
                self.call_ids.update(call.id for call in message.calls)
        self.messages = messages

    def _cut(self, length: int) -> None:
        self.messages = self.messages[:length]
        del self._ends[length:]
        del self.joined[self._ends[-1] if self._ends else 0 :]
        self.call_ids = {c.id for m in self.messages if isinstance(m, AssistantMessage) for c in m.calls}


def _common(one: tuple[Message, ...], other: tuple[Message, ...]) -> int:
    for index, (a, b) in enumerate(zip(one, other, strict=False)):
        if a != b:
            return index
    return min(len(one), len(other))


def body_of(head: dict[str, Any], name: str, items: bytes) -> bytes:
    """A JSON object of `head` and, last, the array `name` of already encoded `items`: so the next body of a growing
    conversation begins with this one, its two closing brackets taken off."""
    return b"".join((encode_json(head)[:-1], b',"', name.encode(), b'":[', items, b"]}"))


class DialectCodec(Protocol):
    """A dialect's module, as the client uses it."""

    def to_wire(self, request: ModelRequest, history: History | None = None) -> WireRequest: ...

    def open_fold(self, request: ModelRequest, taken: Collection[str] = ()) -> Fold: ...


def plain_usage(prompt: int, cache_read: int, cache_write: int, output: int, reasoning: int) -> Usage:
    """Usage of one call from a vendor whose prompt count includes what was cached."""
    return Usage(
        input_uncached=max(0, prompt - cache_read - cache_write),
        cache_read=cache_read,
        cache_write=cache_write,
        output=output,
        reasoning=reasoning,
        calls=1,
    )
