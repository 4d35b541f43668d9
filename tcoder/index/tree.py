"""What the index knows of a work tree: its files, their definitions, the documents that ranking reads."""

import os
import time
from pathlib import Path

from tcoder.index.grammars import MAX_BYTES, Symbol, language_of, symbols_of
from tcoder.index.listing import list_files
from tcoder.index.ranking import Document, documents_of, is_test, rank
from tcoder.protocol.location import FileHit, Location, SymbolHit

TEXT_SUFFIXES = (
    ".md",
    ".rst",
    ".txt",
    ".toml",
    ".cfg",
    ".ini",
    ".yaml",
    ".yml",
    ".json",
    ".html",
    ".css",
    ".sql",
    ".sh",
)
MAX_PARSED = 12_000
CHARACTERS_PER_TOKEN = 3.6


class Tree:
    """Filled and asked from worker threads, one at a time."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self.paths: tuple[str, ...] = ()
        self.looked_at = float("-inf")
        self._stamps: dict[str, tuple[int, int]] = {}
        self._symbols: dict[str, tuple[Symbol, ...]] = {}
        self._documents: dict[str, list[Document]] = {}

    @property
    def symbol_count(self) -> int:
        return sum(len(symbols) for symbols in self._symbols.values())

    def refresh(self) -> None:
        """Read what is new or changed, forget what is gone."""
        self.paths = list_files(self._root)
        readable = [path for path in self.paths if language_of(path) or path.endswith(TEXT_SUFFIXES)][:MAX_PARSED]
        for gone in set(self._stamps) - set(readable):
            for table in (self._stamps, self._symbols, self._documents):
                table.pop(gone, None)
        for path in readable:
            self._read_if_changed(path)
        self.looked_at = time.monotonic()

    def _read_if_changed(self, path: str) -> None:
        full = self._root / path
        try:
            status = os.stat(full)
            stamp = (status.st_mtime_ns, status.st_size)
            if self._stamps.get(path) == stamp:
                return
            data = full.read_bytes() if status.st_size <= MAX_BYTES else b""
        except OSError:
            return
        self._stamps[path] = stamp
        if not data or b"\0" in data[:8000]:
            self._symbols[path], self._documents[path] = (), []
            return
        text = data.decode("utf-8", "replace")
        self._symbols[path] = symbols_of(path, text)
        self._documents[path] = documents_of(path, text, self._symbols[path])

    def rank(self, text: str, limit: int) -> tuple[tuple[FileHit, ...], tuple[SymbolHit, ...]]:
        documents = [document for path in self.paths for document in self._documents.get(path, ())]
        return rank(text, documents, limit)

    def symbols_in(self, path: str) -> tuple[Symbol, ...]:
        return self._symbols.get(path, ())

    def find(self, name: str) -> tuple[SymbolHit, ...]:
        found = [
            symbol
            for path in self.paths
            for symbol in self._symbols.get(path, ())
            if symbol.name == name or symbol.name.rpartition(".")[2] == name
        ]
        return tuple(_hit(symbol) for symbol in sorted(found, key=lambda s: (is_test(s.path), s.path, s.line)))

    def enclosing(self, path: str, line: int) -> SymbolHit | None:
        around = [symbol for symbol in self._symbols.get(path, ()) if symbol.line <= line <= symbol.end_line]
        return _hit(max(around, key=lambda symbol: symbol.line)) if around else None

    def outline(self, path: str, budget_tokens: int, focus: Location | None) -> str:
        """Definitions of one file, or files with their definitions while they fit, then files alone."""
        if path in self._symbols:
            body = "\n".join(_line(symbol) for symbol in self._symbols[path])
            return f"{path}\n{body}"[: int(budget_tokens * CHARACTERS_PER_TOKEN)]
        below = "" if path in ("", ".") else path.rstrip("/") + "/"
        paths = [name for name in self.paths if name.startswith(below)]
        if focus is not None:
            first = [hit.path for hit in focus.files if hit.path in paths]
            paths = [*first, *(name for name in paths if name not in first)]
        room = int(budget_tokens * CHARACTERS_PER_TOKEN)
        parts: list[str] = []
        for position, name in enumerate(paths):
            block = "\n".join((name, *(_line(symbol) for symbol in self._symbols.get(name, ()))))
            if len(block) + 1 > room:
                block = name
            if len(block) + 1 > room - 40:
                parts.append(f"({len(paths) - position} more files)")
                break
            parts.append(block)
            room -= len(block) + 1
        return "\n".join(parts) or "(no files)"


def _line(symbol: Symbol) -> str:
    return f"{'  ' * (1 + symbol.name.count('.'))}{symbol.line}: {symbol.signature[:100]}"


def _hit(symbol: Symbol) -> SymbolHit:
    return SymbolHit(symbol.path, symbol.name, symbol.kind, symbol.line, symbol.end_line, signature=symbol.signature)
