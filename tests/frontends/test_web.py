"""The browser's door: a token that works once, a cookie, this machine's names, this page's sockets."""

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import pytest

from tcoder.frontends import web

ECHO = f"{sys.executable} -c 'import os; os.write(1, os.read(0, 5) or b\"gone\")'"


@pytest.fixture
async def address() -> AsyncIterator[str]:
    url, end = await web.serve(ECHO, "t", 0)
    yield url
    await end()


async def test_the_token_works_once(address: str) -> None:
    root = address.partition("?")[0]
    async with aiohttp.ClientSession(cookie_jar=aiohttp.CookieJar(unsafe=True)) as mine:
        assert (await mine.get(root)).status == 403
        assert (await mine.get(root + "?token=x")).status == 403
        assert (await mine.get(root + "static/js/textual.js")).status == 403
        page = await mine.get(address)
        assert page.status == 200 and "websocket" in await page.text()
        assert (await mine.get(root)).status == 200
    async with aiohttp.ClientSession(cookie_jar=aiohttp.CookieJar(unsafe=True)) as other:
        assert (await other.get(address)).status == 403


@pytest.mark.parametrize(
    ("headers", "why"),
    [
        ({"Host": "evil.example"}, "another host"),
        ({"Origin": "http://evil.example"}, "another origin"),
        ({"Origin": "null"}, "another origin"),
    ],
)
async def test_other_sites_stay_outside_even_with_the_cookie(address: str, headers: dict[str, str], why: str) -> None:
    async with aiohttp.ClientSession(cookie_jar=aiohttp.CookieJar(unsafe=True)) as mine:
        await mine.get(address)
        refused = await mine.get(address.partition("?")[0], headers=headers)
        assert refused.status == 403 and why in await refused.text()


async def test_a_socket_needs_an_origin_and_then_runs_the_program(address: str) -> None:
    root = address.partition("?")[0]
    socket = root.replace("http", "ws", 1) + "ws?width=80&height=24"
    async with aiohttp.ClientSession(cookie_jar=aiohttp.CookieJar(unsafe=True)) as mine:
        await mine.get(address)
        with pytest.raises(aiohttp.WSServerHandshakeError):
            await mine.ws_connect(socket)
        async with mine.ws_connect(socket, origin=root.rstrip("/")) as ws:
            await ws.send_str(json.dumps(["ping", 7]))
            reply = await asyncio.wait_for(ws.receive_json(), 10)
            assert reply == ["pong", 7]


async def test_a_tab_that_is_closed_leaves_no_process(tmp_path: Path) -> None:
    told = tmp_path / "pid"
    program = f"import os, pathlib, time; pathlib.Path({str(told)!r}).write_text(str(os.getpid())); time.sleep(60)"
    url, end = await web.serve(f'exec {sys.executable} -c "{program}"', "t", 0)
    root = url.partition("?")[0]
    async with aiohttp.ClientSession(cookie_jar=aiohttp.CookieJar(unsafe=True)) as mine:
        await mine.get(url)
        socket = root.replace("http", "ws", 1) + "ws?width=80&height=24"
        async with mine.ws_connect(socket, origin=root.rstrip("/")) as ws:
            await ws.send_str(json.dumps(["ping", 7]))
            await asyncio.wait_for(ws.receive_json(), 10)
            while not told.exists():
                await asyncio.sleep(0.01)
    await end()
    with pytest.raises(ProcessLookupError):
        os.kill(int(told.read_text()), 0)
