"""A job that a person let outlive tcoder: in a sandbox and a session of its own, with its output in a file."""

import asyncio
import contextlib
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

from tcoder.protocol.errors import ToolError
from tcoder.workspace.sandbox.private import PrivateFolder
from tcoder.workspace.sandbox.reduced import Reduced
from tcoder.workspace.sandbox.sandbox import Launch, Sandbox
from tcoder.workspace.shell.limits import Limits
from tcoder.workspace.shell.processes import Process, descendants, read_process

KEPT_BYTES = 8_000_000
_BASH = "/bin/bash"
_READY_S = 10.0
# Tells that it runs, then keeps the first bytes that are printed and drops the rest: a full file must not end a server.
_SCRIPT = """
@L printf . >&@R; exec @R>&-
( builtin eval "$1" ) </dev/null 2>&1 | { ( ulimit -f @B; trap '' XFSZ; exec cat ) 2>/dev/null; exec cat >/dev/null; }
exit "${PIPESTATUS[0]}"
"""


class Kept:
    """A started job. `log` holds the first `KEPT_BYTES` of what it prints; `pid` is the process that ends all of it."""

    def __init__(self, process: subprocess.Popen[bytes], log: Path) -> None:
        self._process = process
        self.pid = process.pid
        self.log = log

    @property
    def exit_code(self) -> int | None:
        """None while it runs."""
        return self._process.poll()

    def members(self) -> list[Process]:
        """Its living processes."""
        if self.exit_code is not None:
            return []
        own = read_process(self.pid)
        return [*([own] if own else []), *descendants(self.pid)]

    def read(self) -> str:
        return self.log.read_text(encoding="utf-8", errors="replace")


async def start(
    folder: Path,
    command: str,
    *,
    sandbox: Sandbox | Reduced | None,
    environment: Mapping[str, str],
    log: Path,
    limits: Limits,
) -> Kept:
    """Start `command` in `folder`, contained as other commands are, and return when it runs. Raises `ToolError`."""
    private = PrivateFolder()
    log.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    ready, told = os.pipe()
    script = _SCRIPT.replace("@L", limits.commands()).replace("@R", str(told)).replace("@B", str(KEPT_BYTES // 1024))
    argv = [_BASH, "--noprofile", "--norc", "-c", script, "bash", command]
    restrict = None
    if isinstance(sandbox, Sandbox):
        launch = sandbox.launch(argv, environment=environment, private=private, own_terminal=False, outlives=True)
    elif isinstance(sandbox, Reduced):
        launch, restrict = sandbox.launch(argv, environment, private)
    else:
        launch = Launch(argv, dict(environment))
    try:
        output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            process = subprocess.Popen(  # noqa: ASYNC220 asyncio's own would end it with the loop
                _in_folder(launch.argv, folder), env=launch.environment, stdin=subprocess.DEVNULL, stdout=output,
                stderr=output, cwd=folder, start_new_session=True, pass_fds=(told, *launch.descriptors),
                preexec_fn=restrict,
            )  # fmt: skip
        finally:
            os.close(output)
    except OSError as error:
        private.close()
        raise ToolError(f"the job could not be started: {error.strerror}") from error
    finally:
        os.close(told)
        launch.close()
    try:
        said = await asyncio.wait_for(asyncio.to_thread(os.read, ready, 1), _READY_S)
    finally:
        os.close(ready)
    if not said:
        process.wait()
        private.close()
        raise ToolError(f"the job could not be started: {log.read_text(errors='replace')[-400:]}")
    with contextlib.suppress(OSError):  # it has ended already
        private.hand_over(process.pid)
    return Kept(process, log)


def _in_folder(argv: list[str], folder: Path) -> list[str]:
    """bubblewrap's command line with another folder to start in."""
    if "--chdir" in argv:
        at = argv.index("--chdir") + 1
        return [*argv[:at], str(folder), *argv[at + 1 :]]
    return argv
