"""Ending child processes."""

import asyncio
from contextlib import suppress


async def end(process: asyncio.subprocess.Process) -> None:
    """Kill a process that may still run and take what it left in its pipes, so that nothing of it stays open."""
    if process.returncode is None:
        process.kill()
    with suppress(OSError):
        await process.communicate()
    if process.stdin is not None:
        process.stdin.close()
        with suppress(OSError):
            await process.stdin.wait_closed()
    await asyncio.sleep(0)  # the loop closes the transport one step after its last pipe
