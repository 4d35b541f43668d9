"""Weights from a URL: resumed where they stopped, over https only."""

import asyncio
import hashlib
import os
from collections.abc import Callable
from urllib.parse import urlsplit

from tcoder import __version__
from tcoder.models.local.weights_store import Partial, require_space
from tcoder.models.wire.lean_httpx import httpx
from tcoder.protocol.errors import WeightsError

_PIECE = 16 << 20
_TRIES = 4
_TIMEOUT = httpx.Timeout(60, connect=20)


def require_secure(url: httpx.URL | str) -> None:
    """Raises `WeightsError` unless the address is https, or plain http on this machine."""
    parts = urlsplit(str(url))
    if parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in ("127.0.0.1", "::1", "localhost")):
        return
    raise WeightsError(
        f"{parts.scheme}://{parts.hostname} is not fetched from: weights come over https", "use an https URL"
    )


async def fetch_url(
    url: str,
    partial: Partial,
    on_bytes: Callable[[int, int | None], None],
    *,
    transport: httpx.AsyncBaseTransport | None = None,
    pause_s: float = 1.0,
) -> None:
    """Append the rest of the file at `url` to `partial`, going on after broken connections while there is progress.
    `on_bytes(done, total)` follows. Raises `WeightsError`, `OSError`."""
    require_secure(url)
    headers = {"user-agent": f"tcoder/{__version__}", "accept-encoding": "identity"}
    client = httpx.AsyncClient(transport=transport, timeout=_TIMEOUT, follow_redirects=True, headers=headers)
    client.event_hooks["request"].append(_check_request)
    failures = 0
    async with client:
        while True:
            before = partial.done
            try:
                await _once(client, url, partial, on_bytes)
                return
            except httpx.HTTPError as error:
                failures = 1 if partial.done > before else failures + 1
                if failures >= _TRIES:
                    reason = str(error) or type(error).__name__
                    raise WeightsError(
                        f"{urlsplit(url).hostname} cannot be reached: {reason}", "pull again to go on where it stopped"
                    ) from error
                await asyncio.sleep(pause_s * 2 ** (failures - 1))


async def _check_request(request: httpx.Request) -> None:
    """Also each redirect's target."""
    require_secure(request.url)


async def _once(
    client: httpx.AsyncClient, url: str, partial: Partial, on_bytes: Callable[[int, int | None], None]
) -> None:
    headers: dict[str, str] = {}
    if partial.done and partial.state.etag:
        headers = {"range": f"bytes={partial.done}-", "if-range": partial.state.etag}
    async with client.stream("GET", url, headers=headers) as response:
        if response.status_code == 416:
            # What we hold is longer than the file: it was another one.
            partial.restart()
            raise httpx.RemoteProtocolError("the file has changed")
        if response.status_code not in (200, 206):
            raise _refused(url, response.status_code)
        if response.headers.get("content-type", "").startswith("text/html"):
            raise WeightsError(f"{url} is a web page, not a model file", "use the address of the .gguf file itself")
        if response.status_code == 200 or not _goes_on(response, partial.done):
            etag = response.headers.get("etag", "")
            partial.restart(etag if not etag.startswith("W/") else "")
        total = _total(response, partial.done)
        if total is not None:
            require_space(partial.folder, total - partial.done)
        await _write(response, partial, total, on_bytes)
    if total is not None and partial.done != total:
        raise httpx.RemoteProtocolError(f"{total - partial.done} bytes are missing")


async def _write(
    response: httpx.Response, partial: Partial, total: int | None, on_bytes: Callable[[int, int | None], None]
) -> None:
    """Write the body in pieces, so that little is lost when it breaks off."""
    own, size = hashlib.sha256(), 0
    with partial.data.open("ab") as out:
        try:
            async for block in response.aiter_raw():
                out.write(block)
                own.update(block)
                partial.digest.update(block)
                size += len(block)
                on_bytes(partial.done + size, total)
                if size >= _PIECE:
                    out.flush()
                    partial.finish_piece(size, own.hexdigest())
                    own, size = hashlib.sha256(), 0
        finally:
            out.flush()
            os.fsync(out.fileno())
            if size:
                partial.finish_piece(size, own.hexdigest())


def _goes_on(response: httpx.Response, done: int) -> bool:
    return response.headers.get("content-range", "").startswith(f"bytes {done}-")


def _total(response: httpx.Response, done: int) -> int | None:
    length = response.headers.get("content-length", "")
    return done + int(length) if length.isdigit() else None


def _refused(url: str, status: int) -> WeightsError:
    host = urlsplit(url).hostname
    match status:
        case 401 | 403:
            return WeightsError(
                f"{host} does not let anybody have this file ({status})", "fetch it yourself and pull the file"
            )
        case 404 | 410:
            return WeightsError(f"there is no file at {url} ({status})", "check the address")
        case _:
            return WeightsError(f"{host} answered {status}", "pull again later to go on where it stopped")
