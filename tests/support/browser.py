"""Chromium without a window, driven over its own debugging protocol: one page, keys, pictures."""

import asyncio
import base64
import json
import shutil
import struct
import tempfile
import zlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp

FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
    "--disable-background-networking", "--disable-component-update", "--remote-debugging-port=0",
    "--window-size=1100,700",
)  # fmt: skip


class Page:
    """An open page."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self._socket = socket
        self._number = 0

    async def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        self._number += 1
        await self._socket.send_json({"id": self._number, "method": method, "params": parameters})
        while True:
            reply = json.loads((await asyncio.wait_for(self._socket.receive(), 20)).data)
            if reply.get("id") == self._number:
                assert "error" not in reply, reply
                return reply["result"]

    async def evaluate(self, expression: str) -> Any:
        found = await self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        return found["result"].get("value")

    async def until(self, expression: str) -> None:
        """Wait until an expression is true on the page."""
        async with asyncio.timeout(20):
            while not await self.evaluate(expression):
                await asyncio.sleep(0.05)

    async def type(self, text: str) -> None:
        for character in text:
            await self.call("Input.dispatchKeyEvent", type="keyDown", key=character, text=character)
            await self.call("Input.dispatchKeyEvent", type="keyUp", key=character)

    async def press_enter(self) -> None:
        key = {"key": "Enter", "code": "Enter", "windowsVirtualKeyCode": 13, "text": "\r"}
        await self.call("Input.dispatchKeyEvent", type="keyDown", **key)
        await self.call("Input.dispatchKeyEvent", type="keyUp", **key)

    async def picture(self, height: int = 700) -> bytes:
        """The upper part of what is seen, as PNG."""
        clip = {"x": 0, "y": 0, "width": 1100, "height": height, "scale": 1}
        return base64.b64decode((await self.call("Page.captureScreenshot", format="png", clip=clip))["data"])


@asynccontextmanager
async def open_page(address: str) -> AsyncIterator[Page]:
    """The page at `address`. Chromium has to be there: these tests are asked for by name."""
    program = shutil.which("chromium") or shutil.which("chromium-browser")
    assert program is not None, "Chromium is not installed: apt-get install chromium"
    with tempfile.TemporaryDirectory() as folder:
        process = await asyncio.create_subprocess_exec(
            program, *FLAGS, f"--user-data-dir={folder}", "about:blank",
            stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.DEVNULL,
        )  # fmt: skip
        try:
            port = await _port(Path(folder) / "DevToolsActivePort")
            async with aiohttp.ClientSession() as session:
                async with session.get(f"http://127.0.0.1:{port}/json/list") as reply:
                    page = next(of for of in await reply.json() if of["type"] == "page")
                async with session.ws_connect(page["webSocketDebuggerUrl"], max_msg_size=0) as socket:
                    opened = Page(socket)
                    await opened.call("Page.enable")
                    await opened.call("Page.navigate", url=address)
                    yield opened
        finally:
            process.terminate()
            await process.wait()


async def _port(file: Path) -> int:
    async with asyncio.timeout(20):
        while not file.exists() or not file.read_text():
            await asyncio.sleep(0.05)
    return int(file.read_text().split()[0])


def colours(png: bytes) -> dict[bytes, int]:
    """How many pixels of a PNG (8 bits, RGB or RGBA) have each colour."""
    width, height, _, kind = struct.unpack(">IIBB", png[16:26])
    data, at = b"", 8
    while at < len(png):
        (size,) = struct.unpack(">I", png[at : at + 4])
        if png[at + 4 : at + 8] == b"IDAT":
            data += png[at + 8 : at + 8 + size]
        at += 12 + size
    raw, step = zlib.decompress(data), 4 if kind == 6 else 3
    found: dict[bytes, int] = {}
    above = bytearray(width * step)
    for row in range(height):
        begin = row * (width * step + 1)
        above = _unfiltered(raw[begin], bytearray(raw[begin + 1 : begin + 1 + width * step]), above, step)
        for x in range(0, width * step, step):
            colour = bytes(above[x : x + 3])
            found[colour] = found.get(colour, 0) + 1
    return found


def _unfiltered(how: int, line: bytearray, above: bytearray, step: int) -> bytearray:
    for x in range(len(line)):
        left = line[x - step] if x >= step else 0
        up, corner = above[x], above[x - step] if x >= step else 0
        match how:
            case 1:
                line[x] = (line[x] + left) & 255
            case 2:
                line[x] = (line[x] + up) & 255
            case 3:
                line[x] = (line[x] + (left + up) // 2) & 255
            case 4:
                guess = left + up - corner
                nearest = min((left, up, corner), key=lambda of: abs(guess - of))
                line[x] = (line[x] + nearest) & 255
            case _:
                break
    return line
