"""The index of one work tree: opened at no cost, filled at the first question, kept current by looking at stat values.

Parsing runs in a thread; nothing here runs anything of the repository.
"""

import asyncio
import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from tcoder.index.listing import list_files
from tcoder.index.search import Hit, SearchResult, render, search_text
from tcoder.protocol.errors import ToolError
from tcoder.protocol.location import IndexState, Location, SymbolHit

if TYPE_CHECKING:
    from tcoder.index.grammars import Symbol
    from tcoder.index.tree import Tree

SearchKind = Literal["text", "symbol", "references"]
FRESH_S = 2.0


class Index:
    """Answers where things are. All paths are relative to `root`."""

    def __init__(self, root: Path, cache_dir: Path) -> None:
        self._root = root
        self._cache_dir = cache_dir
        self._tree: Tree | None = None
        self._lock = asyncio.Lock()

    @classmethod
    def open(cls, root: Path, cache_dir: Path) -> "Index":
        """An index that has read nothing yet. `cache_dir` is where it may keep what it learns."""
        return cls(root, cache_dir)

    async def _current(self) -> "Tree":
        async with self._lock:
            if self._tree is None:
                from tcoder.index.tree import Tree  # late: tree-sitter is not needed to start

                self._tree = Tree(self._root)
            tree = self._tree
            if time.monotonic() - tree.looked_at > FRESH_S:
                await asyncio.to_thread(tree.refresh)
            return tree

    def state(self) -> IndexState:
        """How much has been read so far."""
        tree = self._tree
        if tree is None:
            return IndexState(0.0, 0)
        return IndexState(1.0, len(tree.paths), tree.symbol_count, time.monotonic() - tree.looked_at)

    async def locate(self, text: str, *, limit: int = 10) -> Location:
        """Files and symbols that a text is about, best first."""
        tree = await self._current()
        files, symbols = await asyncio.to_thread(tree.rank, text, limit)
        return Location(files, symbols, self.state())

    async def symbols(self, path: str) -> "Sequence[Symbol]":
        """The definitions of a file, in order."""
        return (await self._current()).symbols_in(path)

    async def find_symbol(self, name: str) -> tuple[SymbolHit, ...]:
        """Definitions of a name; `Class.method` or the last part alone."""
        return (await self._current()).find(name)

    async def enclosing(self, path: str, line: int) -> SymbolHit | None:
        """The innermost definition around a line (1-based)."""
        return (await self._current()).enclosing(path, line)

    async def outline(self, path: str = "", *, budget_tokens: int, focus: Location | None = None) -> str:
        """Files and their definitions within a budget of tokens, the same text for the same tree."""
        return (await self._current()).outline(path, budget_tokens, focus)

    async def files_matching(self, fragment: str, limit: int = 50) -> tuple[str, ...]:
        """Paths that hold the letters of `fragment` in order, best first."""
        paths = self._tree.paths if self._tree else await asyncio.to_thread(list_files, self._root)
        return match_paths(fragment, paths, limit)

    async def search(
        self, pattern: str, *, path: str = "", glob: str = "", kind: SearchKind = "text", limit: int = 60
    ) -> SearchResult:
        """Search text, a symbol's definitions, or references to it. Raises `ToolError` for a pattern that is none."""
        where = self._inside(path)
        if kind == "symbol":
            found = [hit for hit in await self.find_symbol(pattern) if hit.path.startswith(where)]
            return render([Hit(hit.path, hit.line, hit.signature) for hit in found], limit)
        if kind == "references":
            pattern = rf"\b{pattern}\b" if pattern.replace("_", "a").isalnum() else pattern
        try:
            return await search_text(self._root, pattern, where, glob, limit)
        except (OSError, ValueError, TimeoutError) as error:
            raise ToolError(f"cannot search: {error or 'it took too long'}") from error

    def _inside(self, path: str) -> str:
        where = os.path.normpath(path) if path else ""
        if where.startswith("/") and where.startswith(f"{self._root}"):
            where = os.path.relpath(where, self._root)
        if where.startswith(("..", "/")):
            raise ToolError(f"{path} is outside the workspace")
        if where and not (self._root / where).exists():
            raise ToolError(f"there is no {path}")
        return "" if where == "." else where

    async def refresh(self) -> None:
        """Look at the tree again now."""
        tree = await self._current()
        await asyncio.to_thread(tree.refresh)

    async def close(self) -> None:
        """Nothing is kept open."""


def match_paths(fragment: str, paths: Sequence[str], limit: int) -> tuple[str, ...]:
    """Fuzzy completion: the letters in order, better the closer together and the nearer to the file's name."""
    wanted = fragment.lower()
    scored: list[tuple[tuple[int, int, int], str]] = []
    for path in paths:
        lower = path.lower()
        name_at = lower.rfind("/") + 1
        exact = lower.find(wanted, name_at)
        if exact < 0:
            exact = lower.find(wanted)
        if exact >= 0:
            scored.append(
                ((0 if exact >= name_at else 1, exact - name_at if exact >= name_at else exact, len(path)), path)
            )
            continue
        position = -1
        for letter in wanted:
            position = lower.find(letter, position + 1)
            if position < 0:
                break
        else:
            scored.append(((2, position, len(path)), path))
    return tuple(path for _, path in sorted(scored)[:limit])
