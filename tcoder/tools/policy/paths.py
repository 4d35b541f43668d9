"""What a path's name says about reading and changing it. Pure: symlinks are told by the caller, who may look."""

import tomllib
import unicodedata
from collections.abc import Iterator
from fnmatch import fnmatchcase
from functools import cache, lru_cache
from importlib import resources
from posixpath import isabs, join, normpath

import msgspec
from msgspec import Struct


class _Names(Struct, frozen=True, forbid_unknown_fields=True):
    system: tuple[str, ...]
    harmless: tuple[str, ...]
    secret: tuple[str, ...]
    secret_below: tuple[str, ...]
    not_secret: tuple[str, ...]
    protected: tuple[str, ...]
    guarded: tuple[str, ...]


@cache
def _names() -> _Names:
    text = resources.files("tcoder.tools.policy").joinpath("paths.toml").read_text(encoding="utf-8")
    return msgspec.convert(tomllib.loads(text), _Names)


def locate(path: str, root: str, cwd: str = "") -> str:
    """`path` as an absolute path without `.` and `..`, by its text alone; relative paths start at `cwd`, else at
    `root`. Empty when it is relative and neither is known, and it climbs out."""
    if isabs(path):
        return normpath(path).replace("//", "/")
    base = cwd or root
    if base:
        return normpath(join(base, path))
    climbed = normpath(path)
    return "" if climbed.startswith("..") else climbed


def inside(path: str, folder: str) -> bool:
    """Whether an absolute path is `folder` or below it."""
    return bool(folder) and (path == folder or path.startswith(folder.rstrip("/") + "/"))


def relative(path: str, root: str) -> str:
    """An absolute path as seen from the root; as it is when it lies elsewhere."""
    if path == root:
        return "."
    return path[len(root.rstrip("/")) + 1 :] if inside(path, root) else path


@lru_cache(maxsize=4096)
def is_secret(path: str) -> bool:
    """Whether a path's name says that it holds keys or passwords."""
    names = _names()
    parts = _parts(path)
    if any(fnmatchcase(parts[-1], allowed) for allowed in names.not_secret):
        return any(_any_part(parts[:-1], names.secret))
    joined = "/".join(parts)
    below = any(f"/{place}/" in f"/{joined}/" for place in names.secret_below)
    return below or any(_any_part(parts, names.secret))


def is_system(path: str) -> bool:
    """Whether a path leads to processes, kernel settings or devices."""
    names = _names()
    return path not in names.harmless and any(inside(path, place) for place in names.system)


@lru_cache(maxsize=4096)
def is_protected(path: str) -> bool:
    """Whether nobody but a person may change what is there: a repository's own folders, at any depth."""
    return any(_any_part(_parts(path), _names().protected))


@lru_cache(maxsize=4096)
def is_guarded(path: str) -> bool:
    """Whether other programs run what a file of this name says."""
    return any(_any_part(_parts(path), _names().guarded))


def looks_private(word: str) -> bool:
    """Whether a word of a command names a secret or a system path, wherever it would be looked for."""
    placed = locate(word, "", "/")
    return is_secret(word) or is_system(placed) or is_system(normpath(word))


def _parts(path: str) -> tuple[str, ...]:
    """The parts of a path as a file system that ignores case and invisible characters would compare them."""
    folded = path if path.isascii() else _folded(path)
    return tuple(part.rstrip(" .") or part for part in folded.casefold().split("/") if part) or (".",)


def _folded(path: str) -> str:
    return "".join(c for c in unicodedata.normalize("NFKC", path) if unicodedata.category(c) != "Cf")


def _any_part(parts: tuple[str, ...], patterns: tuple[str, ...]) -> Iterator[bool]:
    return (fnmatchcase(part, pattern) for part in parts for pattern in patterns)
