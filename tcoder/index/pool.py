"""Worker processes that parse, started when there is work and ended when there is none."""

import asyncio
import os
import sys
from pathlib import Path

import msgspec

from tcoder.index.worker import Built, Job, frame

FILE_TIMEOUT_S = 10.0
STARTUP_S = 20.0
MAX_FRAME = 1 << 30


class HangingFileError(Exception):
    """A worker died or hung at `path`, which should not be tried again."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self.path = path


class Worker:
    """One process, one job at a time."""

    def __init__(self, root: Path) -> None:
        self._root = str(root)
        self._process: asyncio.subprocess.Process | None = None

    async def build(self, files: tuple[tuple[str, str], ...]) -> Built:
        """Index pairs of path and language. Raises `HangingFileError`; the process is then gone and started anew at
        the next call."""
        process = self._process or await self._start()
        assert process.stdin is not None and process.stdout is not None
        at = 0
        try:
            process.stdin.write(frame(b"j", msgspec.msgpack.encode(Job(self._root, files))))
            patience = STARTUP_S
            while True:
                head = await asyncio.wait_for(process.stdout.readexactly(5), patience)
                body = await asyncio.wait_for(process.stdout.readexactly(int.from_bytes(head[1:], "little")), patience)
                patience = FILE_TIMEOUT_S
                if head[:1] == b"r":
                    return msgspec.msgpack.decode(body, type=Built)
                at = int.from_bytes(body, "little")
        except (TimeoutError, EOFError, OSError, msgspec.MsgspecError) as error:
            await self.close()
            raise HangingFileError(files[at][0]) from error
        except asyncio.CancelledError:
            await self.close()
            raise

    async def _start(self) -> asyncio.subprocess.Process:
        # -P: nothing in the repository may stand in for a module of ours
        self._process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-P",
            "-m",
            "tcoder.index.worker",
            cwd="/",
            env={
                name: value
                for name, value in os.environ.items()
                if name in ("PATH", "PYTHONPATH", "HOME", "LANG", "VIRTUAL_ENV")
            },
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            limit=1 << 20,
            start_new_session=True,
        )
        return self._process

    async def close(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        if process.returncode is None:
            process.kill()
        await process.wait()
