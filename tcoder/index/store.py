"""The index on disk: one SQLite file per repository, shared by its worktrees and by every tcoder that is open there.

Contents are keyed by hash, so that a branch that comes back costs nothing. What cannot be read is thrown away and built
anew: an index holds nothing that the files do not say.
"""

import secrets
import sqlite3
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import msgspec

from tcoder.index.segment import Facts, Segment, bucket_of, decode_bucket, decode_facts

# raise it whenever what is stored would be read or computed differently
FORMAT = 4
ATTEMPTS = 4
FORGET_OTHERS_S = 60 * 86_400
_APPLICATION = 0x7C0DE5
_SCHEMA = """
CREATE TABLE segment (id INTEGER PRIMARY KEY, contents INTEGER, unit_content BLOB, unit_length BLOB, file_length BLOB);
CREATE TABLE content (key BLOB PRIMARY KEY, segment INTEGER, ordinal INTEGER, units INTEGER) WITHOUT ROWID;
CREATE TABLE facts (segment INTEGER, ordinal INTEGER, facts BLOB, PRIMARY KEY (segment, ordinal)) WITHOUT ROWID;
CREATE TABLE posting (bucket INTEGER, segment INTEGER, data BLOB, PRIMARY KEY (bucket, segment)) WITHOUT ROWID;
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
    """Used from one thread at a time. Methods raise `sqlite3.Error` when what is stored cannot be used; `clear` makes
    it usable again. Where nothing can be written the store lives in memory.

    A small file beside the database names the database's *generation*. Whoever finds the database damaged names a new
    one and removes the old files. No name is ever used twice: SQLite maps a file of the database's name into memory,
    and a process whose mapped file is emptied by another one dies.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._generation = ""
        self._open_anyhow()

    @property
    def database(self) -> Path:
        """Where the database is now."""
        return self.path.with_name(f"{self.path.stem}.{self._generation}{self.path.suffix}")

    def _open_anyhow(self) -> None:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            for _ in range(ATTEMPTS):
                self._generation = self._named_generation() or self._renew()
                try:
                    self._open(str(self.database))
                except sqlite3.DatabaseError as error:
                    if is_busy(error):
                        raise
                    # another one may have named a new generation meanwhile
                    if self._named_generation() == self._generation:
                        self._renew()
                else:
                    return
        except (OSError, sqlite3.Error):
            pass
        self._generation = ""
        self._open(":memory:")

    def _named_generation(self) -> str:
        try:
            found = self.path.with_suffix(".generation").read_bytes()[:64].decode("ascii", "replace").strip()
        except FileNotFoundError:
            return ""
        return found if found.isalnum() and found.isascii() else ""

    def _renew(self) -> str:
        """Name a new generation and remove the files of all others. Of two that do this at once one wins, and the other
        sees that at its next look."""
        generation = secrets.token_hex(6)
        draft = self.path.with_suffix(f".{generation}.tmp")
        draft.write_text(generation, "ascii")
        draft.replace(self.path.with_suffix(".generation"))
        keep = f"{self.path.stem}.{generation}."
        for file in self.path.parent.glob(f"{self.path.stem}.*"):
            if file.name != f"{self.path.stem}.generation" and not file.name.startswith(keep):
                file.unlink(missing_ok=True)
        _forget_others(self.path)
        return generation

    def _open(self, name: str) -> None:
        self._small: dict[int, dict[str, bytes]] = {}
        self._small_state = (-1, -1)
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
        run("PRAGMA mmap_size = 0")
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

    def close(self) -> None:
        self._db.close()

    def clear(self) -> None:
        """Throw away everything that is stored."""
        self._db.close()
        with suppress(OSError):  # in a place that cannot be written there is nothing to remove
            if self._generation and self._named_generation() in ("", self._generation):
                self._renew()
        self._open_anyhow()

    def leave_disk(self) -> None:
        """Go on in memory, with nothing, since the disk is full or cannot be written."""
        self._db.close()
        self._generation = ""
        self._open(":memory:")

    def files(self) -> list[Path]:
        """The database and what belongs to it."""
        if not self._generation:
            return []
        name = self.database
        return [file for suffix in ("", "-wal") if (file := name.with_name(name.name + suffix)).is_file()]

    def version(self) -> tuple[str, int]:
        """What changes when another process has written. A store that another one has thrown away is opened anew."""
        if self._generation and self._named_generation() != self._generation:
            self._db.close()
            self._open_anyhow()
        return self._generation, self._db.execute("PRAGMA data_version").fetchone()[0]

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
                "INSERT INTO posting VALUES (?, ?, ?)", [(number, new, data) for number, data in segment.buckets]
            )
            run("COMMIT")
        except BaseException:
            self._roll_back()
            raise
        return new

    def _roll_back(self) -> None:
        if self._db.in_transaction:  # SQLite ends it itself after the worst errors
            self._db.execute("ROLLBACK")

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
            self._roll_back()
            raise

    def postings(self, term: str) -> list[tuple[int, bytes]]:
        """Segment ids with the packed posting of a term."""
        rows = self._db.execute("SELECT segment, data FROM posting WHERE bucket = ?", (bucket_of(term),))
        try:
            found = [(id_, data) for id_, packed in rows if (data := decode_bucket(packed).get(term))]
        except msgspec.MsgspecError as error:
            raise sqlite3.DatabaseError("damaged") from error
        found += [(id_, data) for id_, small in self._at_hand().items() if (data := small.get(term))]
        return found

    def _at_hand(self) -> dict[int, dict[str, bytes]]:
        """The postings of the small segments, which are kept in memory."""
        state = self._db.execute("PRAGMA data_version").fetchone()[0], self._db.total_changes
        if state != self._small_state:
            rows = self._db.execute("SELECT segment FROM posting WHERE bucket = -1").fetchall()
            self._small = {id_: self._small.get(id_) or self._load_small(id_) for (id_,) in rows}
            self._small_state = state
        return self._small

    def _load_small(self, segment: int) -> dict[str, bytes]:
        row = self._db.execute("SELECT data FROM posting WHERE bucket = -1 AND segment = ?", (segment,)).fetchone()
        try:
            return decode_bucket(row[0]) if row else {}
        except msgspec.MsgspecError as error:
            raise sqlite3.DatabaseError("damaged") from error

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
        try:
            self._db.executemany("INSERT OR IGNORE INTO past VALUES (?, ?)", commits)
            self._db.execute("COMMIT")
        except BaseException:
            self._roll_back()
            raise


def is_busy(error: sqlite3.Error) -> bool:
    """Whether another process holds the database: it is not damaged then."""
    return isinstance(error, sqlite3.OperationalError) and any(word in str(error) for word in ("locked", "busy"))


def cannot_write(error: sqlite3.Error) -> bool:
    """Whether the disk refuses what is to be written."""
    return isinstance(error, sqlite3.OperationalError) and any(
        word in str(error) for word in ("full", "readonly", "unable to open")
    )


def _forget_others(path: Path) -> None:
    """Remove what is stored of repositories that nobody has opened for long."""
    for file in path.parent.glob("*.sqlite"):
        with suppress(OSError):
            if time.time() - file.stat().st_mtime > FORGET_OTHERS_S:
                file.unlink(missing_ok=True)
                file.with_name(f"{file.name.partition('.')[0]}.generation").unlink(missing_ok=True)
