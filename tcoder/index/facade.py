"""The index as everybody uses it: asyncio outside; inside one thread for the engine and processes that parse."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, TypeVar

from msgspec.structs import replace

from tcoder.index import completion, searching
from tcoder.protocol.errors import ToolError
from tcoder.protocol.location import (
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
    from tcoder.index.building import Builder
    from tcoder.index.engine import Engine
    from tcoder.index.watching import Watch

T = TypeVar("T")
SWEEP_AGE_S = 5.0
# while changes are heard of, a look at everything is for what is missed
WATCHED_SWEEP_AGE_S = 60.0
WATCH_DELAY_S = 1.0
FEW_CHANGES = 20
# up to so many files are simply parsed before an answer; of more, this many that look most promising
FEW = 60
FIRST = 160
CERTAIN = 20
PATIENCE_S = 1.0
LONGEST_S = 6.0
HISTORY_PATIENCE_S = 0.8


class Index:
    """Opened at once and empty-handed: nothing is read before the first question. All paths are relative to `root`,
    with `/`. Answers that are given before everything is parsed say so in their `IndexState`."""

    def __init__(self, root: Path, cache_dir: Path) -> None:
        self.root = root
        self._cache = cache_dir
        self._engine: Engine | None = None
        self._thread: ThreadPoolExecutor | None = None
        self._lock = asyncio.Lock()
        self._opened: tuple[Engine, Builder] | None = None
        self._history: asyncio.Task[None] | None = None
        self._watching: asyncio.Task[None] | None = None
        self._watch: Watch | None = None
        self._heard: set[str] = set()
        self._state = IndexState(0.0, 0)

    @classmethod
    def open(cls, root: Path, cache_dir: Path) -> Index:
        return cls(root, cache_dir)

    # ---- questions

    async def locate(self, text: str, *, limit: int = 10) -> Location:
        """Files and symbols that a text (a task, an issue, a trace, a log) is about, best first, with reasons."""
        engine = await self._ready(text)
        if self._history is not None:
            await asyncio.wait([self._history], timeout=HISTORY_PATIENCE_S)
        return await self._call(lambda: engine.locate(text, limit))

    async def search(
        self, pattern: str, *, path: str = "", glob: str = "", kind: SearchKind = "text", limit: int = 60
    ) -> SearchResult:
        """Lines that match a regular expression (`text`), definitions of a name (`symbol`), lines that use it
        (`references`), or types that extend or implement it (`implementers`). Bounded; a literal in one file is found
        without another process. Raises `ToolError` for a path outside of the root or one that is not there, and for a
        pattern that is none."""
        under = self._existing(path)
        if not pattern.strip() or len(pattern) > searching.MAX_PATTERN or "\0" in pattern:
            raise ToolError("the pattern is empty or too long")
        if kind == "symbol":
            return self._below(await self.find_symbol(pattern), under, limit)
        if kind == "implementers":
            engine = await self._ready(pattern)
            return self._below(await self._call(lambda: engine.implementers(pattern)), under, limit)
        globs = [glob] if glob else []
        word = kind == "references"
        if not word and under and (self.root / under).is_file() and searching.is_literal(pattern):
            found = await asyncio.to_thread(searching.search_file, self.root, under, pattern, limit)
            return searching.present(found, more=len(found) >= limit)
        search = partial(
            searching.search_tree, self.root, pattern, under=under, globs=globs, limit=limit, literal=word, word=word
        )
        hits, more, problem = await search()
        if under and not hits and not problem:
            # a place that is named is searched even when git ignores it
            hits, more, problem = await search(ignored=True)
        if problem and not hits:
            raise ToolError(f"cannot search: {problem}")
        return searching.present(hits, more=more, problem=problem)

    async def outline(self, path: str = "", *, budget_tokens: int, focus: Location | None = None) -> str:
        """A map of a file, a folder or everything within the budget; the same tree, once parsed, gives the same text.
        Raises `ToolError` for a path outside of the root or one that is not there."""
        under = self._existing(path)
        engine = await self._ready()
        if self._opened is not None:
            await self._patiently(self._opened[1].finish(), PATIENCE_S)
        if under and (self.root / under).is_file():
            await self._call(lambda: engine.update([under]))
        return await self._call(lambda: engine.outline(under, budget_tokens, focus))

    async def symbols(self, path: str) -> tuple[Symbol, ...]:
        """What a file defines, in its order, as the file is now."""
        under, problem = self._inside(path)
        if problem:
            return ()
        engine = await self._ready()
        return await self._call(lambda: engine.symbols_now(under))

    async def find_symbol(self, name: str) -> tuple[SymbolHit, ...]:
        """Definitions of `name` or `Parent.name`, exact spelling first, source before tests."""
        engine = await self._ready(name)
        return await self._call(lambda: engine.find_symbol(name))

    async def enclosing(self, path: str, line: int) -> SymbolHit | None:
        """The innermost definition around a line (1-based)."""
        engine = await self._ready()
        under, problem = self._inside(path)
        return None if problem else await self._call(lambda: engine.enclosing(under, line))

    async def files_matching(self, fragment: str, limit: int = 50) -> tuple[str, ...]:
        """Files and folders (with a final `/`) that fit what is typed, best first."""
        engine = await self._ready()
        return await self._call(lambda: tuple(completion.rank(engine.all_paths(), fragment, limit)))

    async def related_tests(self, paths: Sequence[str]) -> tuple[str, ...]:
        """Test files that go with these files, closest first: named after one of them, then importing one; those of
        what imports them when there is none of their own."""
        engine = await self._ready()
        return await self._call(lambda: engine.related_tests(tuple(paths)))

    def state(self) -> IndexState:
        """As of the last answer; costs nothing."""
        unwatched = self._watch.problem if self._watch is not None else ""
        return (
            replace(self._state, note=f"{unwatched}; the tree is looked at every few seconds")
            if unwatched
            else self._state
        )

    @property
    def watched(self) -> bool:
        """Whether changes of known folders are heard of without looking."""
        return self._watch is not None and self._watch.alive

    # ---- keeping up

    async def refresh(self) -> IndexState:
        """Look at the whole tree now and parse what is new, to the end."""
        engine = await self._ready()
        await self._call(engine.sweep)
        assert self._opened is not None
        await self._opened[1].finish()
        self._recall_again(engine)
        if self._history is not None:
            await self._history
        return self._state

    async def build(self, *, rebuild: bool = False) -> IndexReport:
        """Bring the whole index up to date, from nothing with `rebuild`, and say what is in it."""
        engine = await self._ready()
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
        await self._call(lambda: engine.update_heard(inside))

    async def close(self) -> None:
        """End workers and close the store; safe to call twice."""
        if self._watch is not None:
            self._watch.close()
            self._watch = None
        if self._watching is not None:
            self._watching.cancel()
            await asyncio.gather(self._watching, return_exceptions=True)
            self._watching = None
        if self._history is not None:
            self._history.cancel()
            await asyncio.gather(self._history, return_exceptions=True)
            self._history = None
        if self._opened is not None:
            (engine, builder), self._opened = self._opened, None
            await builder.close()
            self._engine = None
            await self._call(engine.close)
        if self._thread is not None:
            self._thread.shutdown(wait=True)
            self._thread = None

    # ---- inside

    async def _call(self, work: Callable[[], T]) -> T:
        if self._thread is None:
            self._thread = ThreadPoolExecutor(1, thread_name_prefix="index")
        engine = self._engine
        safe = work if engine is None else lambda: engine.attempt(work)
        result = await asyncio.get_running_loop().run_in_executor(self._thread, safe)
        if self._engine is not None:
            self._state = self._engine.state()
        return result

    async def _ready(self, query: str = "") -> Engine:
        """The engine after a look at the tree. When much is still to be parsed, what a query needs first is."""
        async with self._lock:
            opened = self._opened or await self._open()
            engine, builder = opened
            await self._catch_up(engine)
        if not engine.pending:
            return engine
        builder.start()
        if len(engine.pending) <= FEW:
            await builder.finish()
        elif query:
            await self._parse_promising(query, engine, builder)
        return engine

    async def _catch_up(self, engine: Engine) -> None:
        """Look at what was heard to have changed, at everything when that is not known or long ago."""
        heard, self._heard = self._heard, set()
        age = WATCHED_SWEEP_AGE_S if self.watched else SWEEP_AGE_S
        late = time.monotonic() - engine.swept_at > age
        if late or len(heard) > FEW_CHANGES or not await self._call(lambda: engine.is_about(heard)):
            await self._call(lambda: engine.sweep(heard))
            self._recall_again(engine)
        elif heard:
            await self._call(lambda: engine.update_heard(heard))

    async def _begin_to_watch(self, engine: Engine) -> None:
        await asyncio.sleep(WATCH_DELAY_S)
        loop = asyncio.get_running_loop()

        def hear(paths: set[str]) -> None:
            if not loop.is_closed():
                loop.call_soon_threadsafe(self._heard.update, paths)

        def start() -> Watch:
            from tcoder.index.watching import Watch  # a question and its answer do without

            return Watch(self.root, engine.folders, hear)

        self._watch = await asyncio.to_thread(start)

    async def _open(self) -> tuple[Engine, Builder]:
        # sqlite3, tree-sitter and the worker processes are for the first question, not for the start of the program
        from tcoder.index.building import Builder
        from tcoder.index.engine import Engine

        engine = await self._call(lambda: Engine(self.root, self._cache))
        self._engine = engine
        await self._call(engine.sweep)
        self._opened = engine, Builder(self.root, engine, self._call)
        if not engine.problem:
            self._watching = asyncio.create_task(self._begin_to_watch(engine))
        self._recall_again(engine)
        return self._opened

    def _recall_again(self, engine: Engine) -> None:
        if self._history is None or self._history.done():
            self._history = asyncio.create_task(self._recall(engine))

    async def _recall(self, engine: Engine) -> None:
        """Read git's history beside everything else."""
        missing = await self._call(engine.missing_past)
        read = await asyncio.to_thread(missing.read)
        await self._call(lambda: engine.recall(missing, read))

    async def _parse_promising(self, text: str, engine: Engine, builder: Builder) -> None:
        from tcoder.index.query import parse
        from tcoder.index.scanning import promising

        first = await promising(self.root, parse(text), list(engine.pending), FIRST)
        # the best are worth waiting for on a busy machine, too; of the others comes what comes in time
        await self._patiently(builder.parse(first), PATIENCE_S)
        await self._patiently(builder.parse(first[:CERTAIN]), LONGEST_S)

    async def _patiently(self, parsing: Coroutine[None, None, None], seconds: float) -> None:
        """Wait for what is being parsed, but no longer: an answer comes from what there is and says how much it is."""
        try:
            async with asyncio.timeout(seconds):
                await parsing
        except TimeoutError:
            return

    def _below(self, found: Iterable[SymbolHit], under: str, limit: int) -> SearchResult:
        hits = [hit for hit in found if not under or hit.path == under or hit.path.startswith(f"{under}/")]
        lines = [SearchHit(hit.path, hit.line, hit.signature or hit.name) for hit in hits[:limit]]
        return searching.present(lines, more=len(hits) > limit, problem=self._incomplete())

    def _incomplete(self) -> str:
        """How much an answer rests on while files are still being parsed."""
        share = self._state.complete
        return f"{share:.0%} of the files are parsed so far" if share < 1 else ""

    def _existing(self, path: str) -> str:
        under, problem = self._inside(path)
        if problem:
            raise ToolError(problem)
        if under and not (self.root / under).exists():
            raise ToolError(f"there is no {path}")
        if under and not ((self.root / under).is_file() or (self.root / under).is_dir()):
            raise ToolError(f"{path} is a pipe, a socket or a device, not a file")  # reading it could wait for ever
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
