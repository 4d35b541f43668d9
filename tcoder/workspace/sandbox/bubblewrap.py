"""The bubblewrap command line: what a contained command sees and may write."""

import os
import stat
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

from msgspec import Struct

from tcoder.workspace.sandbox.environment import EMPTIED
from tcoder.workspace.sandbox.paths import (
    FILTERED,
    SECRETS,
    Guarded,
    cache_folders,
    guarded,
    listening_sockets,
    missing_caches,
    without_secrets,
)
from tcoder.workspace.sandbox.private import PrivateFolder

Overlay = Literal["disk", "memory", "none"]
TMP_BYTES = 2 << 30
_MANY_ENTRIES = 400


class View(Struct, frozen=True):
    """`root` and `writable` may be written; `readable` and `hidden` are exceptions inside what is hidden or seen.
    `overlay` is how caches become writable: throw-away layers on disk, in memory, or not at all."""

    root: Path
    writable: tuple[Path, ...]
    readable: tuple[Path, ...]
    hidden: tuple[Path, ...]
    home: Path
    network: bool
    overlay: Overlay


class Options(Struct, frozen=True):
    """bubblewrap's options, what they protect, and what a person should know about that."""

    words: list[str]
    protected: tuple[Path, ...]
    notes: tuple[str, ...]


def arguments(
    view: View, private: PrivateFolder, environment: Mapping[str, str], *, new_session: bool, outlives: bool = False
) -> Options:
    """bubblewrap's options. Later mounts lie on top of earlier ones, so the order is: the machine read-only, home with
    private caches, what may be written, then what is hidden or protected inside of that. What it runs ends with us
    unless it `outlives` us.

    Every namespace is its own and no capability is kept, also for root; `/proc` is read-only because root could write
    `core_pattern` through it otherwise.
    """
    options = [
        "--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try",
        *(() if view.network else ("--unshare-net",)),
        "--disable-userns", "--cap-drop", "ALL", *(() if outlives else ("--die-with-parent",)),
        *(("--new-session",) if new_session else ()),
        "--hostname", "sandbox",
        "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--remount-ro", "/proc",
        "--perms", "0755", "--tmpfs", "/run", *(_resolver() if view.network else ()),
        "--perms", "1777", "--size", str(TMP_BYTES), "--tmpfs", "/tmp",
    ]  # fmt: skip
    if Path("/var/tmp").is_dir() and not Path("/var/tmp").is_symlink():
        options += ["--perms", "1777", "--size", str(TMP_BYTES), "--tmpfs", "/var/tmp"]
    writable = _outermost((view.root, *view.writable))
    if view.home.is_dir() and view.home != Path("/") and view.home not in writable:
        options += _home(view, private)
    options += _caches(view, private, environment)
    for folder in writable:
        options += ["--bind", str(folder), str(folder)]
    looks = [guarded(folder) for folder in writable]
    protected = tuple(path for one in looks for path in one.present)
    options += _anchored(writable, protected)
    options += _hidden(view, private)
    options += _protected(writable, looks, private)
    options += _deaf(writable, private)
    options += ["--ro-bind", str(private.channel), str(private.channel)]
    return Options(options, protected, tuple(one.note for one in looks if one.note))


def _resolver() -> list[str]:
    """With a network, name resolution must find its file again below the empty /run."""
    target = os.path.realpath("/etc/resolv.conf")
    return ["--ro-bind", target, target] if target.startswith("/run/") and os.path.exists(target) else []


def _outermost(folders: Sequence[Path]) -> list[Path]:
    kept: list[Path] = []
    for folder in sorted({Path(os.path.realpath(folder)) for folder in folders}, key=lambda path: len(path.parts)):
        if not any(folder.is_relative_to(above) for above in kept):
            kept.append(folder)
    return kept


def _home(view: View, private: PrivateFolder) -> list[str]:
    """When a cache is missing, home is put together from its entries so that the cache can be added beside them."""
    missing = missing_caches(view.home)
    with os.scandir(view.home) as entries:
        found = sorted(entries, key=lambda entry: entry.name)
    if not missing or len(found) > _MANY_ENTRIES:
        covered = any(view.home.is_relative_to(folder) for folder in EMPTIED)
        return ["--ro-bind", str(view.home), str(view.home)] if covered else []
    mode = stat.S_IMODE(view.home.stat().st_mode)
    options = ["--perms", f"{mode:04o}", "--tmpfs", str(view.home)]
    for entry in found:
        if entry.is_symlink():
            options += ["--symlink", os.readlink(entry.path), entry.path]
        elif entry.is_dir() or entry.is_file():
            options += ["--ro-bind-try", entry.path, entry.path]
    for path in missing:
        own = private.folder(f"made/{path.name}")
        options += ["--bind", str(own), str(path)]
    return [*options, "--remount-ro", str(view.home)]


def _caches(view: View, private: PrivateFolder, environment: Mapping[str, str]) -> list[str]:
    if view.overlay == "none":
        return []
    options: list[str] = []
    for number, path in enumerate(cache_folders(view.home, environment)):
        if view.root.is_relative_to(path) or any(path.is_relative_to(folder) for folder in (view.root, *view.writable)):
            continue
        options += ["--overlay-src", str(path)]
        if view.overlay == "disk":
            upper, work = private.folder(f"layer/{number}/upper"), private.folder(f"layer/{number}/work")
            options += ["--overlay", str(upper), str(work), str(path)]
        else:
            options += ["--tmp-overlay", str(path)]
    return options


def _hidden(view: View, private: PrivateFolder) -> list[str]:
    options: list[str] = []
    folders: list[Path] = []
    for path in (*(view.home / name for name in SECRETS), *view.hidden):
        real = Path(os.path.realpath(path))
        if view.root.is_relative_to(real):
            continue  # a person works there
        if real.is_dir():
            options += ["--perms", "0700", "--tmpfs", str(real)]
            folders.append(real)
        elif real.exists() and (real.is_file() or real.is_socket()):
            options += ["--ro-bind", str(private.empty_file()), str(real)]
    for number, name in enumerate(FILTERED):
        path = Path(os.path.realpath(view.home / name))
        if path.is_file() and os.access(path, os.R_OK):
            copy = private.folder("filtered") / str(number)
            copy.write_text(without_secrets(path.read_text(encoding="utf-8", errors="replace")), encoding="utf-8")
            options += ["--ro-bind", str(copy), str(path)]
    for path in view.readable:
        options += ["--ro-bind-try", str(path), str(path)]
    for folder in folders:
        options += ["--remount-ro", str(folder)]
    return options


def _deaf(writable: Sequence[Path], private: PrivateFolder) -> list[str]:
    """An empty file over each socket of the host that is not out of sight already: services that listen there (a
    container engine, an agent with keys) may do anything."""
    options: list[str] = []
    for path in listening_sockets():
        real = Path(os.path.realpath(path))
        out_of_sight = any(real.is_relative_to(folder) for folder in (*EMPTIED, "/dev", private.path))
        if real.is_socket() and (not out_of_sight or any(real.is_relative_to(folder) for folder in writable)):
            options += ["--ro-bind", str(private.empty_file()), str(real)]
    return options


def _anchored(writable: Sequence[Path], protected: Sequence[Path]) -> list[str]:
    """The folders above what is protected become mounts of their own: those cannot be renamed, so that nothing else
    can be put in the place of a nested repository."""
    above = {parent for path in protected for parent in path.parents for top in writable if top in parent.parents}
    return [word for folder in sorted(above) for word in ("--bind", str(folder), str(folder))]


def _protected(writable: Sequence[Path], looks: Sequence[Guarded], private: PrivateFolder) -> list[str]:
    options: list[str] = []
    stand_ins: list[Path] = []
    for one in looks:
        for path in one.present:
            if not any(top.is_relative_to(path) for top in writable):
                options += ["--ro-bind", str(path), str(path)]
        for path in one.linked:
            options += ["--ro-bind-try", str(path), str(path)]
        for path in one.missing:
            options += ["--perms", "0555", "--tmpfs", str(path), "--remount-ro", str(path)]
            stand_ins.append(path)
    private.remember_stand_ins(stand_ins)
    return options
