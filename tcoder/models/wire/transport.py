"""httpx's transport for direct connections: keeps one connection alive for an origin and opens more when it is busy."""

import ssl
from collections.abc import AsyncIterator

from tcoder.models.wire.connection import Connection, connect
from tcoder.models.wire.lean_httpx import httpx

_KEPT = 2


class DirectTransport(httpx.AsyncBaseTransport):
    """HTTP/1.1 without a proxy. The TLS context is made at the first `https` request, because it takes 20 ms."""

    def __init__(self) -> None:
        self._idle: dict[tuple[str, str, int], list[Connection]] = {}
        self._busy: set[Connection] = set()
        self._tls: ssl.SSLContext | None = None

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        url = request.url
        if url.scheme not in ("http", "https"):
            raise httpx.UnsupportedProtocol(f"{url.scheme!r} is no protocol for a model", request=request)
        origin = (url.scheme, url.host, url.port or (443 if url.scheme == "https" else 80))
        body = await request.aread()
        head = _head(request)
        connection = await self._take(origin, request)
        try:
            reused = connection.used
            try:
                status, headers = await _exchange(connection, head, body)
            except (httpx.ReadError, httpx.RemoteProtocolError):
                if not reused:
                    raise
                # It was closed by the other side while it waited: ask again on a new one.
                self._drop(connection)
                connection = await self._open(origin, request)
                status, headers = await _exchange(connection, head, body)
        except BaseException:
            self._drop(connection)
            raise
        return httpx.Response(status, headers=headers, stream=_Body(self, origin, connection))

    async def aclose(self) -> None:
        for connection in [*self._busy, *(c for kept in self._idle.values() for c in kept)]:
            connection.abort()
        self._busy.clear()
        self._idle.clear()

    async def _take(self, origin: tuple[str, str, int], request: httpx.Request) -> Connection:
        kept = self._idle.get(origin, [])
        while kept:
            connection = kept.pop()
            if connection.idle:
                self._busy.add(connection)
                return connection
            connection.abort()
        return await self._open(origin, request)

    async def _open(self, origin: tuple[str, str, int], request: httpx.Request) -> Connection:
        scheme, host, port = origin
        if scheme == "https" and self._tls is None:
            self._tls = httpx.create_ssl_context()
        timeouts = request.extensions.get("timeout", {})
        connection = await connect(host, port, self._tls if scheme == "https" else None, timeouts.get("connect"))
        self._busy.add(connection)
        return connection

    def _drop(self, connection: Connection) -> None:
        connection.abort()
        self._busy.discard(connection)

    def release(self, origin: tuple[str, str, int], connection: Connection) -> None:
        """Keep `connection` for the next request if its exchange is over, else close it."""
        self._busy.discard(connection)
        kept = self._idle.setdefault(origin, [])
        if connection.idle and len(kept) < _KEPT:
            kept.append(connection)
        else:
            connection.abort()


async def _exchange(connection: Connection, head: bytes, body: bytes) -> tuple[int, list[tuple[bytes, bytes]]]:
    connection.used = True
    await connection.send(head, body)
    return await connection.read_head()


def _head(request: httpx.Request) -> bytes:
    lines = [request.method.encode() + b" " + request.url.raw_path + b" HTTP/1.1"]
    for name, value in request.headers.raw:
        if b"\r" in value or b"\n" in value or b"\0" in value:
            raise httpx.LocalProtocolError(f"the header {name.decode()} holds a control character", request=request)
        lines.append(name + b": " + value)
    return b"\r\n".join(lines) + b"\r\n\r\n"


class _Body(httpx.AsyncByteStream):
    def __init__(self, transport: DirectTransport, origin: tuple[str, str, int], connection: Connection) -> None:
        self._transport = transport
        self._origin = origin
        self._connection: Connection | None = connection

    async def __aiter__(self) -> AsyncIterator[bytes]:
        connection = self._connection
        if connection is None:
            return
        while data := await connection.read():
            yield data

    async def aclose(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            self._transport.release(self._origin, connection)
