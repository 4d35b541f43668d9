"""Weights from a URL, with a server on this machine that breaks off, forgets, redirects."""

import asyncio
import hashlib
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tcoder.models.local import weights, weights_url
from tcoder.models.local.folders import LocalFolders
from tcoder.models.local.weights_store import Partial, PullProgress
from tcoder.models.local.weights_url import fetch_url, require_secure
from tcoder.protocol.errors import WeightsError

DATA = b"GGUF" + os.urandom(400_000)
SHA = hashlib.sha256(DATA).hexdigest()


class Hub:
    """Serves `data` at every path with ranges and an ETag; `cut` hangs up after that many bytes of a body, as often as
    the list is long."""

    def __init__(self, data: bytes = DATA) -> None:
        self.data = data
        self.etag = '"one"'
        self.cut: list[int] = []
        self.status = 200
        self.headers: dict[str, str] = {}
        self.ranges: list[str] = []

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        request = (await reader.readuntil(b"\r\n\r\n")).decode()
        asked = {line.split(": ")[0].lower(): line.split(": ")[1] for line in request.split("\r\n")[1:] if ": " in line}
        self.ranges.append(asked.get("range", ""))
        status, start = self.status, 0
        if status == 200 and "range" in asked and asked.get("if-range") == self.etag:
            status, start = 206, int(asked["range"].removeprefix("bytes=").rstrip("-"))
        body = self.data[start:]
        headers = {"content-length": str(len(body)), "etag": self.etag, "connection": "close", **self.headers}
        if status == 206:
            headers["content-range"] = f"bytes {start}-{len(self.data) - 1}/{len(self.data)}"
        writer.write(f"HTTP/1.1 {status} OK\r\n".encode())
        writer.write("".join(f"{name}: {value}\r\n" for name, value in headers.items()).encode() + b"\r\n")
        writer.write(body[: self.cut.pop(0)] if self.cut else body)
        await writer.drain()
        writer.close()

    @asynccontextmanager
    async def running(self) -> AsyncIterator[str]:
        server = await asyncio.start_server(self.answer, "127.0.0.1", 0)
        async with server:
            yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/model.gguf"


@pytest.fixture
def folders(tmp_path: Path) -> LocalFolders:
    return LocalFolders(tmp_path / "models", tmp_path / "state", tmp_path / "run")


async def fetched(url: str, folder: Path) -> Partial:
    partial = Partial(folder, url)
    await partial.open()
    await fetch_url(url, partial, lambda done, total: None, pause_s=0)
    return partial


async def test_a_url_is_pulled_with_progress(folders: LocalFolders) -> None:
    seen: list[PullProgress] = []
    async with Hub().running() as url:
        path = await weights.pull(f"{url}#sha256={SHA}", folders=folders, on_progress=seen.append)
    assert path == folders.weights / "model.gguf"
    assert path.read_bytes() == DATA
    assert (seen[-1].done, seen[-1].total) == (len(DATA), len(DATA))
    assert len(seen) > 1
    assert await weights.find("local/model", folders) == path
    assert [s.id for s in weights.list_weights(folders) if s.verified] == ["local/model"]


async def test_a_broken_connection_goes_on_where_it_broke(tmp_path: Path) -> None:
    hub = Hub()
    hub.cut = [100_000, 50_000]
    async with hub.running() as url:
        partial = await fetched(url, tmp_path / "p")
    assert partial.data.read_bytes() == DATA
    assert partial.digest.hexdigest() == SHA
    assert hub.ranges == ["", "bytes=100000-", "bytes=150000-"]


async def test_a_later_pull_goes_on_where_an_earlier_one_gave_up(tmp_path: Path) -> None:
    hub = Hub()
    hub.cut = [100_000, 0, 0, 0, 0]
    async with hub.running() as url:
        with pytest.raises(WeightsError, match=r"127\.0\.0\.1 cannot be reached"):
            await fetched(url, tmp_path / "p")
        hub.cut, hub.ranges = [], []
        partial = await fetched(url, tmp_path / "p")
    assert partial.data.read_bytes() == DATA
    assert hub.ranges == ["bytes=100000-"]


@pytest.mark.parametrize("etag", ['"two"', 'W/"weak"', ""])
async def test_a_file_that_changed_meanwhile_is_fetched_from_the_start(tmp_path: Path, etag: str) -> None:
    hub = Hub(os.urandom(200_000))
    hub.cut = [100_000, 0, 0, 0]
    async with hub.running() as url:
        with pytest.raises(WeightsError):
            await fetched(url, tmp_path / "p")
        hub.data, hub.etag, hub.cut = DATA, etag, []
        partial = await fetched(url, tmp_path / "p")
    assert partial.data.read_bytes() == DATA
    assert partial.digest.hexdigest() == SHA


async def test_the_wrong_hash_leaves_nothing(folders: LocalFolders) -> None:
    async with Hub().running() as url:
        with pytest.raises(WeightsError, match="sha256"):
            await weights.pull(url, folders=folders, sha256="0" * 64)
    assert [path.name for path in folders.weights.iterdir() if not path.name.endswith(".lock")] == [".partial"]
    assert not list((folders.weights / ".partial").iterdir())


async def test_a_page_with_the_right_name_is_no_model(folders: LocalFolders) -> None:
    async with Hub(b"<html>please log in</html>").running() as url:
        with pytest.raises(WeightsError, match="is not a GGUF file"):
            await weights.pull(url, folders=folders)
    assert not list(folders.weights.glob("*.gguf"))


@pytest.mark.parametrize(
    ("status", "headers", "message"),
    [
        (404, {}, "there is no file at"),
        (403, {}, "does not let anybody have"),
        (503, {}, "answered 503"),
        (200, {"content-type": "text/html; charset=utf-8"}, "is a web page"),
        (302, {"location": "http://example.invalid/model.gguf"}, "weights come over https"),
    ],
)
async def test_refusals_are_one_sentence(tmp_path: Path, status: int, headers: dict[str, str], message: str) -> None:
    hub = Hub()
    hub.status, hub.headers = status, headers
    async with hub.running() as url:
        with pytest.raises(WeightsError, match=message):
            await fetched(url, tmp_path / "p")


async def test_a_dead_server_is_one_sentence(tmp_path: Path) -> None:
    async with Hub().running() as url:
        pass
    with pytest.raises(WeightsError, match="cannot be reached") as caught:
        await fetched(url, tmp_path / "p")
    assert "pull again" in caught.value.hint


async def test_a_full_disk_keeps_what_was_fetched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_room(folder: Path, needed: int) -> None:
        raise WeightsError(f"the disk is too full for {needed}")

    async with Hub().running() as url:
        with monkeypatch.context() as patch:
            patch.setattr(weights_url, "require_space", no_room)
            with pytest.raises(WeightsError, match=f"too full for {len(DATA)}"):
                await fetched(url, tmp_path / "p")
        assert (await fetched(url, tmp_path / "p")).data.read_bytes() == DATA


@pytest.mark.parametrize("url", ["http://example.org/m.gguf", "ftp://example.org/m.gguf", "file:///etc/passwd"])
def test_only_https_or_this_machine(url: str) -> None:
    with pytest.raises(WeightsError, match="https"):
        require_secure(url)


@pytest.mark.parametrize("url", ["https://example.org/m.gguf", "http://127.0.0.1:1/m.gguf", "http://localhost/m.gguf"])
def test_secure_addresses(url: str) -> None:
    require_secure(url)
