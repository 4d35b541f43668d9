"""Trust in a folder: bound to its real path and to everything in it that tcoder would run.

A repository's settings are data until a person trusts the folder. The fingerprint holds the exact commands and the
digests of the files that would run; when one changes, the folder is not trusted any more, and what changed is named.
"""

import contextlib
import fcntl
import hashlib
import os
import re
import secrets
import shlex
import stat
import tomllib
from collections.abc import Generator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, cast

import msgspec
from msgspec import Struct

from tcoder.agent.journal import private_folder
from tcoder.protocol.errors import UsageError

SETTINGS = ".tcoder/config.toml"
SERVERS = ".mcp.json"
HARMLESS = frozenset({"variant", "effort", "strategy", "ui"})
"""Settings of a project that run nothing and widen nothing."""
MAX_FILES = 1000
MAX_FILE_BYTES = 8 * 1024 * 1024
MAX_TOTAL_BYTES = 64 * 1024 * 1024
MAX_DEPTH = 12
MAX_STORE_BYTES = 16 * 1024 * 1024

PartKind = Literal["command", "file", "setting"]


class Part(Struct, frozen=True):
    """One thing that would run or decide what runs. `name` says where it stands, such as `checks.test` or a path;
    `value` is the exact command or setting, or a file's SHA-256."""

    kind: PartKind
    name: str
    value: str


class Fingerprint(Struct, frozen=True):
    """All executable parts of a folder, by name. `problem` says why they cannot all be told; such a folder cannot be
    trusted."""

    root: str
    parts: tuple[Part, ...]
    digest: str
    problem: str = ""


class _Trusted(Struct, frozen=True):
    digest: str
    parts: tuple[Part, ...]
    time: str


class _Stored(Struct, frozen=True):
    version: int
    folders: dict[str, _Trusted]


class TrustStore:
    """The folders that a person trusts, in a file that belongs to the user alone. Safe to use from several processes.

    Every method raises `UsageError` when the file is damaged or others may write it: then nothing is trusted.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    def is_trusted(self, root: Path) -> bool:
        """Whether the folder is trusted as it is now."""
        found = fingerprint(root)
        stored = self._read().folders.get(found.root)
        return stored is not None and not found.problem and stored.digest == found.digest

    def changes(self, root: Path) -> tuple[str, ...]:
        """What is new, changed or gone since the folder was trusted, in words, by name; everything when it never was,
        nothing when it is trusted as it is."""
        found = fingerprint(root)
        stored = self._read().folders.get(found.root)
        before = {part.name: part for part in stored.parts} if stored else {}
        after = {part.name: part for part in found.parts}
        lines = [f"{name}: gone" for name in before if name not in after]
        for name, part in after.items():
            if name not in before:
                lines.append(f"{name}: new: {_shown(part)}")
            elif before[name].value != part.value:
                lines.append(f"{name}: {_shown(before[name])} → {_shown(part)}")
        return (*sorted(lines), *((found.problem,) if found.problem else ()))

    def trust(self, root: Path, shown: Fingerprint | None = None) -> Fingerprint:
        """Trust the folder as it was `shown` to a person, else as it is now. Raises `UsageError` when its parts cannot
        all be told."""
        found = shown or fingerprint(root)
        if found.problem:
            raise UsageError(f"{found.root} cannot be trusted: {found.problem}")
        with self._locked():
            folders = self._read().folders
            now = datetime.now(UTC).isoformat(timespec="seconds")
            self._write(_Stored(1, {**folders, found.root: _Trusted(found.digest, found.parts, now)}))
        return found

    def revoke(self, root: Path) -> bool:
        """Trust the folder no longer. False when it was not trusted."""
        real = os.path.realpath(root)
        with self._locked():
            folders = dict(self._read().folders)
            if folders.pop(real, None) is None:
                return False
            self._write(_Stored(1, folders))
        return True

    def _read(self) -> _Stored:
        try:
            fd = os.open(self._path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
        except FileNotFoundError:
            return _Stored(1, {})
        except OSError as error:
            raise UsageError(f"cannot read {self._path}: {error.strerror}", "remove it") from error
        with os.fdopen(fd, "rb") as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode) or status.st_uid != os.geteuid() or status.st_mode & 0o022:
                raise UsageError(f"{self._path} could be written by others", "remove it; folders are asked about again")
            try:
                return msgspec.json.decode(file.read(MAX_STORE_BYTES), type=_Stored)
            except msgspec.MsgspecError as error:
                raise UsageError(
                    f"{self._path} is damaged: {error}", "remove it; folders are asked about again"
                ) from error

    def _write(self, stored: _Stored) -> None:
        temporary = self._path.with_name(f".{self._path.name}.{secrets.token_hex(8)}")
        fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            with os.fdopen(fd, "wb") as file:
                file.write(msgspec.json.encode(stored))
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(self._path)
        except OSError as error:
            temporary.unlink(missing_ok=True)
            raise UsageError(f"cannot write {self._path}: {error.strerror}") from error

    @contextlib.contextmanager
    def _locked(self) -> Generator[None]:
        private_folder(self._path.parent)
        lock = self._path.with_name(f"{self._path.name}.lock")
        try:
            fd = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise UsageError(f"cannot write {lock}: {error.strerror}") from error
        try:
            fcntl.flock(fd, fcntl.LOCK_EX)
            yield
        finally:
            os.close(fd)


def _shown(part: Part) -> str:
    return part.value[:12] if part.kind == "file" else part.value


def fingerprint(root: Path) -> Fingerprint:
    """Everything in a folder that tcoder would run once it is trusted. Reads a bounded number of bytes, follows no
    folder that is a symlink, and never raises for what it finds there; names are in UTF-8 with other bytes as \\xNN."""
    real = os.path.realpath(root)
    reader = _Reader(Path(real))
    reader.read()
    parts = tuple(sorted(reader.parts.values(), key=lambda part: part.name))
    digest = hashlib.sha256(msgspec.json.encode((real, parts))).hexdigest()
    return Fingerprint(real, parts, digest, reader.problem)


class _Reader:
    def __init__(self, root: Path) -> None:
        self.parts: dict[tuple[bool, str], Part] = {}
        self.problem = ""
        self._root = root
        self._bytes = 0

    def read(self) -> None:
        for name in self._files_below(".tcoder"):
            content = self._content(name)
            if name == SETTINGS and content is not None:
                self._settings(content)
            elif content is not None:
                self._add("file", name, hashlib.sha256(content).hexdigest())
        servers = self._root / SERVERS
        # a folder of that name runs nothing; the sandbox keeps one there so that no command can put a file there
        if servers.is_symlink() or (servers.exists() and not servers.is_dir()):
            content = self._content(SERVERS)
            if content is not None:
                self._servers(content)

    def _add(self, kind: PartKind, name: str, value: str) -> None:
        part = Part(kind, os.fsencode(name).decode("utf-8", "backslashreplace"), value)
        if self.parts.setdefault((kind == "file", part.name), part) != part:
            self.problem = f"two different things are called {part.name}"

    def _files_below(self, folder: str) -> list[str]:
        """Paths of everything below a folder that is no folder itself, sorted."""
        found: list[str] = []
        pending = [folder] if (self._root / folder).is_dir() else []
        if (self._root / folder).is_symlink():
            self.problem = f"{folder} is a symlink"
            return []
        while pending:
            current = pending.pop()
            if current.count("/") > MAX_DEPTH:
                self.problem = f"{current} lies too deep"
                return found
            try:
                entries = sorted(os.scandir(self._root / current), key=lambda entry: entry.name)
            except OSError as error:
                self.problem = f"{current} cannot be read: {error.strerror}"
                return found
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    pending.append(f"{current}/{entry.name}")
                elif entry.is_symlink() and entry.is_dir():
                    self.problem = f"{current}/{entry.name} is a symlink to a folder"
                else:
                    found.append(f"{current}/{entry.name}")
                if len(found) + len(pending) > MAX_FILES:
                    self.problem = f"{folder} holds more than {MAX_FILES} files"
                    return found
        return sorted(found)

    def _content(self, name: str) -> bytes | None:
        """A file's bytes, of a symlink those that it leads to; None with `problem` set when they cannot be told."""
        try:
            fd = os.open(self._root / name, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
        except OSError as error:
            self.problem = f"{name} cannot be read: {error.strerror}"
            return None
        try:
            if not stat.S_ISREG(os.fstat(fd).st_mode):
                self.problem = f"{name} is not a regular file"
                return None
            with os.fdopen(fd, "rb", closefd=False) as file:
                content = file.read(MAX_FILE_BYTES + 1)
        finally:
            os.close(fd)
        self._bytes += len(content)
        if len(content) > MAX_FILE_BYTES or self._bytes > MAX_TOTAL_BYTES:
            self.problem = f"{name} is too large to be looked through"
            return None
        return content

    def _settings(self, content: bytes) -> None:
        try:
            settings = tomllib.loads(content.decode("utf-8"))
        except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError):
            # It runs nothing as it stands; once it is mended it is another file, and asked about again.
            self._add("file", SETTINGS, hashlib.sha256(content).hexdigest())
            return
        for name, value in settings.items():
            if name not in HARMLESS:
                self._value(_key(name), value)

    def _servers(self, content: bytes) -> None:
        try:
            self._value(SERVERS, msgspec.json.decode(content))
        except (msgspec.DecodeError, RecursionError):
            self._add("file", SERVERS, hashlib.sha256(content).hexdigest())

    def _value(self, name: str, value: object, depth: int = 0) -> None:
        """Each leaf of a setting is a part; files of the folder that a command names are parts, too, except those of
        the project's checks, which run inside the sandbox."""
        if depth > MAX_DEPTH:
            self.problem = f"{name[:80]} is nested too deep"
            return
        if isinstance(value, dict):
            for key, below in cast("dict[str, object]", value).items():
                self._value(f"{name}.{_key(key)}", below, depth + 1)
            return
        if isinstance(value, list) and any(isinstance(item, dict) for item in cast("list[object]", value)):
            for at, below in enumerate(cast("list[object]", value), 1):
                self._value(f"{name}[{at}]", below, depth + 1)
            return
        text = value if isinstance(value, str) else msgspec.json.encode(value, enc_hook=str).decode()
        self._add("command" if isinstance(value, str | list) else "setting", name, text)
        if not name.startswith(("checks.", "rules")):
            for word in _words(value):
                self._named_file(word)

    def _named_file(self, word: str) -> None:
        if not word or "\0" in word or len(word) > 1000:
            return
        place = Path(os.path.normpath(self._root / word))
        if place == self._root or not place.is_relative_to(self._root):
            return
        name = str(place.relative_to(self._root))
        try:
            regular = place.is_file()
        except OSError:
            return
        if regular and (True, name) not in self.parts and (content := self._content(name)) is not None:
            self._add("file", name, hashlib.sha256(content).hexdigest())


def _key(key: str) -> str:
    """A key as TOML writes it, so that two different places never have the same name."""
    return key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else msgspec.json.encode(key).decode()


def _words(value: Any) -> list[str]:
    if isinstance(value, list):
        return [word for item in cast("list[object]", value) for word in _words(item)]
    if not isinstance(value, str):
        return []
    try:
        return [value, *shlex.split(value)]
    except ValueError:  # an open quote: no shell would run it either
        return [value, *value.split()]
