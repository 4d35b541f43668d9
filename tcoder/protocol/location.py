"""Where in the repository a task is, and why the index thinks so."""

from msgspec import Struct


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


class IndexState(Struct, frozen=True):
    """`complete` is the share of files parsed, 0..1; `age_s` the seconds since the last look at the tree."""

    complete: float
    files: int
    symbols: int = 0
    age_s: float = 0.0


class Location(Struct, frozen=True):
    """Best first."""

    files: tuple[FileHit, ...]
    symbols: tuple[SymbolHit, ...]
    index: IndexState
