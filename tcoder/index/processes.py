"""Ending child processes."""

import asyncio
import os
import signal
from contextlib import suppress


async def end(process: asyncio.subprocess.Process) -> None:
    """Kill a process that may still run and take what it left in its pipes, so that nothing of it stays open."""
    if process.returncode is None:
        # not `process.kill`, which may reap the process before asyncio's own watcher does; that one then complains
        with suppress(ProcessLookupError):
            os.kill(process.pid, signal.SIGKILL)
    with suppress(OSError):
        await process.communicate()
    if process.stdin is not None:
        process.stdin.close()
        with suppress(OSError):
            await process.stdin.wait_closed()
    await asyncio.sleep(0)  # the loop closes the transport one step after its last pipe
