"""A `CommandRunner` without a sandbox: bash in a folder, its group ended at the end."""

import asyncio
import contextlib
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

from tcoder.protocol.commands import CommandResult


class PlainRunner:
    def __init__(self, root: Path) -> None:
        self.root = root

    async def run(
        self, command: str, *, timeout_s: float, cwd: str = "", on_output: Callable[[str], None] | None = None
    ) -> CommandResult:
        began = time.monotonic()
        process = await asyncio.create_subprocess_exec(
            "bash", "-c", command, cwd=self.root / cwd, stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT, start_new_session=True,
            env={**os.environ, "NO_COLOR": "1"},
        )  # fmt: skip
        timed_out = False
        data = b""
        try:
            data, _ = await asyncio.wait_for(process.communicate(), timeout_s)
        except TimeoutError:
            timed_out = True
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
        code = None if timed_out else process.returncode
        text = data.decode("utf-8", "replace")
        return CommandResult(command, code, text, time.monotonic() - began, timed_out=timed_out)
