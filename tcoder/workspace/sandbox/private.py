"""A private folder for each running shell, outside the workspace, and what is swept up when its owner was killed."""

import contextlib
import os
import shutil
import stat
import tempfile
from collections.abc import Iterable
from pathlib import Path

from tcoder.workspace.shell.processes import read_process

_PREFIX = "tcoder-shell-"
_STOOD_IN = "stood-in"


class PrivateFolder:
    """A fresh folder with mode 0700 and a name nobody can have planted. `channel` is what a sandboxed command sees,
    read-only; the rest belongs to the sandbox. `close` removes all of it."""

    def __init__(self, parent: Path | None = None) -> None:
        place = parent or Path(tempfile.gettempdir())
        sweep(place)
        self.path = Path(tempfile.mkdtemp(prefix=f"{_PREFIX}{os.getpid()}-{_started(os.getpid())}-", dir=place))
        self.channel = self.path / "channel"
        self.channel.mkdir(mode=0o755)

    def empty_file(self) -> Path:
        """An empty file, to be seen in place of one that is hidden."""
        path = self.path / "empty"
        if not path.exists():
            path.touch(mode=0o400)
        return path

    def folder(self, name: str) -> Path:
        path = self.path / name
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        return path

    def remember_stand_ins(self, paths: Iterable[Path]) -> None:
        """Note folders that the sandbox makes as mount points for protected paths that are not there. To be called
        before it makes them: an empty folder that is there already is somebody's, unless another sandbox made it."""
        others = _all_stand_ins(self.path)
        made = [path for path in paths if not os.path.lexists(path) or os.fspath(path) in others]
        text = "".join(f"{os.fspath(path)}\0" for path in made)
        (self.path / _STOOD_IN).write_bytes(os.fsencode(text))

    def hand_over(self, pid: int) -> None:
        """Let the folder belong to a process that outlives us: it is swept once that one is gone. Only when nothing
        asks for the folder by its name any more. Raises `OSError`."""
        mine = f"{_PREFIX}{os.getpid()}-{_started(os.getpid())}-"
        path = self.path.with_name(f"{_PREFIX}{pid}-{_started(pid)}-{self.path.name.removeprefix(mine)}")
        self.path.rename(path)
        self.path = path

    def close(self) -> None:
        _remove(self.path)


def sweep(place: Path) -> None:
    """Remove what killed processes of this user left: their private folders and the empty stand-ins they list."""
    with os.scandir(place) as entries:
        found = [Path(entry.path) for entry in entries if entry.name.startswith(_PREFIX)]
    for path in found:
        with contextlib.suppress(OSError):
            status = path.lstat()
            if stat.S_ISDIR(status.st_mode) and status.st_uid == os.geteuid() and is_left_over(path.name):
                _remove(path)


def is_left_over(name: str) -> bool:
    """Whether the process that made something of this name is gone."""
    owner, _, rest = name.removeprefix(_PREFIX).partition("-")
    return owner.isdecimal() and _started(int(owner)) != rest.partition("-")[0]


def _started(pid: int) -> str:
    process = read_process(pid)
    return str(process.started) if process else "0"


def _stand_ins(folder: Path) -> set[str]:
    try:
        return {os.fsdecode(name) for name in (folder / _STOOD_IN).read_bytes().split(b"\0") if name}
    except OSError:
        return set()


def _all_stand_ins(but: Path) -> set[str]:
    """The stand-ins that all folders beside one know of."""
    others = (other for other in but.parent.glob(f"{_PREFIX}*") if other != but)
    return {name for other in others for name in _stand_ins(other)}


def _remove(folder: Path) -> None:
    mine = _stand_ins(folder)
    if mine:
        for name in mine - _all_stand_ins(folder):
            with contextlib.suppress(OSError):  # not empty, so it is somebody's
                os.rmdir(name)
    shutil.rmtree(folder, onerror=lambda _function, name, _error: _unlock_and_retry(folder, name))


def _unlock_and_retry(folder: Path, name: str) -> None:
    """overlayfs leaves a folder without permissions, read-only package stores hold others. Only what lies in `folder`
    is given other rights: when the folder itself is gone already (two processes sweep at once), its parent is
    everybody's."""
    if os.fspath(name) == os.fspath(folder) and not os.path.lexists(name):
        return
    with contextlib.suppress(OSError):
        parent = os.path.dirname(name)
        if Path(parent).is_relative_to(folder):
            os.chmod(parent, 0o700)
        if os.path.isdir(name) and not os.path.islink(name):
            os.chmod(name, 0o700)
            shutil.rmtree(name, ignore_errors=True)
        else:
            os.unlink(name)
