"""The door to the network: httpx with our time limits, and every failure below HTTP as one clear `ModelError`."""

import asyncio
import os
import socket
import ssl
import time
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import cast

from msgspec import Struct

from tcoder import __version__
from tcoder.models.dialects.dialect import Fold, WireRequest
from tcoder.models.dialects.sse import SseParser
from tcoder.models.wire.faults import UnreachableError, http_error, name_of, page_instead
from tcoder.models.wire.lean_httpx import httpx
from tcoder.models.wire.transport import DirectTransport
from tcoder.protocol.errors import ModelError
from tcoder.protocol.variant import ModelVariant

_PROXY_VARIABLES = ("HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY", "https_proxy", "http_proxy", "all_proxy")
_MAX_ERROR_BODY = 64 * 1024
_MAX_BODY = 64 * 1024 * 1024
_DRAIN_S = 0.05


class Timeouts(Struct, frozen=True):
    """Seconds. `first`: from sending to the first event; `idle`: between two events; `total`: for one whole answer.
    Bytes that make no event, such as keep-alive comments, do not count as life."""

    connect: float = 10.0
    first: float = 300.0
    idle: float = 120.0
    total: float = 1800.0


class Door:
    """Posts wire requests below one base URL, with one key, over kept-alive connections."""

    def __init__(
        self,
        base_url: str,
        headers: dict[str, str],
        timeouts: Timeouts,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self._base_url = base_url
        self._timeouts = timeouts
        self._headers = {"user-agent": f"tcoder/{__version__}", "content-type": "application/json", **headers}
        if transport is None and not _behind_proxy(base_url):
            transport = DirectTransport()
        limits = httpx.Timeout(None, connect=timeouts.connect)
        try:
            self._client = httpx.AsyncClient(transport=transport, timeout=limits, follow_redirects=False)
        except (ValueError, ImportError, httpx.InvalidURL) as error:
            raise ModelError("network", f"The proxy settings cannot be used: {error}", "check HTTPS_PROXY") from None

    async def events(self, wire: WireRequest, variant: ModelVariant, fold: Fold) -> AsyncGenerator[list[bytes], None]:
        """Payloads of the response's events for `fold`, as many at a time as a read of the network brings. Stops when
        the body ends, or when the fold says that nothing follows. Raises `ModelError`; close it to hang up."""
        started = time.monotonic()
        total_at = started + self._timeouts.total
        response = await self._send(wire, variant, min(started + self._timeouts.first, total_at))
        try:
            if response.status_code != 200:
                body = await _peek(response)
                raise http_error(response.status_code, dict(response.headers), body, variant)
            kind = response.headers.get("content-type", "")
            if kind.startswith("application/json"):
                whole = await self._whole(response, variant, total_at)
                yield [whole]
                if not fold.complete:
                    raise page_instead(variant, kind, whole)
                return
            if not kind.startswith("text/event-stream") and (kind or response.headers.get("content-length") == "0"):
                raise page_instead(variant, kind, await _peek(response))
            async with aclosing(self._read(response, variant, started, fold)) as batches:
                async for batch in batches:
                    yield batch
        finally:
            await response.aclose()

    async def _send(self, wire: WireRequest, variant: ModelVariant, deadline: float) -> httpx.Response:
        try:
            request = self._client.build_request(
                "POST", self._base_url + wire.path, content=wire.body, headers={**self._headers, **wire.headers}
            )
        except (httpx.InvalidURL, ValueError, TypeError) as error:
            raise ModelError(
                "bad_request", f"The request cannot be made: {_plain(error)}", "check the base URL and the key"
            ) from None
        try:
            async with asyncio.timeout(max(0.0, deadline - time.monotonic())):
                return await self._client.send(request, stream=True)
        except TimeoutError:
            raise _silence(variant, self._timeouts.first) from None
        except httpx.HTTPError as error:
            raise network_error(error, variant) from None

    async def _read(
        self, response: httpx.Response, variant: ModelVariant, started: float, fold: Fold
    ) -> AsyncGenerator[list[bytes], None]:
        parser = SseParser()
        limits = self._timeouts
        allowed, since, size = limits.first, started, 0
        total_at = started + limits.total
        chunks = cast("AsyncGenerator[bytes, None]", response.aiter_bytes())
        while True:
            now = time.monotonic()
            due = min(since + allowed, total_at)
            try:
                async with asyncio.timeout(max(0.0, due - now)):
                    chunk = await anext(chunks, b"")
            except TimeoutError:
                raise _silence(variant, limits.total if due == total_at else allowed) from None
            except httpx.HTTPError as error:
                raise network_error(error, variant) from None
            if not chunk:
                break
            size += len(chunk)
            if size > _MAX_BODY:
                raise ModelError("bad_response", f"{variant.base_url} sent more than 64 MiB in one answer")
            batch = parser.feed(chunk)
            if not batch:
                continue
            allowed, since = limits.idle, time.monotonic()
            yield batch
            if fold.ended:
                await _drain(chunks)
                return
        last = parser.close()
        if last:
            yield last

    async def _whole(self, response: httpx.Response, variant: ModelVariant, deadline: float) -> bytes:
        """The body of a server that answered in one piece."""
        body = bytearray()
        try:
            async with asyncio.timeout(max(0.0, deadline - time.monotonic())):
                async for chunk in response.aiter_bytes():
                    body += chunk
                    if len(body) > _MAX_BODY:
                        raise ModelError("bad_response", f"{variant.base_url} sent more than 64 MiB in one answer")
        except TimeoutError:
            raise _silence(variant, self._timeouts.total) from None
        except httpx.HTTPError as error:
            raise network_error(error, variant) from None
        return bytes(body)

    async def close(self) -> None:
        await self._client.aclose()


async def _drain(chunks: AsyncGenerator[bytes, None]) -> None:
    """Read the last bytes of the body if they are there already, so that the connection can be used again."""
    try:
        async with asyncio.timeout(_DRAIN_S):
            while await anext(chunks, b""):
                pass
    except (TimeoutError, httpx.HTTPError):
        return  # the answer is whole; the connection is closed instead of kept


async def _peek(response: httpx.Response) -> bytes:
    """The beginning of an error's body, as far as it comes."""
    body = bytearray()
    try:
        async with asyncio.timeout(10):
            async for chunk in response.aiter_bytes():
                body += chunk
                if len(body) >= _MAX_ERROR_BODY:
                    break
    except (TimeoutError, httpx.HTTPError):
        pass  # the status says enough
    return bytes(body[:_MAX_ERROR_BODY])


def _behind_proxy(base_url: str) -> bool:
    if base_url.startswith(("http://127.", "http://localhost", "http://[::1]")):
        return False
    return any(os.environ.get(name) for name in _PROXY_VARIABLES)


def _silence(variant: ModelVariant, seconds: float) -> ModelError:
    return ModelError(
        "timeout",
        f"{name_of(variant)} sent nothing usable for {seconds:.0f} s",
        "try again, or use another model",
    )


def network_error(error: httpx.HTTPError, variant: ModelVariant) -> ModelError:
    """The failure below HTTP that httpx reports."""
    where = variant.base_url
    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, OSError):
        cause = cause.__cause__ or cause.__context__
    match cause, error:
        case socket.gaierror(), _:
            host = where.partition("://")[2].partition("/")[0]
            return UnreachableError(f"The host {host} cannot be found", "check the base URL and the network")
        case ssl.SSLCertVerificationError() as cause, _:
            return ModelError(
                "bad_response",
                f"The certificate of {where} is not trusted: {cause.verify_message}",
                "set SSL_CERT_FILE if a company's own authority signs it",
            )
        case ssl.SSLError(), _:
            return ModelError(
                "bad_response", f"{where} does not speak TLS as expected", "check http or https in the base URL"
            )
        case ConnectionRefusedError(), _:
            return UnreachableError(f"Nothing listens at {where}", "check the base URL, and whether the server runs")
        case _, httpx.ConnectTimeout():
            return UnreachableError(f"{where} cannot be reached in time", "check the base URL and the network")
        case _, httpx.ConnectError():
            refused = "Connect call failed" in str(error)  # asyncio joins the errors of several addresses in a text
            said = "Nothing listens at" if refused else "There is no way to"
            return UnreachableError(f"{said} {where}", "check the base URL and the network")
        case _, httpx.DecodingError():
            return ModelError("bad_response", f"{where} sent a compressed body that cannot be unpacked")
        case _, httpx.UnsupportedProtocol() | httpx.LocalProtocolError():
            return ModelError(
                "bad_request", f"{where} cannot be asked: {_plain(error)}", "check the base URL and the key"
            )
        case _, httpx.ProxyError():
            return UnreachableError(f"The proxy refuses to reach {where}: {_plain(error)}", "check HTTPS_PROXY")
        case _:
            return ModelError("network", f"The connection to {where} broke: {_plain(error)}", "try again")


def _plain(error: Exception) -> str:
    text = " ".join(str(error).split())
    return text[:200] or type(error).__name__
