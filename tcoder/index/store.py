"""The index on disk: one SQLite file per repository, shared by its worktrees and by every tcoder that is open there.

Contents are keyed by hash, so that a branch that comes back costs nothing. What cannot be read is thrown away and built
anew: an index holds nothing that the files do not say.
"""

import sqlite3
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import msgspec

from tcoder.index.segment import Facts, Segment, decode_facts

# raise it whenever what is stored would be read or computed differently
FORMAT = 2
_APPLICATION = 0x7C0DE5
_SCHEMA = """
CREATE TABLE segment (id INTEGER PRIMARY KEY, contents INTEGER, unit_content BLOB, unit_length BLOB, file_length BLOB);
CREATE TABLE content (key BLOB PRIMARY KEY, segment INTEGER, ordinal INTEGER, units INTEGER) WITHOUT ROWID;
CREATE TABLE facts (segment INTEGER, ordinal INTEGER, facts BLOB, PRIMARY KEY (segment, ordinal)) WITHOUT ROWID;
CREATE TABLE posting (term TEXT, segment INTEGER, data BLOB, PRIMARY KEY (term, segment)) WITHOUT ROWID;
CREATE TABLE tree (root TEXT PRIMARY KEY, used REAL, data BLOB);
CREATE TABLE past (sha BLOB PRIMARY KEY, data BLOB) WITHOUT ROWID;
"""


class Place(NamedTuple):
    """Where a content is: the ordinal within its segment."""

    segment: int
    ordinal: int


class SegmentHead(NamedTuple):
    """A segment without its postings, as in `Segment`."""

    id: int
    contents: int
    unit_content: bytes
    unit_length: bytes
    file_length: bytes


class Store:
    """Used from one thread at a time. Methods raise `sqlite3.DatabaseError` when what is stored cannot be read; `clear`
    makes it usable again. Where nothing can be written the store lives in memory."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._open_anyhow()

    def _open_anyhow(self) -> None:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            try:
                self._open(str(self.path))
            except sqlite3.DatabaseError:
                self._discard()
                self._open(str(self.path))
        except (OSError, sqlite3.Error):
            self._open(":memory:")

    def _open(self, name: str) -> None:
        self._db = sqlite3.connect(name, timeout=10.0, isolation_level=None, check_same_thread=False)
        try:
            self._prepare()
        except sqlite3.Error:
            self._db.close()
            raise

    def _prepare(self) -> None:
        run = self._db.execute
        run("PRAGMA trusted_schema = OFF")
        run("PRAGMA cell_size_check = ON")
        application, version = run("PRAGMA application_id").fetchone()[0], run("PRAGMA user_version").fetchone()[0]
        tables = {name for (name,) in run("SELECT name FROM sqlite_master WHERE type = 'table'")}
        if application == _APPLICATION and version == FORMAT and "posting" in tables:
            run("SELECT count(*) FROM segment").fetchone()
        elif tables or application:
            raise sqlite3.DatabaseError("another format")
        run("PRAGMA journal_mode = WAL")
        run("PRAGMA synchronous = NORMAL")
        run("PRAGMA cache_size = -8000")
        run("PRAGMA journal_size_limit = 8000000")
        if not tables:
            run("BEGIN IMMEDIATE")
            if not run("SELECT count(*) FROM sqlite_master").fetchone()[0]:
                for statement in _SCHEMA.split(";"):
                    run(statement)
                run(f"PRAGMA application_id = {_APPLICATION}")
                run(f"PRAGMA user_version = {FORMAT}")
            run("COMMIT")

    def _discard(self) -> None:
        for suffix in ("", "-wal", "-shm", "-journal"):
            self.path.with_name(self.path.name + suffix).unlink(missing_ok=True)

    def close(self) -> None:
        self._db.close()

    def clear(self) -> None:
        """Throw away everything that is stored."""
        self._db.close()
        with suppress(OSError):  # in a place that cannot be written there is nothing to remove
            self._discard()
        self._open_anyhow()

    def files(self) -> list[Path]:
        """The database and what belongs to it."""
        return [file for suffix in ("", "-wal") if (file := self.path.with_name(self.path.name + suffix)).is_file()]

    def version(self) -> int:
        """A number that changes when another process has written."""
        return self._db.execute("PRAGMA data_version").fetchone()[0]

    def places(self) -> dict[bytes, Place]:
        return {
            key: Place(segment, ordinal)
            for key, segment, ordinal in self._db.execute("SELECT key, segment, ordinal FROM content")
        }

    def heads(self) -> list[SegmentHead]:
        rows = self._db.execute("SELECT id, contents, unit_content, unit_length, file_length FROM segment ORDER BY id")
        return [SegmentHead(*row) for row in rows]

    def add(self, segment: Segment) -> int:
        """Store a segment and give its id. A content that is stored already stays where it is."""
        run = self._db.execute
        run("BEGIN IMMEDIATE")
        try:
            row = (len(segment.contents), segment.unit_content, segment.unit_length, segment.file_length)
            new = run(
                "INSERT INTO segment (contents, unit_content, unit_length, file_length) VALUES (?, ?, ?, ?)", row
            ).lastrowid
            assert new is not None
            keyed = [(content.key, new, ordinal, content.units) for ordinal, content in enumerate(segment.contents)]
            facts = [(new, ordinal, content.facts) for ordinal, content in enumerate(segment.contents)]
            self._db.executemany("INSERT OR IGNORE INTO content VALUES (?, ?, ?, ?)", keyed)
            self._db.executemany("INSERT INTO facts VALUES (?, ?, ?)", facts)
            self._db.executemany(
                "INSERT INTO posting VALUES (?, ?, ?)", [(term, new, data) for term, data in segment.postings]
            )
            run("COMMIT")
        except BaseException:
            run("ROLLBACK")
            raise
        return new

    def drop(self, segments: Sequence[int]) -> None:
        """Forget segments with all that is in them."""
        run = self._db.execute
        run("BEGIN IMMEDIATE")
        try:
            chosen = ",".join(map(str, segments))
            for table in ("posting", "facts", "content"):
                run(f"DELETE FROM {table} WHERE segment IN ({chosen})")
            run(f"DELETE FROM segment WHERE id IN ({chosen})")
            run("COMMIT")
        except BaseException:
            run("ROLLBACK")
            raise

    def postings(self, term: str) -> list[tuple[int, bytes]]:
        """Segment ids with the packed posting of a term."""
        return self._db.execute("SELECT segment, data FROM posting WHERE term = ?", (term,)).fetchall()

    def facts(self, place: Place) -> Facts:
        row = self._db.execute("SELECT facts FROM facts WHERE segment = ? AND ordinal = ?", place).fetchone()
        try:
            return decode_facts(row[0]) if row else Facts()
        except msgspec.MsgspecError as error:
            raise sqlite3.DatabaseError("damaged") from error

    def tree(self, root: str) -> bytes:
        row = self._db.execute("SELECT data FROM tree WHERE root = ?", (root,)).fetchone()
        return row[0] if row else b""

    def trees(self, max_age_s: float) -> list[bytes]:
        """The trees that were saved not longer ago than this; older ones are forgotten."""
        self._db.execute("DELETE FROM tree WHERE used < ?", (time.time() - max_age_s,))
        return [data for (data,) in self._db.execute("SELECT data FROM tree")]

    def save_tree(self, root: str, used: float, data: bytes) -> None:
        self._db.execute("INSERT OR REPLACE INTO tree VALUES (?, ?, ?)", (root, used, data))

    def past(self, hashes: Iterable[bytes]) -> dict[bytes, bytes]:
        """Those of the commits that are stored."""
        run = self._db.execute
        rows = (run("SELECT sha, data FROM past WHERE sha = ?", (sha,)).fetchone() for sha in hashes)
        return dict(row for row in rows if row)

    def add_past(self, commits: Iterable[tuple[bytes, bytes]]) -> None:
        self._db.execute("BEGIN IMMEDIATE")
        self._db.executemany("INSERT OR IGNORE INTO past VALUES (?, ?)", commits)
        self._db.execute("COMMIT")
