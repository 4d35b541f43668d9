"""The proxy for allowed hosts: names compared exactly, resolved once, nothing private."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tcoder.workspace.egress.proxy import Allowed, EgressProxy, Target, is_public, normal_host, parse_request
from tcoder.workspace.sandbox.sandbox import Sandbox
from tcoder.workspace.shell.shell import Shell

HOSTS = [
    ("allowed.com", "allowed.com"),
    ("ALLOWED.com.", "allowed.com"),
    ("bücher.example", "xn--bcher-kva.example"),
    ("127.0.0.1", "127.0.0.1"),
    ("[::1]", "::1"),
    ("[::ffff:127.0.0.1]", "::ffff:7f00:1"),
    ("0x7f.1", None),
    ("0x7f000001", None),
    ("2130706433", None),
    ("127.1", None),
    ("evil\0.allowed.com", None),
    ("evil\r\n.allowed.com", None),
    ("allowed.com@evil", None),
    ("allowed.com%00.evil", None),
    ("allowed.com/x", None),
    ("allowed..com", None),
    ("*.allowed.com", None),
    ("", None),
    (".", None),
]


@pytest.mark.parametrize(("text", "host"), HOSTS)
def test_a59_hosts_have_one_spelling(text: str, host: str | None) -> None:
    assert normal_host(text) == host


ASKED = [
    ("CONNECT allowed.com:443 HTTP/1.1", True),
    ("CONNECT ALLOWED.COM.:443 HTTP/1.1", True),
    ("CONNECT allowed.com:22 HTTP/1.1", False),
    ("CONNECT allowed.com.evil:443 HTTP/1.1", False),
    ("CONNECT evil.allowed.com:443 HTTP/1.1", False),
    ("CONNECT xallowed.com:443 HTTP/1.1", False),
    ("CONNECT allowed.com@evil:443 HTTP/1.1", False),
    ("CONNECT evil\0.allowed.com:443 HTTP/1.1", False),
    ("CONNECT one.port:8443 HTTP/1.1", True),
    ("CONNECT one.port:443 HTTP/1.1", False),
    ("CONNECT allowed.com HTTP/1.1", False),
    ("GET http://allowed.com/a?b HTTP/1.1", True),
    ("GET http://allowed.com@evil/ HTTP/1.1", False),
    ("GET http://evil/http://allowed.com/ HTTP/1.1", False),
    ("GET http://evil#@allowed.com/ HTTP/1.1", False),
    ("GET http://evil\\@allowed.com/ HTTP/1.1", False),
    ("GET https://allowed.com/ HTTP/1.1", False),
    ("GET / HTTP/1.1", False),
    ("GE\nT http://allowed.com/ HTTP/1.1", False),
    ("GET http://169.254.169.254/latest HTTP/1.1", False),
]


@pytest.mark.parametrize(("line", "passes"), ASKED)
def test_only_the_listed_host_is_asked(line: str, passes: bool) -> None:
    allowed = Allowed(["allowed.com", "one.port:8443"])
    request = parse_request(f"{line}\r\nHost: allowed.com\r\n\r\n".encode("latin-1"))
    assert (request is not None and request.target in allowed) is passes


def test_a_plain_request_is_rewritten_for_its_target_only() -> None:
    head = (
        b"POST http://Allowed.com:8080/a?b=1 HTTP/1.1\r\nHost: evil\r\nContent-Length: 3\r\nProxy-Connection: x\r\n\r\n"
    )
    request = parse_request(head)
    assert request is not None and (request.target, request.body_bytes) == (Target("allowed.com", 8080), 3)
    assert request.head == (
        b"POST /a?b=1 HTTP/1.1\r\nhost: allowed.com:8080\r\ncontent-length: 3\r\nconnection: close\r\n\r\n"
    )
    for smuggled in (
        b"Transfer-Encoding: chunked", b"Content-Length: 1\r\nContent-Length: 2", b"Content-Length: +1",
        b"x\nhost: evil.com", b"x\ntransfer-encoding: chunked", b"x : y", b" x: y", b": y",
    ):  # fmt: skip
        assert parse_request(b"POST http://allowed.com/ HTTP/1.1\r\n" + smuggled + b"\r\n\r\n") is None


def test_patterns_are_refused_in_the_list() -> None:
    for entry in ("*.allowed.com", "http://allowed.com", "allowed.com:x", ""):
        with pytest.raises(ValueError, match="not a host"):
            Allowed([entry])


PUBLIC = [
    ("93.184.216.34", True), ("10.0.0.1", False), ("127.0.0.1", False), ("169.254.169.254", False), ("::1", False),
    ("100.64.0.1", False), ("0.0.0.0", False), ("::ffff:10.0.0.1", False), ("64:ff9b::a00:1", False),
    ("2002:a00:1::", False), ("fd00::1", False), ("fe80::1%eth0", False), ("224.0.0.1", False),
    ("2606:2800:220:1::1", True), ("64:ff9b:1::a00:1", False), ("fec0::1", False), ("::127.0.0.1", False),
    ("::ffff:0:127.0.0.1", False),
]  # fmt: skip


@pytest.mark.parametrize(("address", "public"), PUBLIC)
def test_private_addresses_are_not_public(address: str, public: bool) -> None:
    assert is_public(address) is public


@asynccontextmanager
async def origin() -> AsyncIterator[tuple[int, list[bytes]]]:
    """A server that notes what it is asked."""
    asked: list[bytes] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello")
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        yield server.sockets[0].getsockname()[1], asked


async def ask(socket_path: Path, data: bytes) -> bytes:
    reader, writer = await asyncio.open_unix_connection(str(socket_path))
    writer.write(data)
    answer = await reader.read()
    writer.close()
    return answer


async def test_the_proxy_carries_what_is_allowed_and_names_what_is_not(tmp_path: Path) -> None:
    async def to_loopback(host: str, port: int) -> list[str]:
        return ["127.0.0.1"]

    async with origin() as (port, asked):
        proxy = EgressProxy([f"allowed.com:{port}"], resolver=to_loopback, private_addresses=True)
        strict = EgressProxy([f"allowed.com:{port}"], resolver=to_loopback)
        await proxy.start(tmp_path / "open")
        await strict.start(tmp_path / "strict")
        try:
            plain = await ask(tmp_path / "open", f"GET http://allowed.com:{port}/x HTTP/1.1\r\n\r\n".encode())
            assert plain.endswith(b"hello") and asked[0].startswith(b"GET /x HTTP/1.1\r\nhost: allowed.com")
            tunnel = f"CONNECT allowed.com:{port} HTTP/1.1\r\n\r\nGET /y HTTP/1.1\r\n\r\n".encode()
            assert (await ask(tmp_path / "open", tunnel)).endswith(b"hello") and asked[1].startswith(b"GET /y ")
            refused = await ask(tmp_path / "open", f"CONNECT evil.com:{port} HTTP/1.1\r\n\r\n".encode())
            assert refused.startswith(b"HTTP/1.1 403") and proxy.take_refused() == (f"evil.com:{port}",)
            assert proxy.take_refused() == ()
            rebound = await ask(tmp_path / "strict", tunnel)
            assert rebound.startswith(b"HTTP/1.1 502") and len(asked) == 2
            assert (await ask(tmp_path / "open", b"nonsense\r\n\r\n")).startswith(b"HTTP/1.1 400")
        finally:
            await proxy.close()
            await strict.close()


async def test_in_the_sandbox_only_the_proxy_is_reached(tmp_path: Path) -> None:
    async with origin() as (port, asked):
        box = Sandbox(tmp_path, allowed_hosts=(f"127.0.0.1:{port}", "allowed.invalid"))
        shell = Shell(tmp_path, sandbox=box, spill_dir=tmp_path / "spill")
        try:
            direct = await shell.run(f"curl -sm 3 --noproxy '*' http://127.0.0.1:{port}/", timeout_s=20)
            assert direct.exit_code == 7
            private = await shell.run(f"curl -sm 5 --noproxy '' http://127.0.0.1:{port}/", timeout_s=20)
            assert "no public address" in private.output
            other = await shell.run("curl -sm 5 http://evil.invalid/", timeout_s=20)
            assert "not in the list" in other.output
            assert "evil.invalid:80" in other.notices[0]
            assert asked == []
            assert not shell.jobs.list() and not other.notices[1:]
        finally:
            await shell.close()
