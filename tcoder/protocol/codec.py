"""JSON of the protocol's values: one strict codec for journal, `stream-json` and settings."""

import re
from typing import Any, TypeVar

import msgspec
from msgspec import Struct

from tcoder.protocol.events import SCHEMA, Delta, Event, Recorded

T = TypeVar("T")

_encoder = msgspec.json.Encoder(decimal_format="string")


def encode(value: Any) -> bytes:
    """`value` as compact JSON."""
    return _encoder.encode(value)


def decode(data: bytes | str, kind: type[T]) -> T:
    """JSON to a value of `kind`. Raises `msgspec.ValidationError` or `msgspec.DecodeError` (both `MsgspecError`)."""
    return msgspec.json.decode(data, type=kind)


def encode_line(recorded: Recorded) -> bytes:
    """An event as one journal line: `schema`, `seq`, `time`, then the event's own `type` and fields, with a newline."""
    body = _encoder.encode(recorded.event)
    head = b'{"schema":%d,"seq":%d,"time":"%s",' % (SCHEMA, recorded.seq, recorded.time.encode())
    return head + body[1:] + b"\n"


def encode_delta(delta: Delta) -> bytes:
    """A delta as one line of `stream-json`; deltas have no number and no time since the journal does not keep them."""
    return b'{"schema":%d,' % SCHEMA + _encoder.encode(delta)[1:] + b"\n"


class _Envelope(Struct, frozen=True):
    schema: int
    seq: int
    time: str


_HEAD = re.compile(rb'\{"schema":(\d+),"seq":(\d+),"time":"([^"\\]*)",')
_envelope_decoder = msgspec.json.Decoder(_Envelope)
_event_decoder = msgspec.json.Decoder(Event)


def decode_line(line: bytes) -> Recorded:
    """The inverse of `encode_line`. Raises `msgspec.MsgspecError` for anything else, a newer schema included."""
    if head := _HEAD.match(line):  # as `encode_line` writes it: the line need not be read twice
        schema, seq, time = int(head[1]), int(head[2]), head[3].decode()
    else:
        envelope = _envelope_decoder.decode(line)
        schema, seq, time = envelope.schema, envelope.seq, envelope.time
    if schema > SCHEMA:
        raise msgspec.ValidationError(f"schema {schema} is newer than {SCHEMA}")
    return Recorded(seq, time, _event_decoder.decode(line))
