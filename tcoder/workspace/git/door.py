"""The one door to git. A repository that nobody trusts must not run programs of its own through it.

git itself is used, not GitPython: importing that costs more than a whole headless start, and its convenience calls
(`is_dirty`, `diff`) run the repository's fsmonitor, filters and textconv. Here every call takes an argument list, runs
with hooks, fsmonitor, filters, pagers, signing, prompts and transports switched off, and has its exit code checked.
`Git.run_for_user` is the exception: the person's own commit, made as their git would make it.
"""

import asyncio
import contextlib
import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from tcoder.protocol.errors import GitError

HARDENED = {
    "core.fsmonitor": "false",
    "core.hooksPath": "/dev/null",
    "core.pager": "cat",
    "core.editor": "true",
    "core.sshCommand": "false",
    "core.alternateRefsCommand": "",
    "core.untrackedCache": "false",
    "core.splitIndex": "false",
    "core.autocrlf": "false",
    "core.safecrlf": "false",
    "core.quotePath": "false",
    "core.logAllRefUpdates": "false",
    "commit.gpgSign": "false",
    "log.showSignature": "false",
    "gpg.program": "false",
    "diff.external": "",
    "diff.noprefix": "false",
    "diff.mnemonicPrefix": "false",
    "diff.orderFile": "/dev/null",
    "diff.algorithm": "myers",
    "apply.whitespace": "nowarn",
    "credential.helper": "",
    "protocol.allow": "never",
    "protocol.ext.allow": "never",
    "safe.bareRepository": "explicit",
    "submodule.recurse": "false",
    "gc.auto": "0",
    "maintenance.auto": "false",
    "advice.detachedHead": "false",
}
SILENCED_FILTER = {"clean": "", "smudge": "", "process": "", "required": "false"}
SILENCED_DIFF = {"command": "", "textconv": ""}
ENVIRONMENT = {
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_LITERAL_PATHSPECS": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_FLUSH": "1",
    "LC_ALL": "C",
}
KEPT = ("PATH", "HOME", "TMPDIR", "XDG_CONFIG_HOME")
TIMEOUT_S = 60.0
# For commands that read the index without needing it, which costs time and fails when it is damaged.
NO_INDEX = {"GIT_INDEX_FILE": "/nonexistent/index"}
DIFF_OPTIONS = ("--no-ext-diff", "--no-textconv", "--no-color", "--ignore-submodules=none")


class Completed(Struct, frozen=True):
    """What a git process left: its exit code and everything it printed."""

    code: int
    out: bytes
    err: bytes

    @property
    def complaint(self) -> str:
        """Its first line of complaint, without git's own prefix, and what that line announces."""
        lines = self.err.decode("utf-8", "replace").strip().splitlines()
        at = next((at for at, line in enumerate(lines) if line.startswith(("fatal:", "error:"))), 0)
        said = "".join(lines[at : at + 1]).removeprefix("fatal:").removeprefix("error:").strip()
        return " ".join((said, *(line.strip() for line in lines[at + 1 : at + 2]))) if said.endswith(":") else said


class Git:
    """git in one work tree. With `git_dir` the repository is pinned to that folder and not searched for, so neither
    `core.worktree` nor a repository further up can lead elsewhere."""

    def __init__(self, root: Path, *, git_dir: Path | None = None, bare: bool = False) -> None:
        self.root = root
        self.git_dir = git_dir
        place: list[str] = []
        if git_dir is not None:
            place = [f"--git-dir={git_dir}", *(() if bare else (f"--work-tree={root}",))]
        self._command = ["git", "--no-pager", *place]
        self._environment = {name: os.environ[name] for name in KEPT if name in os.environ} | ENVIRONMENT
        self._config: dict[str, str] | None = None
        self._silenced: tuple[tuple[int, int], dict[str, str]] | None = None

    async def run(
        self,
        *arguments: str,
        data: bytes = b"",
        environment: Mapping[str, str] | None = None,
        accept: tuple[int, ...] = (0,),
        timeout_s: float = TIMEOUT_S,
    ) -> bytes:
        """Run git and give back what it printed. Raises `GitError` with its first line of complaint for an exit code
        that is not in `accept`, and when it takes longer than `timeout_s`."""
        done = await self.complete(*arguments, data=data, environment=environment, timeout_s=timeout_s)
        if done.code not in accept:
            raise GitError(f"git {arguments[0]}: {done.complaint or f'exit code {done.code}'}")
        return done.out

    async def complete(
        self,
        *arguments: str,
        data: bytes = b"",
        environment: Mapping[str, str] | None = None,
        timeout_s: float = TIMEOUT_S,
    ) -> Completed:
        """Like `run`, for a command whose exit code says more than whether it went well."""
        env = self._environment | await self._hardening() | dict(environment or {})
        return await self._spawn([*self._command, *arguments], env, data, timeout_s)

    async def settings(self) -> dict[str, str]:
        """What the repository and the user have configured, by lower-case key; of several values the last. Reading
        settings runs nothing. Raises `GitError`."""
        stamp = self._config_stamp()
        if self._silenced is None or self._silenced[0] != stamp or self._config is None:
            command = [*self._command, "config", "--null", "--list"]
            done = await self._spawn(command, dict(self._environment), b"", TIMEOUT_S)
            if done.code != 0:
                raise GitError(f"git config: {done.complaint or f'exit code {done.code}'}")
            self._config = _parse_settings(done.out)
            self._silenced = (stamp, as_environment(HARDENED | _silence(self._config)))
        return self._config

    async def _hardening(self) -> dict[str, str]:
        await self.settings()
        assert self._silenced is not None
        return self._silenced[1]

    def _config_stamp(self) -> tuple[int, int]:
        """Changes when the repository's configuration does, so that a new filter is seen."""
        if self.git_dir is None:
            return (0, 0)
        newest, size = 0, 0
        for folder in {self.git_dir, common_dir(self.git_dir)}:
            for name in ("config", "config.worktree"):
                with contextlib.suppress(OSError):
                    status = (folder / name).stat()
                    newest, size = max(newest, status.st_mtime_ns), size + status.st_size
        return (newest, size)

    async def run_for_user(
        self, *arguments: str, data: bytes = b"", environment: Mapping[str, str] | None = None, timeout_s: float
    ) -> Completed:
        """Run git as the person would, with their configuration, hooks and signing, but without a terminal: nothing
        can ask. The exit code is the caller's to judge."""
        base = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
        base |= {"GIT_TERMINAL_PROMPT": "0", "GIT_EDITOR": ":", "GIT_PAGER": "cat", "GIT_LITERAL_PATHSPECS": "1"}
        command = ["git", "--no-pager", *arguments]
        return await self._spawn(command, base | dict(environment or {}), data, timeout_s)

    async def _spawn(self, command: Sequence[str], env: dict[str, str], data: bytes, timeout_s: float) -> Completed:
        try:
            process = await asyncio.create_subprocess_exec(
                *command,
                cwd=self.root,
                env=env,
                stdin=subprocess.PIPE if data else subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
        except FileNotFoundError as error:
            raise GitError("git was not found", "install git, or start tcoder in a folder that exists") from error
        except OSError as error:
            raise GitError(f"git could not be started: {error.strerror}") from error
        try:
            out, err = await asyncio.wait_for(process.communicate(data or None), timeout_s)
        except TimeoutError as error:
            raise GitError(f"{' '.join(command[:1])} took longer than {timeout_s:.0f} s") from error
        finally:
            if process.returncode is None:
                with contextlib.suppress(ProcessLookupError):  # it ended just now
                    os.killpg(process.pid, signal.SIGKILL)
                await process.wait()
        return Completed(process.returncode or 0, out, err)


def as_environment(settings: Mapping[str, str]) -> dict[str, str]:
    """Settings as git takes them from the environment, which unlike `-c` can hold any name, `=` included."""
    pairs: dict[str, str] = {"GIT_CONFIG_COUNT": str(len(settings))}
    for number, (key, value) in enumerate(settings.items()):
        pairs[f"GIT_CONFIG_KEY_{number}"] = key
        pairs[f"GIT_CONFIG_VALUE_{number}"] = value
    return pairs


def _parse_settings(listed: bytes) -> dict[str, str]:
    settings: dict[str, str] = {}
    for record in listed.decode("utf-8", "surrogateescape").split("\0"):
        key, _, value = record.partition("\n")
        if key:
            settings[key] = value
    return settings


def _silence(config: Mapping[str, str]) -> dict[str, str]:
    """Settings that empty every filter and diff driver that is configured: each needs its own name."""
    silent: dict[str, str] = {}
    for key in config:
        section, _, rest = key.partition(".")
        name = rest.rpartition(".")[0]
        if name and section in ("filter", "diff"):
            empty = SILENCED_FILTER if section == "filter" else SILENCED_DIFF
            silent |= {f"{section}.{name}.{variable}": value for variable, value in empty.items()}
    return silent


def common_dir(git_dir: Path) -> Path:
    """Where objects, refs and configuration are: elsewhere for a linked work tree."""
    try:
        pointer = (git_dir / "commondir").read_text("utf-8", "surrogateescape").strip()
    except OSError:
        return git_dir
    return (git_dir / pointer).resolve()


def check_ref(name: str) -> str:
    """A revision or ref that a person or model named. Raises `GitError` for one that git could take for an option or
    that cannot be a revision."""
    if (
        not name
        or name.startswith("-")
        or any(character.isspace() or not character.isprintable() for character in name)
    ):
        raise GitError(f"{name!r} is not a revision")
    return name
