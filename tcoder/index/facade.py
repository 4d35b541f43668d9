"""The index as everybody uses it: asyncio outside; inside one thread for the engine and processes that parse."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, TypeVar

from tcoder.index import completion, searching
from tcoder.protocol.errors import ToolError
from tcoder.protocol.location import (
    FileHit,
    IndexReport,
    IndexState,
    Location,
    SearchHit,
    SearchKind,
    SearchResult,
    Symbol,
    SymbolHit,
)

if TYPE_CHECKING:
    from tcoder.index.engine import Engine

T = TypeVar("T")
BATCH = 120
SWEEP_AGE_S = 5.0


class Index:
    """Opened at once and empty-handed: nothing is read before the first question. All paths are relative to `root`,
    with `/`. Answers that are given before everything is parsed say so in their `IndexState`."""

    def __init__(self, root: Path, cache_dir: Path) -> None:
        self.root = root
        self._cache = cache_dir
        self._engine: Engine | None = None
        self._thread: ThreadPoolExecutor | None = None
        self._lock = asyncio.Lock()
        self._background: asyncio.Task[None] | None = None
        self._state = IndexState(0.0, 0)
        self._closed = False

    @classmethod
    def open(cls, root: Path, cache_dir: Path) -> Index:
        return cls(root, cache_dir)

    # ---- questions

    async def locate(self, text: str, *, limit: int = 10) -> Location:
        """Files and symbols that a text (a task, an issue, a trace, a log) is about, best first, with reasons."""
        engine = await self._ready(build=True)
        return await self._call(lambda: engine.locate(text, limit))

    async def search(
        self, pattern: str, *, path: str = "", glob: str = "", kind: SearchKind = "text", limit: int = 60
    ) -> SearchResult:
        """Lines that match a regular expression (`text`), definitions of a name (`symbol`), or lines that use it
        (`references`). Bounded; a literal in one file is found without another process. Raises `ToolError` for a path
        outside of the root or one that is not there, and for a pattern that is none."""
        under = self._existing(path)
        if not pattern.strip() or len(pattern) > searching.MAX_PATTERN or "\0" in pattern:
            raise ToolError("the pattern is empty or too long")
        if kind == "symbol":
            return await self._search_symbols(pattern, under, limit)
        globs = [glob] if glob else []
        word = kind == "references"
        if not word and under and (self.root / under).is_file() and searching.is_literal(pattern):
            found = await asyncio.to_thread(searching.search_file, self.root, under, pattern, limit)
            return searching.present(found, more=len(found) >= limit)
        hits, more, problem = await searching.search_tree(
            self.root, pattern, under=under, globs=globs, limit=limit, literal=word, word=word
        )
        if problem and not hits:
            raise ToolError(f"cannot search: {problem}")
        return searching.present(hits, more=more, problem=problem)

    async def outline(self, path: str = "", *, budget_tokens: int, focus: Location | None = None) -> str:
        """A map of a file, a folder or everything within the budget; the same tree gives the same text. Raises
        `ToolError` for a path outside of the root or one that is not there."""
        under = self._existing(path)
        engine = await self._ready(build=True)
        if under and (self.root / under).is_file():
            await self._call(lambda: engine.update([under]))
        return await self._call(lambda: engine.outline(under, budget_tokens, focus))

    async def symbols(self, path: str) -> tuple[Symbol, ...]:
        """What a file defines, in its order, as the file is now."""
        under, problem = self._inside(path)
        if problem:
            return ()
        engine = await self._ready(build=False)
        return await self._call(lambda: engine.symbols_now(under))

    async def find_symbol(self, name: str) -> tuple[SymbolHit, ...]:
        """Definitions of `name` or `Parent.name`, exact spelling first, source before tests."""
        engine = await self._ready(build=True)
        return await self._call(lambda: engine.find_symbol(name))

    async def enclosing(self, path: str, line: int) -> SymbolHit | None:
        """The innermost definition around a line (1-based)."""
        engine = await self._ready(build=False)
        under, problem = self._inside(path)
        return None if problem else await self._call(lambda: engine.enclosing(under, line))

    async def files_matching(self, fragment: str, limit: int = 50) -> tuple[str, ...]:
        """Files and folders (with a final `/`) that fit what is typed, best first."""
        engine = await self._ready(build=False)
        return await self._call(lambda: tuple(completion.rank(engine.all_paths(), fragment, limit)))

    async def related_tests(self, paths: Sequence[str]) -> tuple[FileHit, ...]:
        """Test files that go with source files, by name and by import, best first."""
        engine = await self._ready(build=True)
        return await self._call(lambda: engine.related_tests(paths))

    def state(self) -> IndexState:
        """As of the last answer; costs nothing."""
        return self._state

    # ---- keeping up

    async def refresh(self) -> IndexState:
        """Look at the whole tree now and parse what is new, to the end."""
        engine = await self._ready(build=False)
        await self._call(engine.sweep)
        await self._build(engine)
        return self._state

    async def build(self, *, rebuild: bool = False) -> IndexReport:
        """Bring the whole index up to date, from nothing with `rebuild`, and say what is in it."""
        engine = await self._ready(build=False)
        if rebuild:
            await self._call(engine.forget)
        await self.refresh()
        return await self._call(engine.report)

    async def changed(self, paths: Iterable[str]) -> None:
        """These files changed or vanished: later answers know it."""
        if self._engine is None:
            return  # the first question looks at everything
        engine = self._engine
        inside = [under for under, problem in map(self._inside, paths) if under and not problem]
        await self._call(lambda: engine.update(inside))

    async def close(self) -> None:
        """End workers and close the store; safe to call twice."""
        self._closed = True
        if self._background is not None:
            self._background.cancel()
            await asyncio.gather(self._background, return_exceptions=True)
            self._background = None
        if self._engine is not None:
            engine, self._engine = self._engine, None
            await self._call(engine.close)
        if self._thread is not None:
            self._thread.shutdown(wait=True)
            self._thread = None

    # ---- inside

    async def _call(self, work: Callable[[], T]) -> T:
        if self._thread is None:
            self._thread = ThreadPoolExecutor(1, thread_name_prefix="index")
        result = await asyncio.get_running_loop().run_in_executor(self._thread, work)
        if self._engine is not None:
            self._state = self._engine.state()
        return result

    async def _ready(self, *, build: bool) -> Engine:
        async with self._lock:
            engine = self._engine
            if engine is None:
                engine = self._engine = await self._call(self._open_engine)
                await self._call(engine.sweep)
            if build and engine.pending:
                await self._build(engine)
        return engine

    def _open_engine(self) -> Engine:
        # sqlite3 and tree-sitter are loaded by the first question, not by the start of the program
        from tcoder.index.engine import Engine

        return Engine(self.root, self._cache)

    async def _build(self, engine: Engine) -> None:
        from tcoder.index.languages import language_of
        from tcoder.index.pool import HangingFileError, Worker

        queue = sorted(engine.pending)
        batches = [queue[at : at + BATCH] for at in range(0, len(queue), BATCH)]
        workers = [Worker(self.root) for _ in range(min(os.cpu_count() or 1, 2, len(batches)))]

        async def drive(worker: Worker) -> None:
            while batches:
                batch = batches.pop(0)
                try:
                    built = await worker.build(tuple((path, language_of(path)) for path in batch))
                except HangingFileError as error:
                    await self._call(partial(engine.give_up, [error.path]))
                    batches.append([path for path in batch if path != error.path])
                    continue
                await self._call(partial(engine.integrate, built))
                await self._call(partial(engine.give_up, batch))

        try:
            await asyncio.gather(*map(drive, workers))
        finally:
            await asyncio.gather(*(worker.close() for worker in workers))
        await self._call(engine.save)

    async def _search_symbols(self, name: str, under: str, limit: int) -> SearchResult:
        hits = [
            hit
            for hit in await self.find_symbol(name)
            if not under or hit.path == under or hit.path.startswith(f"{under}/")
        ]
        lines = [SearchHit(hit.path, hit.line, hit.signature or hit.name) for hit in hits[:limit]]
        return searching.present(lines, more=len(hits) > limit)

    def _existing(self, path: str) -> str:
        under, problem = self._inside(path)
        if problem:
            raise ToolError(problem)
        if under and not (self.root / under).exists():
            raise ToolError(f"there is no {path}")
        return under

    def _inside(self, path: str) -> tuple[str, str]:
        """A path relative to the root, and why it cannot be used. Links that lead out of the root are refused."""
        if "\0" in path:
            return "", "the path is not valid"
        given = PurePosixPath(path)
        try:
            relative = given.relative_to(self.root) if given.is_absolute() else given
        except ValueError:
            return "", f"{path} is outside of {self.root}"
        if ".." in relative.parts:
            return "", f"{path} leads out of {self.root}"
        name = "" if str(relative) == "." else str(relative)
        try:
            resolved = (self.root / name).resolve()
        except (OSError, RuntimeError):
            return "", f"{path} cannot be resolved"
        if not resolved.is_relative_to(self.root.resolve()):
            return "", f"{path} leads out of {self.root}"
        return name, ""
