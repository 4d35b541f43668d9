"""Our HTTP/1.1 connection against bytes that servers send, whole, in pieces, and broken."""

import asyncio

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tcoder.models.wire.connection import Connection


class Wire(asyncio.Transport):
    """The other end: counts what is written and can be closed."""

    def __init__(self) -> None:
        super().__init__()
        self.sent = b""
        self.closed = False
        self.paused = False

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.sent += bytes(data)

    def abort(self) -> None:
        self.closed = True

    def is_closing(self) -> bool:
        return self.closed

    def pause_reading(self) -> None:
        self.paused = True

    def resume_reading(self) -> None:
        self.paused = False


async def exchange(*pieces: bytes, close: bool = False) -> tuple[int, bytes, Connection, Wire]:
    connection, wire = Connection(), Wire()
    connection.connection_made(wire)
    await connection.send(b"POST / HTTP/1.1\r\n\r\n", b"body")
    for piece in pieces:
        connection.data_received(piece)
    if close:
        connection.connection_lost(None)
    status, _ = await connection.read_head()
    body = b""
    while data := await connection.read():
        body += data
    return status, body, connection, wire


CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nWiki\r\n6;x=y\r\npedia \r\n0\r\nT: a\r\n\r\n"
SIZED = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nHello"


@pytest.mark.parametrize(
    ("stream", "close", "status", "body", "idle"),
    [
        (CHUNKED, False, 200, b"Wikipedia ", True),
        (SIZED, False, 200, b"Hello", True),
        (b"HTTP/1.1 100 Continue\r\n\r\n" + SIZED, False, 200, b"Hello", True),
        (b"HTTP/1.1 204 No Content\r\n\r\n", False, 204, b"", True),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", False, 200, b"", True),
        (b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 1\r\n\r\nx", False, 200, b"x", False),
        (b"HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\nx", False, 200, b"x", False),
        (b"HTTP/1.1 200 OK\r\n\r\nuntil the end", True, 200, b"until the end", False),
        (SIZED + b"HTTP/1.1 200 uninvited", False, 200, b"Hello", False),
    ],
)
async def test_bodies_by_their_framing(stream: bytes, close: bool, status: int, body: bytes, idle: bool) -> None:
    got = await exchange(stream, close=close)
    assert (got[0], got[1], got[2].idle) == (status, body, idle)
    for at in range(1, len(stream)):
        split = await exchange(stream[:at], stream[at:], close=close)
        assert (split[0], split[1]) == (status, body)
    assert (await exchange(*(stream[i : i + 1] for i in range(len(stream))), close=close))[1] == body


@settings(max_examples=50, deadline=None)
@given(st.lists(st.binary(min_size=1, max_size=40), max_size=8), st.integers(1, 30))
def test_any_chunks_in_any_pieces_come_out_whole(chunks: list[bytes], size: int) -> None:
    stream = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    stream += b"".join(b"%x\r\n%b\r\n" % (len(chunk), chunk) for chunk in chunks) + b"0\r\n\r\n"
    pieces = [stream[at : at + size] for at in range(0, len(stream), size)]
    _, body, connection, _ = asyncio.run(exchange(*pieces))
    assert body == b"".join(chunks)
    assert connection.idle


@pytest.mark.parametrize(
    ("stream", "says"),
    [
        (b"SSH-2.0-OpenSSH\r\n\r\n", "does not speak HTTP"),
        (b"HTTP/1.1 200 OK\r\nbad header\r\n\r\n", "head is malformed"),
        (b"HTTP/1.1 200 OK\r\na b: c\r\n\r\n", "head is malformed"),
        (b"HTTP/1.1 200 OK\r\n" + b"x" * 70_000, "too long"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", "no clear length"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n", "no clear length"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n", "transfer encoding"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", "chunks are malformed"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nabc\r\n", "chunks are malformed"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + b"1" * 2000, "chunks are malformed"),
    ],
)
async def test_r14_garbage_is_an_error_and_closes(stream: bytes, says: str) -> None:
    with pytest.raises(httpx.RemoteProtocolError, match=says):
        await exchange(stream)


@pytest.mark.parametrize(
    ("stream", "says"),
    [
        (b"", "before it answered"),
        (CHUNKED[:-5], "in the middle"),
        (SIZED[:-1], "in the middle"),
    ],
)
async def test_r04_a_connection_that_ends_early_is_an_error(stream: bytes, says: str) -> None:
    with pytest.raises(httpx.RemoteProtocolError, match=says):
        await exchange(stream, close=True)


async def test_r13_a_reader_that_is_slow_stops_the_sender() -> None:
    connection, wire = Connection(), Wire()
    connection.connection_made(wire)
    await connection.send(b"POST / HTTP/1.1\r\n\r\n", b"")
    connection.data_received(b"HTTP/1.1 200 OK\r\nContent-Length: 4000000\r\n\r\n" + b"x" * 2_000_000)
    assert wire.paused
    assert len(await connection.read()) == 2_000_000
    assert not wire.paused


async def test_bytes_that_nobody_asked_for_close_an_idle_connection() -> None:
    _, _, connection, wire = await exchange(SIZED)
    assert connection.idle
    connection.data_received(b"HTTP/1.1 200 OK\r\n\r\n")
    assert wire.closed
    assert not connection.idle
