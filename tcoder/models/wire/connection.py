"""One HTTP/1.1 client connection on asyncio, made for answers that arrive in many small chunks.

It stands in for httpcore below httpx: no second event loop abstraction to import and a whole network read of chunks
decoded in one go.
"""

import asyncio
import re
import ssl

from tcoder.models.wire.lean_httpx import httpx

_MAX_HEAD = 64 * 1024
_MAX_CHUNK_LINE = 1024
_HIGH_WATER = 1024 * 1024
_STATUS = re.compile(rb"HTTP/1\.([01]) (\d{3})(?: [^\r\n]*)?")
_TOKEN = re.compile(rb"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_SIZE = re.compile(rb"[0-9A-Fa-f]{1,15}")

Headers = list[tuple[bytes, bytes]]


class Connection(asyncio.Protocol):
    """Sends one request at a time and reads its response; reusable when `idle`."""

    def __init__(self) -> None:
        self._transport: asyncio.Transport | None = None
        self._loop = asyncio.get_running_loop()
        self._waiter: asyncio.Future[None] | None = None
        self._writable: asyncio.Future[None] | None = None
        self._lost = False
        self._error: Exception | None = None
        self._paused = False
        self._reset("DONE")
        self.used = False

    def _reset(self, state: str) -> None:
        self._state = state  # HEAD, LENGTH, CHUNK_SIZE, CHUNK, CHUNK_END, TRAILER, UNTIL_CLOSE, DONE
        self._buffer = bytearray()
        self._left = 0
        self._ready: list[bytes] = []
        self._ready_size = 0
        self._keep_alive = False
        self._head: tuple[int, Headers] | None = None

    # -- asyncio's side ------------------------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)  # a stream endpoint gets a stream transport
        self._transport = transport

    def connection_lost(self, exc: Exception | None) -> None:
        self._lost = True
        if self._state == "UNTIL_CLOSE" and exc is None:
            self._state = "DONE"
        elif exc is not None and self._error is None:
            self._error = httpx.ReadError(str(exc) or type(exc).__name__)
        self._wake()
        if self._writable is not None and not self._writable.done():
            self._writable.set_result(None)

    def pause_writing(self) -> None:
        self._writable = self._loop.create_future()

    def resume_writing(self) -> None:
        if self._writable is not None and not self._writable.done():
            self._writable.set_result(None)
        self._writable = None

    def data_received(self, data: bytes) -> None:
        if self._state == "DONE":  # nobody asked: whatever this is, the connection cannot be trusted any more
            self.abort()
            return
        try:
            self._parse(data)
        except httpx.RemoteProtocolError as error:
            self._error = error
            self.abort()
        if self._ready_size > _HIGH_WATER and not self._paused and self._transport is not None:
            self._paused = True
            self._transport.pause_reading()
        self._wake()

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    # -- our side ------------------------------------------------------------------------------------------------------

    @property
    def idle(self) -> bool:
        """Whether the last exchange is over and another may follow."""
        open_ = self._transport is not None and not self._lost and not self._transport.is_closing()
        return open_ and self._state == "DONE" and self._keep_alive

    async def send(self, head: bytes, body: bytes) -> None:
        assert self._transport is not None
        self._reset("HEAD")
        self._error = None
        self._transport.write(head + body if len(body) < _HIGH_WATER else head)
        if len(body) >= _HIGH_WATER:
            self._transport.write(body)
        if self._writable is not None:
            # A server may refuse before it has read everything: its answer counts, so do not wait only for the write.
            self._waiter = self._loop.create_future()
            await asyncio.wait((self._writable, self._waiter), return_when=asyncio.FIRST_COMPLETED)

    async def read_head(self) -> tuple[int, Headers]:
        """Status and headers. Raises httpx's `ReadError` and `RemoteProtocolError`."""
        while self._head is None:
            await self._more()
        return self._head

    async def read(self) -> bytes:
        """What has arrived of the body, as soon as there is something; empty at its end."""
        while not self._ready:
            if self._state == "DONE":
                return b""
            await self._more()
        data = self._ready[0] if len(self._ready) == 1 else b"".join(self._ready)
        self._ready.clear()
        self._ready_size = 0
        if self._paused and self._transport is not None:
            self._paused = False
            self._transport.resume_reading()
        return data

    async def _more(self) -> None:
        if self._error is not None:
            raise self._error
        if self._lost:
            raise httpx.RemoteProtocolError(
                "the server closed the connection before it answered"
                if self._head is None
                else "the server closed the connection in the middle of its answer"
            )
        self._waiter = self._loop.create_future()
        try:
            await self._waiter
        finally:
            self._waiter = None

    def abort(self) -> None:
        """Close at once, whatever is under way."""
        self._keep_alive = False
        if self._transport is not None:
            self._transport.abort()

    # -- parsing -------------------------------------------------------------------------------------------------------

    def _put(self, data: bytes) -> None:
        if data:
            self._ready.append(data)
            self._ready_size += len(data)

    def _parse(self, data: bytes) -> None:
        if self._state == "UNTIL_CLOSE":
            self._put(data)
            return
        if self._state == "LENGTH" and len(data) <= self._left:
            self._left -= len(data)
            self._put(data)
            if not self._left:
                self._state = "DONE"
            return
        self._buffer += data
        buffer = bytes(self._buffer)
        at = 0
        while True:
            before = at, self._state
            at = self._step(buffer, at)
            if (at, self._state) == before:
                break
        del self._buffer[:at]

    def _step(self, buffer: bytes, at: int) -> int:
        """Consume one element from `at` on if it is whole; gives where the next begins."""
        match self._state:
            case "HEAD":
                end = buffer.find(b"\r\n\r\n", at)
                if end < 0:
                    if len(buffer) - at > _MAX_HEAD:
                        raise httpx.RemoteProtocolError("the response's head is too long")
                    return at
                self._read_head(buffer[at:end])
                return end + 4
            case "CHUNK_SIZE":
                end = buffer.find(b"\r\n", at)
                if end < 0:
                    if len(buffer) - at > _MAX_CHUNK_LINE:
                        raise httpx.RemoteProtocolError("the response's chunks are malformed")
                    return at
                size = buffer[at:end].partition(b";")[0].strip()
                if not _SIZE.fullmatch(size):
                    raise httpx.RemoteProtocolError("the response's chunks are malformed")
                self._left = int(size, 16)
                self._state = "CHUNK" if self._left else "TRAILER"
                return end + 2
            case "CHUNK" | "LENGTH":
                piece = buffer[at : at + self._left]
                self._put(piece)
                self._left -= len(piece)
                if not self._left:
                    self._state = "CHUNK_END" if self._state == "CHUNK" else "DONE"
                return at + len(piece)
            case "CHUNK_END":
                if len(buffer) - at < 2:
                    return at
                if buffer[at : at + 2] != b"\r\n":
                    raise httpx.RemoteProtocolError("the response's chunks are malformed")
                self._state = "CHUNK_SIZE"
                return at + 2
            case "TRAILER":
                end = buffer.find(b"\r\n", at)
                if end < 0:
                    return at
                if end == at:
                    self._state = "DONE"
                return end + 2
            case "UNTIL_CLOSE":
                self._put(buffer[at:])
                return len(buffer)
            case _:
                if at < len(buffer):  # more than the response that was announced
                    self._keep_alive = False
                return len(buffer)

    def _read_head(self, head: bytes) -> None:
        first, *lines = head.split(b"\r\n")
        status_line = _STATUS.fullmatch(first)
        if status_line is None:
            raise httpx.RemoteProtocolError("the server does not speak HTTP")
        status = int(status_line[2])
        headers: Headers = []
        for line in lines:
            name, colon, value = line.partition(b":")
            if not colon or not _TOKEN.fullmatch(name):
                raise httpx.RemoteProtocolError("the response's head is malformed")
            headers.append((name, value.strip(b" \t")))
        if 100 <= status < 200:
            return  # an interim response: the real one follows
        self._head = status, headers
        known = {name.lower(): value.lower() for name, value in headers}
        self._keep_alive = b"close" not in known.get(b"connection", b"") and (
            status_line[1] == b"1" or b"keep-alive" in known.get(b"connection", b"")
        )
        if status in (204, 304):
            self._state = "DONE"
        elif b"transfer-encoding" in known:
            if [value.lower() for name, value in headers if name.lower() == b"transfer-encoding"] != [b"chunked"]:
                raise httpx.RemoteProtocolError("the response has an unknown transfer encoding")
            self._state = "CHUNK_SIZE"
        elif b"content-length" in known:
            lengths = {value for name, value in headers if name.lower() == b"content-length"}
            length = lengths.pop()
            if lengths or not length.isdigit() or len(length) > 15:
                raise httpx.RemoteProtocolError("the response has no clear length")
            self._left = int(length)
            self._state = "LENGTH" if self._left else "DONE"
        else:
            self._keep_alive = False
            self._state = "UNTIL_CLOSE"


async def connect(host: str, port: int, tls: ssl.SSLContext | None, timeout_s: float | None) -> Connection:
    """Open a connection; a dead IPv6 path is given up for IPv4 after a quarter of a second. Raises httpx's
    `ConnectError` (the operating system's error is its cause) and `ConnectTimeout`."""
    loop = asyncio.get_running_loop()
    try:
        async with asyncio.timeout(timeout_s):
            _, connection = await loop.create_connection(
                Connection,
                host,
                port,
                ssl=tls,
                server_hostname=host if tls else None,
                happy_eyeballs_delay=None if _is_address(host) else 0.25,
            )
    except TimeoutError as error:
        raise httpx.ConnectTimeout("timed out") from error
    except OSError as error:
        raise httpx.ConnectError(str(error)) from error
    return connection


def _is_address(host: str) -> bool:
    return ":" in host or host.replace(".", "").isdigit()
