"""Where in the repository a task is, and why the index thinks so; what searches and outlines are made of."""

from typing import Literal

from msgspec import Struct

FileRole = Literal["source", "test", "docs", "data", "vendored", "generated"]
SearchKind = Literal["text", "symbol", "references", "implementers"]


class FileHit(Struct, frozen=True):
    """`path` is relative to the root; scores compare within one answer only."""

    path: str
    score: float
    why: tuple[str, ...] = ()


class SymbolHit(Struct, frozen=True):
    """`name` is `Class.method` or `function`; lines are 1-based and inclusive."""

    path: str
    name: str
    kind: str
    line: int
    end_line: int
    score: float = 0.0
    why: tuple[str, ...] = ()
    signature: str = ""


class Symbol(Struct, frozen=True):
    """A definition in one file. `parent` is the dotted name of what it stands in, empty at the top; lines are 1-based
    and inclusive; `signature` is its head on one line; `doc` the first line of its docstring or comment."""

    name: str
    kind: str
    line: int
    end_line: int
    parent: str = ""
    signature: str = ""
    doc: str = ""

    @property
    def qualified(self) -> str:
        return f"{self.parent}.{self.name}" if self.parent else self.name


class SearchHit(Struct, frozen=True):
    """One matching line (1-based), without its indentation and cut to a bounded length."""

    path: str
    line: int
    text: str


class SearchResult(Struct, frozen=True):
    """`text` is what a model reads: grouped by file, each path once, bounded. `more` counts the hits that were left
    out (-1 = some, number unknown); `problem` is why nothing could be searched, else empty."""

    text: str
    hits: tuple[SearchHit, ...] = ()
    more: int = 0
    problem: str = ""


class IndexState(Struct, frozen=True):
    """`complete` is the share of files parsed, 0..1; `age_s` the seconds since the last look at the tree. `problem`
    says why the folder is not indexed (too many files, a home folder), else empty; `note` what else is worth knowing,
    such as why changes are not heard of at once."""

    complete: float
    files: int
    symbols: int = 0
    age_s: float = 0.0
    problem: str = ""
    note: str = ""


class IndexReport(Struct, frozen=True):
    """What is in an index: files by language, symbols, bytes on disk, the share that is parsed (0..1)."""

    files: int
    symbols: int
    languages: dict[str, int]
    bytes: int
    complete: float
    problem: str = ""


class Location(Struct, frozen=True):
    """Best first."""

    files: tuple[FileHit, ...]
    symbols: tuple[SymbolHit, ...]
    index: IndexState
