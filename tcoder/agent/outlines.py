"""The repository's outline for the beginning of a conversation. A request waits for no index: while the index is still
cold, the outline that an earlier session left behind is taken, or none. A cold index is warmed at leisure: while a
model takes its time, or a person."""

import asyncio
import os
from contextlib import suppress
from pathlib import Path

import msgspec
from msgspec import Struct

from tcoder.index import Index
from tcoder.protocol.codec import decode, encode
from tcoder.protocol.errors import TcoderError

PATIENCE_S = 0.05
UNHURRIED_S = 2.0
LEISURE_S = 1.0


class _Left(Struct, frozen=True):
    tokens: int
    text: str


class Outlines:
    """Outlines of the repository at `root` within `tokens`; 0 = there is none. `file` is where they are left for later
    sessions. What takes less than `leisure_s` is left alone."""

    def __init__(self, index: Index, root: Path, file: Path, tokens: int, leisure_s: float = LEISURE_S) -> None:
        self._index = index
        self._root = root
        self._file = file
        self._tokens = tokens
        self._leisure_s = leisure_s
        self._asking: asyncio.Task[str] | None = None
        self._warming: asyncio.Task[None] | None = None

    async def first(self) -> str:
        """For the first request, at once: of the index when it knows the whole tree, else what is left of an earlier
        session if everything that it names is still there."""
        return await self._best(PATIENCE_S)

    async def anew(self) -> str:
        """For a conversation that begins again: the same with more patience."""
        return await self._best(UNHURRIED_S)

    async def _best(self, patience_s: float) -> str:
        if not self._tokens:
            return ""
        return (await self._ask(patience_s) if self._is_warm() else "") or self._left()

    def leave(self) -> None:
        """Leave an outline for later sessions, beside whatever else happens, once in a session and once the index knows
        the whole tree. Called when something begins that takes a while."""
        if not self._tokens:
            return
        if self._is_warm():
            self._asking = self._asking or asyncio.create_task(self._of_index())
        elif self._warming is None:
            self._warming = asyncio.create_task(self._warm())

    async def _warm(self) -> None:
        await asyncio.sleep(self._leisure_s)
        with suppress(TcoderError):  # whoever asks the index for more than an outline is told
            await self._index.refresh()
            self.leave()

    async def close(self) -> None:
        """Wait for nothing that is still under way."""
        for task in (self._asking, self._warming):
            if task is not None:
                task.cancel()
                await asyncio.wait([task])

    def _is_warm(self) -> bool:
        return self._index.state().complete >= 1

    async def _ask(self, patience_s: float) -> str:
        if self._asking is None or self._asking.done():
            self._asking = asyncio.create_task(self._of_index())
        done, _ = await asyncio.wait([self._asking], timeout=patience_s)
        return self._asking.result() if done else ""

    async def _of_index(self) -> str:
        try:
            text = await self._index.outline(budget_tokens=self._tokens)
        except TcoderError:
            return ""  # a conversation without an outline is whole, too
        self._leave(text)
        return text

    def _left(self) -> str:
        try:
            left = decode(self._file.read_bytes(), _Left)
        except (OSError, msgspec.MsgspecError):
            return ""
        return left.text if left.tokens == self._tokens and still_there(left.text, self._root) else ""

    def _leave(self, text: str) -> None:
        """In one step, readable by the user alone."""
        new = self._file.with_name(f"{self._file.name}.{os.getpid()}")
        with suppress(OSError):  # nothing is lost without it
            descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
            with os.fdopen(descriptor, "wb") as out:
                out.write(encode(_Left(self._tokens, text)))
            new.replace(self._file)


def still_there(outline: str, root: Path) -> bool:
    """Whether every file and folder that begins a line of the outline exists."""
    return all((root / path).exists() for line in outline.split("\n") if (path := _path_of(line)))


def _path_of(line: str) -> str:
    """`src/a.py: f, g` and `src/ 12 files` name a path; `… 3 more` names none."""
    if not line or line.startswith("…"):
        return ""
    folder, slash, rest = line.rpartition("/ ")
    if slash and rest.endswith(" files"):
        return folder
    return line.partition(": ")[0]
