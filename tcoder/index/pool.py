"""Worker processes that parse, started when there is work and ended when there is none."""

import asyncio
import os
import sys
from pathlib import Path

import msgspec

from tcoder.index.processes import end
from tcoder.index.worker import Built, Job, frame

FILE_TIMEOUT_S = 10.0
STARTUP_S = 20.0
_KEPT = ("PATH", "PYTHONPATH", "HOME", "LANG", "VIRTUAL_ENV")


class HangingFileError(Exception):
    """A worker died or hung at `path`, which should not be tried again."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self.path = path


class Worker:
    """One process, one job at a time."""

    def __init__(self, root: Path) -> None:
        self._root = str(root)
        self._process: asyncio.Future[asyncio.subprocess.Process] | None = None

    @property
    def process_id(self) -> int | None:
        """The process that is at work or waits for it."""
        return self._process.result().pid if self._process is not None and self._process.done() else None

    async def build(self, files: tuple[tuple[str, str], ...]) -> Built:
        """Index pairs of path and language. Raises `HangingFileError`; the process is then gone and started anew at
        the next call."""
        process = await self._started()
        assert process.stdin is not None and process.stdout is not None
        at = 0
        try:
            process.stdin.write(frame(b"j", msgspec.msgpack.encode(Job(self._root, files))))
            patience = STARTUP_S
            while True:
                # not `wait_for`, which can lose a cancellation while data keep arriving
                async with asyncio.timeout(patience):
                    head = await process.stdout.readexactly(5)
                    body = await process.stdout.readexactly(int.from_bytes(head[1:], "little"))
                patience = FILE_TIMEOUT_S
                if head[:1] == b"r":
                    return msgspec.msgpack.decode(body, type=Built)
                at = int.from_bytes(body, "little")
        except (TimeoutError, EOFError, OSError, msgspec.MsgspecError) as error:
            await self.close()
            raise HangingFileError(files[at][0]) from error

    async def _started(self) -> asyncio.subprocess.Process:
        if self._process is None:
            # -P: nothing in the repository may stand in for a module of ours
            start = asyncio.create_subprocess_exec(
                sys.executable,
                "-P",
                "-m",
                "tcoder.index.worker",
                cwd="/",
                env={name: os.environ[name] for name in _KEPT if name in os.environ},
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.DEVNULL,
                limit=1 << 20,
                start_new_session=True,
            )
            self._process = asyncio.ensure_future(start)
        # a start that is cancelled half-way would leave a process that nobody ends
        return await asyncio.shield(self._process)

    async def close(self) -> None:
        started, self._process = self._process, None
        if started is not None:
            await end(await started)
