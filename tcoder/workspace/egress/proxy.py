"""A proxy that lets commands reach listed hosts and nothing else.

Commands in the sandbox have no network; a bridge inside of it carries their proxy requests to a unix socket where this
proxy answers. The host is compared exactly, after bringing it into one spelling; only then is it resolved, once, and an
address that is not public is refused, so neither a redirect nor a changed DNS answer leads into the local network.
"""

import asyncio
import contextlib
import ipaddress
import re
from collections.abc import Awaitable, Callable, Iterable
from pathlib import Path
from urllib.parse import urlsplit

from msgspec import Struct

PORT = 3128
_PORTS = (80, 443)
_HEAD_LIMIT = 32_768
_HEAD_TIMEOUT_S = 20
_CONNECT_TIMEOUT_S = 20
_PIECE = 65536
_HOP_HEADERS = frozenset({"connection", "proxy-connection", "proxy-authorization", "keep-alive", "te", "upgrade"})

Resolve = Callable[[str, int], Awaitable[list[str]]]


class Target(Struct, frozen=True):
    host: str
    port: int


def normal_host(text: str) -> str | None:
    """The one spelling of a host name or a literal address: lower case, IDNA, without the dot at its end. None for what
    is none, such as control characters, user info, escapes, or numbers that some resolvers take for addresses."""
    name = text.removesuffix(".")
    if name.startswith("[") and name.endswith("]"):
        name = name[1:-1]
    with contextlib.suppress(ValueError):
        return str(ipaddress.ip_address(name))
    if not name or any(character <= " " or character in "\x7f/\\@%#?:[]" for character in name):
        return None
    try:
        ascii_name = name.encode("idna").decode("ascii").lower()
    except UnicodeError:
        return None
    labels = ascii_name.split(".")
    if not all(label and label.replace("-", "").replace("_", "").isalnum() for label in labels):
        return None
    if labels[-1].isdigit() or labels[-1].startswith("0x"):
        return None
    return ascii_name


class Allowed:
    """The listed hosts: `host` for ports 80 and 443, `host:port` for one port. Never a pattern."""

    def __init__(self, hosts: Iterable[str]) -> None:
        self._targets: set[Target] = set()
        for entry in hosts:
            name, _, port = entry.rpartition(":") if entry.count(":") == 1 else (entry, "", "")
            host = normal_host(name)
            if host is None or (port and not port.isdigit()):
                raise ValueError(f"not a host: {entry!r}")
            self._targets |= {Target(host, int(port))} if port else {Target(host, each) for each in _PORTS}

    def __contains__(self, target: object) -> bool:
        return target in self._targets


class Request(Struct, frozen=True):
    """A proxy request: a tunnel, or one plain request whose `head` is ready for the origin server."""

    target: Target
    tunnel: bool
    head: bytes = b""
    body_bytes: int = 0


_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")


def parse_request(head: bytes) -> Request | None:
    """What a client asks for in the head of its request (up to the empty line); None when it is not understood."""
    try:
        lines = head.decode("ascii").split("\r\n")
        method, address, version = lines[0].split(" ")
        pairs = (line.partition(":") for line in lines[1:] if line)
        headers = [(name.lower(), value.strip()) for name, _, value in pairs]
        parts = urlsplit(f"//{address}" if method == "CONNECT" else address)
        host, port = normal_host(parts.hostname or ""), parts.port
    except ValueError:
        return None
    if host is None or parts.username is not None or not version.startswith("HTTP/1."):
        return None
    if any(character < " " for _, value in headers for character in value):
        return None
    if not all(map(_TOKEN.fullmatch, (method, *(name for name, _ in headers)))):
        return None  # a line break in a name would be a second header to whoever reads it
    if method == "CONNECT":
        return Request(Target(host, port), True) if port and not parts.path else None
    if parts.scheme != "http" or any(name == "transfer-encoding" for name, _ in headers):
        return None
    lengths = {value for name, value in headers if name == "content-length"}
    if len(lengths) > 1 or not all(value.isdigit() for value in lengths):
        return None
    target = Target(host, port or 80)
    shown = f"[{host}]" if ":" in host else host
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    kept = [f"{name}: {value}" for name, value in headers if name not in _HOP_HEADERS and name != "host"]
    where = shown if target.port == 80 else f"{shown}:{target.port}"
    text = "\r\n".join([f"{method} {path} HTTP/1.1", f"host: {where}", *kept, "connection: close", "", ""])
    return Request(target, False, text.encode("ascii"), int(next(iter(lengths), "0")))


async def resolve(host: str, port: int) -> list[str]:
    """Addresses of a host, from the system's resolver."""
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=1)
    return [str(entry[4][0]) for entry in found]


class EgressProxy:
    """Listens on a unix socket."""

    def __init__(self, hosts: Iterable[str], *, resolver: Resolve = resolve, private_addresses: bool = False) -> None:
        self._refused: list[str] = []
        self._allowed = Allowed(hosts)
        self._resolve = resolver
        self._private = private_addresses
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    def take_refused(self) -> tuple[str, ...]:
        """Targets that were asked for and not allowed since the last call, each once."""
        taken, self._refused = tuple(self._refused), []
        return taken

    async def start(self, socket_path: Path) -> None:
        self._server = await asyncio.start_unix_server(self._accept, socket_path, limit=_HEAD_LIMIT)
        socket_path.chmod(0o666)  # its folder is closed to other users

    async def close(self) -> None:
        """Stop listening and end all connections."""
        if self._server is not None:
            self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        if task is not None:
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        try:
            await self._serve(reader, writer)
        except (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, TimeoutError):
            pass  # the client or the server went away, which both sides see by the closed connection
        finally:
            writer.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        async with asyncio.timeout(_HEAD_TIMEOUT_S):
            head = await reader.readuntil(b"\r\n\r\n")
        request = parse_request(head)
        if request is None:
            await _answer(writer, "400 Bad Request", "this proxy takes CONNECT and plain http requests with a length")
            return
        target = request.target
        if target not in self._allowed:
            name = f"{target.host}:{target.port}"
            if name not in self._refused:
                self._refused.append(name)
            await _answer(writer, "403 Forbidden", f"{name} is not in the list of allowed hosts")
            return
        address = await self._address(target)
        if address is None:
            await _answer(writer, "502 Bad Gateway", f"{target.host} has no public address")
            return
        async with asyncio.timeout(_CONNECT_TIMEOUT_S):
            up_reader, up_writer = await asyncio.open_connection(address, target.port)
        try:
            if request.tunnel:
                writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
                await _both_ways(_pour(reader, up_writer), _pour(up_reader, writer))
            else:
                up_writer.write(request.head)
                if request.body_bytes:
                    up_writer.write(await reader.readexactly(request.body_bytes))
                await _pour(up_reader, writer)
        finally:
            up_writer.close()

    async def _address(self, target: Target) -> str | None:
        try:
            found = await self._resolve(target.host, target.port)
        except OSError:
            return None
        usable = (address for address in found if self._private or is_public(address))
        return next(usable, None)


def is_public(address: str) -> bool:
    """Whether an address belongs to the internet; one that carries a private IPv4 address inside does not."""
    parsed = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(parsed, ipaddress.IPv6Address):
        inner = parsed.ipv4_mapped or parsed.sixtofour or (parsed.teredo[1] if parsed.teredo else None)
        if inner is not None:
            return inner.is_global
        if parsed in ipaddress.ip_network("64:ff9b::/96"):
            return ipaddress.IPv4Address(int(parsed) & 0xFFFFFFFF).is_global
        if parsed not in ipaddress.ip_network("2000::/3"):
            return False  # nothing else is given out for the internet, and much of it leads to private addresses
    return parsed.is_global and not parsed.is_multicast


async def _answer(writer: asyncio.StreamWriter, status: str, text: str) -> None:
    body = f"tcoder: {text}\n".encode("ascii", "backslashreplace")
    head = f"HTTP/1.1 {status}\r\ncontent-type: text/plain\r\ncontent-length: {len(body)}\r\nconnection: close\r\n\r\n"
    writer.write(head.encode() + body)
    await writer.drain()


async def _pour(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(_PIECE):
        writer.write(data)
        await writer.drain()
    if writer.can_write_eof():
        with contextlib.suppress(OSError):
            writer.write_eof()


async def _both_ways(*directions: Awaitable[None]) -> None:
    await asyncio.gather(*directions)
