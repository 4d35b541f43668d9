"""Which weights are there, and pulls from files."""

import errno
import hashlib
import os
from pathlib import Path

import pytest
from support.tiny_gguf import write_tiny_gguf

from tcoder.models.local.folders import LocalFolders, local_folders
from tcoder.models.local.weights import find, list_weights, pull, require
from tcoder.models.local.weights_catalogue import catalogue, find_entry
from tcoder.models.local.weights_packages import pip_command
from tcoder.models.local.weights_store import hash_file, human, mark_verified, marker_of, verified_hash
from tcoder.protocol.errors import WeightsError


@pytest.fixture
def folders(tmp_path: Path) -> LocalFolders:
    return LocalFolders(tmp_path / "models", tmp_path / "state", tmp_path / "run")


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    return write_tiny_gguf(tmp_path / "tiny.gguf")


def test_the_catalogue_holds_what_a_pull_needs() -> None:
    assert [entry.id for entry in catalogue()] == ["local/qwen2.5-coder-0.5b", "local/qwen2.5-coder-1.5b"]
    for entry in catalogue():
        assert len(bytes.fromhex(entry.sha256)) == 32
        assert entry.file.endswith(".gguf")
        assert entry.bytes > 100_000_000
        assert {speed.threads for speed in entry.speeds} == {1, 2}
        assert "{" not in entry.source.requirement(1) + entry.source.member_of(1)
    assert find_entry("qwen2.5-coder-0.5b") is find_entry("local/qwen2.5-coder-0.5b") is catalogue()[0]
    assert find_entry("local/nothing") is None


@pytest.mark.parametrize(
    ("environ", "weights", "state"),
    [
        ({"TCODER_HOME": "/h"}, "/h/data/models", "/h/state"),
        ({"TCODER_HOME": "/h", "TCODER_MODELS_DIR": "/m"}, "/m", "/h/state"),
    ],
)
def test_folders_can_be_moved(environ: dict[str, str], weights: str, state: str) -> None:
    found = local_folders(environ)
    assert (str(found.weights), str(found.state), str(found.runtime)) == (weights, state, "/h/state/engines")


async def test_without_weights_one_sentence_names_the_command(folders: LocalFolders) -> None:
    assert await find("local/qwen2.5-coder-0.5b", folders) is None
    with pytest.raises(WeightsError) as caught:
        await require("local/qwen2.5-coder-0.5b", folders)
    assert "`tcoder models pull local/qwen2.5-coder-0.5b`" in str(caught.value)
    assert "491 MB" in str(caught.value)
    with pytest.raises(WeightsError, match="there is no local model local/other"):
        await require("local/other", folders)
    status = list_weights(folders)
    assert [(s.present, s.verified) for s in status] == [(False, False), (False, False)]
    assert not folders.weights.exists(), "looking makes no folders"


async def test_a_wrong_file_is_not_used(folders: LocalFolders) -> None:
    folders.weights.mkdir()
    entry = catalogue()[0]
    path = folders.weights / entry.file
    path.write_bytes(b"GGUF and nothing more")
    with pytest.raises(WeightsError, match="damaged or another file") as caught:
        await find(entry.id, folders)
    assert entry.id in caught.value.hint
    with path.open("r+b") as file:
        file.truncate(entry.bytes)  # the right size, a sparse file
    marker_of(path).write_bytes(b"{}")
    assert [s.verified for s in list_weights(folders)] == [False, False]


async def test_a_file_can_be_pulled_and_used_by_name(folders: LocalFolders, tiny: Path) -> None:
    path = await pull(str(tiny), folders=folders)
    assert path == folders.weights / "tiny.gguf"
    assert path.read_bytes() == tiny.read_bytes()
    assert folders.weights.stat().st_mode & 0o777 == 0o700
    assert await find("local/tiny", folders) == path
    assert await find(f"local/{tiny}", folders) == tiny, "a path is a model, too"
    own = list_weights(folders)[-1]
    assert (own.id, own.present, own.verified, own.bytes) == ("local/tiny", True, True, tiny.stat().st_size)
    assert await pull(str(path), folders=folders) == path, "pulling the stored file itself changes nothing"


async def test_a_hash_that_the_user_gives_must_match(folders: LocalFolders, tiny: Path) -> None:
    right = hashlib.sha256(tiny.read_bytes()).hexdigest()
    with pytest.raises(WeightsError, match="sha256"):
        await pull(str(tiny), folders=folders, sha256="0" * 64)
    assert not (folders.weights / "tiny.gguf").exists()
    assert await pull(str(tiny), folders=folders, sha256=right.upper())


async def test_a_file_with_a_catalogue_name_must_be_the_catalogue_file(folders: LocalFolders, tiny: Path) -> None:
    entry = catalogue()[0]
    impostor = tiny.rename(tiny.with_name(entry.file))
    with pytest.raises(WeightsError, match=f"the catalogue says {entry.bytes}"):
        await pull(str(impostor), folders=folders)
    assert not (folders.weights / entry.file).exists()


@pytest.mark.parametrize("name", ["model.bin", ".hidden.gguf"])
async def test_names_that_are_no_model_files(folders: LocalFolders, tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(b"GGUF....")
    with pytest.raises(WeightsError, match=r"does not name a \.gguf file"):
        await pull(str(path), folders=folders)


async def test_what_is_neither_model_nor_file_nor_url(folders: LocalFolders, tmp_path: Path) -> None:
    with pytest.raises(WeightsError, match="no known model, no file and no URL"):
        await pull("local/qwen9", folders=folders)
    fake = tmp_path / "page.gguf"
    fake.write_bytes(b"<html>")
    with pytest.raises(WeightsError, match="is not a GGUF file"):
        await pull(str(fake), folders=folders)
    with pytest.raises(WeightsError, match="is not a GGUF file"):
        await find(f"local/{fake}", folders)


async def test_a_folder_that_cannot_be_written_is_one_sentence(folders: LocalFolders, tiny: Path) -> None:
    folders.weights.write_text("a file stands where the folder should be")
    with pytest.raises(WeightsError, match="cannot write to") as caught:
        await pull(str(tiny), folders=folders)
    assert "TCODER_MODELS_DIR" in caught.value.hint


async def test_a_disk_that_fills_up_is_one_sentence(folders: LocalFolders) -> None:
    async def no_room(requirement: str, folder: Path) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with pytest.raises(WeightsError, match="the disk is full") as caught:
        await pull(catalogue()[0].id, folders=folders, download=no_room)
    assert "goes on where it stopped" in caught.value.hint
    assert not list(folders.weights.glob("*.gguf"))


async def test_a_verified_file_that_is_touched_is_not_verified_any_more(tiny: Path) -> None:
    mark_verified(tiny, await hash_file(tiny))
    assert verified_hash(tiny) == hashlib.sha256(tiny.read_bytes()).hexdigest()
    stamp = tiny.stat()
    os.utime(tiny, ns=(stamp.st_atime_ns, stamp.st_mtime_ns + 1))
    assert verified_hash(tiny) == ""


def test_pip_missing_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(WeightsError, match="pip is needed") as caught:
        pip_command()
    assert "ensurepip" in caught.value.hint


@pytest.mark.parametrize(
    ("size", "text"), [(0, "0 B"), (999, "999 B"), (491_400_064, "491 MB"), (1_117_320_768, "1.1 GB")]
)
def test_sizes_for_people(size: int, text: str) -> None:
    assert human(size) == text
