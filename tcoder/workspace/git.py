"""The one door to git. A repository that nobody trusts must not run programs of its own through it.

git itself is used, not GitPython: importing that costs more than a whole headless start, and its convenience calls
(`is_dirty`, `diff`) run the repository's fsmonitor, filters and textconv. Here every call takes an argument list, runs
with hooks, fsmonitor, filters, pagers, signing and prompts switched off, and has its exit code checked.
"""

import asyncio
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

from tcoder.protocol.errors import GitError

HARDENED = (
    "core.fsmonitor=false",
    "core.hooksPath=/dev/null",
    "core.pager=cat",
    "core.editor=true",
    "core.sshCommand=false",
    "core.alternateRefsCommand=",
    "core.untrackedCache=false",
    "core.splitIndex=false",
    "core.autocrlf=false",
    "core.safecrlf=false",
    "core.quotePath=false",
    "commit.gpgSign=false",
    "log.showSignature=false",
    "gpg.program=false",
    "diff.external=",
    "diff.noprefix=false",
    "diff.mnemonicPrefix=false",
    "credential.helper=",
    "protocol.ext.allow=never",
    "submodule.recurse=false",
    "gc.auto=0",
    "maintenance.auto=false",
    "advice.detachedHead=false",
)
ENVIRONMENT = {
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_LITERAL_PATHSPECS": "1",
    "LC_ALL": "C",
}
KEPT = ("PATH", "HOME", "TMPDIR", "XDG_CONFIG_HOME")
TIMEOUT_S = 60.0


class Git:
    """git in one repository. `git_dir` and `work_tree` are given for a store that lies elsewhere."""

    def __init__(self, root: Path, *, git_dir: Path | None = None) -> None:
        self.root = root
        self._filters: tuple[str, ...] | None = None
        self._place = ["--git-dir", str(git_dir), "--work-tree", str(root)] if git_dir else []
        self._environment = {name: os.environ[name] for name in KEPT if name in os.environ} | ENVIRONMENT

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
        if self._filters is None:
            self._filters = ()
            self._filters = await self._configured_filters()
        process = await asyncio.create_subprocess_exec(
            *self._command(arguments),
            cwd=self.root,
            env=self._environment | dict(environment or {}),
            stdin=subprocess.PIPE if data else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        try:
            out, err = await asyncio.wait_for(process.communicate(data or None), timeout_s)
        except TimeoutError as error:
            raise GitError(f"git {arguments[0]} took longer than {timeout_s:.0f} s") from error
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        if process.returncode not in accept:
            complaint = err.decode("utf-8", "replace").strip().split("\n")[0]
            raise GitError(f"git {arguments[0]}: {complaint or f'exit code {process.returncode}'}")
        return out

    def _command(self, arguments: tuple[str, ...]) -> list[str]:
        options = [option for setting in (*HARDENED, *(self._filters or ())) for option in ("-c", setting)]
        return ["git", "--no-pager", *self._place, *options, *arguments]

    async def _configured_filters(self) -> tuple[str, ...]:
        """Settings that empty every filter the repository or the user has configured: reading settings runs nothing."""
        names: set[str] = set()
        listed = await self.run("config", "--null", "--name-only", "--get-regexp", r"^filter\.", accept=(0, 1, 128))
        for key in listed.decode("utf-8", "surrogateescape").split("\0"):
            name = key.removeprefix("filter.").rpartition(".")[0]
            if name and "=" not in name and "\n" not in name:
                names.add(name)
        empty = (("clean", ""), ("smudge", ""), ("process", ""), ("required", "false"))
        return tuple(f"filter.{name}.{key}={value}" for name in sorted(names) for key, value in empty)


def check_ref(name: str) -> str:
    """A revision or ref that a person or model named. Raises `GitError` for one that git could take for an option."""
    if not name or name.startswith("-") or any(character in name for character in "\0\n "):
        raise GitError(f"{name!r} is not a revision")
    return name
