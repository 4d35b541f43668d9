"""The index of one root, without asyncio: what is on the tree, what is stored, the answers. Used from one thread."""

import sqlite3
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path
from typing import NamedTuple, TypeVar

import msgspec

from tcoder.index import locating, outline, past, references, related
from tcoder.index.git import git
from tcoder.index.history import History
from tcoder.index.languages import language_of, role_of
from tcoder.index.listing import IGNORE_FILE, Stamp, is_filled, list_files, stamp
from tcoder.index.matching import LoadedSegment
from tcoder.index.pathwords import PathWords
from tcoder.index.segment import IN_NAME, SMALL_FILES, Facts, unpack
from tcoder.index.store import Place, SegmentHead, Store, cannot_write, is_busy
from tcoder.index.tags import tags
from tcoder.index.terms import split
from tcoder.index.worker import Built, Job, read_source, run
from tcoder.protocol.location import IndexReport, IndexState, Location, Symbol, SymbolHit

T = TypeVar("T")
# a file whose time stamp is this young when it was read may change again without showing it
RACY_NS = 2_000_000_000
SMALL_BYTES = 100_000
SMALL_SEGMENTS = 40
FORGET_DAYS = 60
MAX_IGNORED = 10_000
IGNORE_FILES = frozenset({".gitignore", IGNORE_FILE})


class Entry(NamedTuple):
    """A file on the tree whose content is stored under `key`. `racy` = the stamp cannot be trusted yet."""

    stamp: Stamp
    key: bytes
    racy: bool = False


class Engine:
    def __init__(self, root: Path, cache: Path) -> None:
        self.root = root
        self._tree_name = str(root.resolve())
        self.store = Store(cache / "index" / f"{_repository_name(root)}.sqlite")
        self.entries: dict[str, Entry] = {}
        self.pending: dict[str, Stamp] = {}
        self.problem = ""
        self.swept_at = 0.0
        self.segments: dict[int, LoadedSegment] = {}
        self._places: dict[bytes, Place] = {}
        self._version = ("", -1)
        self._facts: dict[str, tuple[bytes, Facts]] = {}
        self.history = History()
        self._path_words: PathWords | None = None
        self._head = ""
        self._ignored: set[str] = set()
        self._load()

    def close(self) -> None:
        self.store.close()

    def attempt(self, work: Callable[[], T]) -> T:
        """Do something; when the store turns out to be damaged, begin anew and do it again."""
        try:
            return work()
        except sqlite3.Error as error:
            if is_busy(error):
                raise
            full = cannot_write(error)
        self.forget(on_disk=not full)
        self.sweep()
        return work()

    def forget(self, *, on_disk: bool = True) -> None:
        """Begin anew with an empty store."""
        if on_disk:
            self.store.clear()
        else:
            self.store.leave_disk()
        self.entries.clear()
        self._path_words = None
        self.pending.clear()
        self.segments.clear()
        self._facts.clear()
        self._load()

    # ---- the tree

    def _load(self) -> None:
        data = self.store.tree(self._tree_name)
        if data:
            try:
                self.entries = msgspec.msgpack.decode(data, type=dict[str, Entry])
            except msgspec.MsgspecError:
                self.entries = {}
        self._tidy()
        self._reload()

    def _tidy(self) -> None:
        """Drop segments that are mostly of the past, and small ones when there are many of them: what is still in use
        becomes pending at the next sweep and is parsed again in larger segments. Other trees count as users."""
        used: set[bytes] = {entry.key for entry in self.entries.values()}
        for data in self.store.trees(FORGET_DAYS * 86_400):
            with suppress(msgspec.MsgspecError):
                used.update(entry.key for entry in msgspec.msgpack.decode(data, type=dict[str, Entry]).values())
        sizes: Counter[int] = Counter()
        alive: Counter[int] = Counter()
        for key, place in self.store.places().items():
            sizes[place.segment] += 1
            alive[place.segment] += key in used
        small = [id_ for id_, size in sizes.items() if size <= SMALL_FILES]
        drop = set(small) if len(small) > SMALL_SEGMENTS else set[int]()
        if sizes.total() > 2 * alive.total() + SMALL_FILES:
            drop |= {id_ for id_, size in sizes.items() if alive[id_] <= size // 3}
        if drop:
            self.store.drop(sorted(drop))

    def _reload(self) -> None:
        """Read which segments there are, at the start and when another process has written."""
        self._version = self.store.version()
        self._places = self.store.places()
        self.segments = {head.id: self.segments.get(head.id) or LoadedSegment(head) for head in self.store.heads()}
        for segment in self.segments.values():
            segment.detach_all()
        for path, entry in self.entries.items():
            self._attach(path, entry.key)

    def _current(self) -> None:
        if self.store.version() != self._version:
            self._reload()

    def _attach(self, path: str, key: bytes) -> None:
        """Say in its segment that a file has this content."""
        if place := self._places.get(key):
            segment = self.segments[place.segment]
            if path not in segment.paths[place.ordinal]:
                segment.attach(place.ordinal, (*segment.paths[place.ordinal], path))

    def _enter(self, path: str, entry: Entry) -> None:
        self._leave(path)
        self.entries[path] = entry
        if self._path_words is not None:
            self._path_words.add(path)
        self.pending.pop(path, None)
        self._attach(path, entry.key)

    def _leave(self, path: str) -> None:
        entry = self.entries.pop(path, None)
        if entry is not None and self._path_words is not None:
            self._path_words.remove(path)
        if entry is not None and (place := self._places.get(entry.key)):
            segment = self.segments[place.segment]
            segment.attach(place.ordinal, tuple(other for other in segment.paths[place.ordinal] if other != path))

    def sweep(self, heard: Iterable[str] = ()) -> None:
        """Compare the tree with what is known; what is new or changed becomes pending. Files that were `heard` of and
        that are there but not listed are ignored ones."""
        self._current()
        listing = list_files(self.root)
        if any(path.rpartition("/")[2] in IGNORE_FILES for path in heard) or len(self._ignored) > MAX_IGNORED:
            self._ignored.clear()
        self._ignored.update(path for path in heard if path and path not in listing.files and stamp(self.root, path))
        self.problem = listing.problem
        self.swept_at = time.monotonic()
        gone = [path for path in self.entries if path not in listing.files]
        for path in gone:
            self._leave(path)
        self.pending = {path: found for path, found in self.pending.items() if path in listing.files}
        changed = [path for path, found in listing.files.items() if not self._is_known(path, found)]
        # with an empty store there is nothing to recognise: the workers read the files anyway
        for path in self._recognise(changed) if self._places else changed:
            self._leave(path)
            self.pending[path] = listing.files[path]
        if gone or changed:
            self.save()

    def _is_known(self, path: str, found: Stamp) -> bool:
        entry = self.entries.get(path)
        return entry is not None and entry.stamp == found and not entry.racy and entry.key in self._places

    def _recognise(self, paths: Iterable[str]) -> list[str]:
        """Take in files whose content is stored already; the others are given back."""
        unknown: list[str] = []
        for path in paths:
            found = read_source(str(self.root), path, language_of(path))
            if found is not None and found[1] in self._places:
                self._enter(path, Entry(found[0], found[1], _racy(found[0])))
            else:
                unknown.append(path)
        return unknown

    def update_heard(self, paths: Iterable[str]) -> None:
        """Look at files that were heard of, but not at ignored ones or those that tools made."""
        self.update(
            path
            for path in sorted(paths)
            if path in self.entries or (path not in self._ignored and not is_filled(self.root, path))
        )

    def update(self, paths: Iterable[str]) -> None:
        """Look at these files now: small ones are parsed at once, others become pending."""
        self._current()
        job: list[tuple[str, str]] = []
        for path in dict.fromkeys(paths):
            language = language_of(path)
            found = stamp(self.root, path) if language else None
            if found is None:
                self._leave(path)
                self.pending.pop(path, None)
            elif not self._recognise([path]):
                continue
            elif found.size <= SMALL_BYTES and len(job) < SMALL_FILES:
                job.append((path, language))
            else:
                self._leave(path)
                self.pending[path] = found
        if job:
            self.integrate(run(Job(str(self.root), tuple(job)), lambda _: None))
            if sum(len(segment.paths) <= SMALL_FILES for segment in self.segments.values()) > 2 * SMALL_SEGMENTS:
                # many small edits: what is still in use is parsed again together, after the next look at the tree
                self.save()
                self._tidy()
                self._reload()
                self.swept_at = float("-inf")

    def integrate(self, built: Built) -> None:
        """Store what a worker has built."""
        id_ = self.store.add(built.segment)
        if self.store.version() != self._version:
            self._reload()
        else:
            segment = built.segment
            head = SegmentHead(
                id_, len(segment.contents), segment.unit_content, segment.unit_length, segment.file_length
            )
            self.segments[id_] = LoadedSegment(head)
            for ordinal, content in enumerate(segment.contents):
                self._places.setdefault(content.key, Place(id_, ordinal))
        for parsed in built.files:
            self._enter(parsed.path, Entry(parsed.stamp, parsed.key, _racy(parsed.stamp)))

    def give_up(self, paths: Iterable[str]) -> None:
        """Leave out files that vanished or cannot be parsed."""
        for path in paths:
            self.pending.pop(path, None)

    def save(self) -> None:
        """Store what the tree holds."""
        self.store.save_tree(self._tree_name, time.time(), msgspec.msgpack.encode(self.entries))

    def missing_past(self) -> past.Missing:
        """Which commits are still to be read for what is checked out now."""
        head = past.head(self.root)
        hashes = past.ancestors(self.root, head) if head and head != self._head else []
        stored = self.store.past(hashes)
        return past.Missing(self.root, head, hashes, stored, [sha for sha in hashes if sha not in stored])

    def recall(self, missing: past.Missing, fresh: Mapping[bytes, past.Commit]) -> None:
        """Take in the commits that were missing."""
        if not missing.hashes:
            return
        self.store.add_past((sha, past.encode(commit)) for sha, commit in fresh.items())
        stored = {sha: past.decode(data) for sha, data in missing.stored.items()} | dict(fresh)
        self.history = History([stored[sha] for sha in missing.hashes if sha in stored])
        self._head = missing.head

    # ---- answers

    def state(self) -> IndexState:
        known, waiting = len(self.entries), len(self.pending)
        total = known + waiting
        units = sum(len(segment.unit_length) - len(segment.paths) for segment in self.segments.values())
        age = time.monotonic() - self.swept_at if self.swept_at else 0.0
        return IndexState(known / total if total else 1.0, total, units, age, self.problem)

    def report(self) -> IndexReport:
        state = self.state()
        languages = Counter(language_of(path) for path in self.entries)
        size = sum(file.stat().st_size for file in self.store.files())
        return IndexReport(
            state.files, state.symbols, dict(languages.most_common()), size, state.complete, state.problem
        )

    @property
    def path_words(self) -> PathWords:
        """The words of known paths, read when they are first asked for."""
        if self._path_words is None:
            self._path_words = PathWords(self.entries)
        return self._path_words

    def facts(self, path: str) -> Facts:
        """What is stored of a file, nothing for an unknown one."""
        entry = self.entries.get(path)
        if entry is None:
            return Facts()
        cached = self._facts.get(path)
        if cached and cached[0] == entry.key:
            return cached[1]
        place = self._places.get(entry.key)
        facts = self.store.facts(place) if place else Facts()
        if len(self._facts) > 2_000:
            self._facts.clear()
        self._facts[path] = (entry.key, facts)
        return facts

    def locate(self, text: str, limit: int) -> Location:
        files, symbols = locating.locate(self, text, limit)
        return Location(files, symbols, self.state())

    def outline(self, under: str, budget: int, focus: Location | None) -> str:
        if under in self.entries:
            return outline.outline_file(under, self.facts(under).symbols, budget)
        paths = sorted(path for path in self.entries if not under or path.startswith(f"{under}/"))
        if not paths:
            return "nothing that the index knows"
        source = [path for path in paths if role_of(path) in ("source", "data")] or paths
        return outline.outline_tree(source, lambda path: self.facts(path).symbols, budget, focus)

    def symbols_now(self, path: str) -> tuple[Symbol, ...]:
        found = stamp(self.root, path)
        entry = self.entries.get(path)
        if found is None or not language_of(path):
            return ()
        if entry is None or entry.stamp != found or entry.racy:
            source = read_source(str(self.root), path, language_of(path))
            return tuple(span.symbol for span in tags(source[2], language_of(path)).spans) if source else ()
        return self.facts(path).symbols

    def find_symbol(self, name: str) -> tuple[SymbolHit, ...]:
        last = name.replace("::", ".").replace("#", ".").rpartition(".")[2]
        graded: list[tuple[int, bool, SymbolHit]] = []
        for term in _name_terms(last):
            for path, symbol in self._defined(term):
                if grade := references.matches_name(symbol, name):
                    graded.append((-grade, role_of(path) != "source", locating.symbol_hit(path, symbol, grade / 3)))
        graded.sort(key=lambda item: (*item[:2], item[2].path, item[2].line))
        return tuple(hit for _, _, hit in graded)

    def implementers(self, name: str) -> tuple[SymbolHit, ...]:
        """What extends or implements `name`, as its head says, source before tests."""
        last = name.replace("::", ".").replace("#", ".").rpartition(".")[2]
        paths = {path for term in _name_terms(last) for path in self.holding(term)}
        found = [
            (role_of(path) != "source", locating.symbol_hit(path, symbol))
            for path in paths
            for symbol in self.facts(path).symbols
            if references.implements(symbol, last)
        ]
        found.sort(key=lambda item: (item[0], item[1].path, item[1].line))
        return tuple(hit for _, hit in found)

    def _defined(self, term: str) -> Iterable[tuple[str, Symbol]]:
        """Symbols whose name has a term."""
        for id_, data in self.store.postings(term):
            segment = self.segments.get(id_)
            if segment is None:
                continue
            posting = unpack(data)
            for unit, mark in zip(posting.units, posting.marks, strict=True):
                if not mark & IN_NAME:
                    continue
                content = segment.unit_content[unit]
                for path in segment.paths[content]:
                    yield path, self.facts(path).symbols[unit - segment.first_unit[content] - 1]

    def enclosing(self, path: str, line: int) -> SymbolHit | None:
        symbol = references.enclosing(self.symbols_now(path), line)
        return locating.symbol_hit(path, symbol) if symbol else None

    def is_about(self, paths: Iterable[str]) -> bool:
        """Whether these paths are of known files, or of ones that are never indexed: what else appears may be ignored,
        which only a look at the tree can tell."""
        return all(
            path in self.entries
            or path in self.pending
            or path in self._ignored
            or (bool(path) and not language_of(path) and path.rpartition("/")[2] not in IGNORE_FILES)
            for path in paths
        )

    def folders(self) -> set[str]:
        """Those of known files. May be called from another thread."""
        found: set[str] = set()
        for path in [*self.entries, *self.pending]:
            folder = path.rpartition("/")[0]
            while folder and folder not in found:
                found.add(folder)
                folder = folder.rpartition("/")[0]
        return found

    def all_paths(self) -> list[str]:
        """Files and the folders they are in, folders with a final slash."""
        folders: set[str] = set()
        files = [*self.entries, *self.pending]
        for path in files:
            parts = path.split("/")
            folders.update("/".join(parts[:depth]) + "/" for depth in range(1, len(parts)))
        return [*files, *folders]

    def related_tests(self, paths: Sequence[str]) -> tuple[str, ...]:
        return related.tests_of(self, paths)

    def holding(self, term: str) -> Iterable[str]:
        """Files that have a term."""
        for id_, data in self.store.postings(term):
            if segment := self.segments.get(id_):
                for ordinal in unpack(data).files:
                    yield from segment.paths[ordinal]


def _name_terms(name: str) -> set[str]:
    """Names of several words are terms as they are, names of one word in their stem."""
    raw = name.encode("utf-8", "replace")[:200]
    return {split(raw)[0], name.lower()} if raw else set()


def _racy(found: Stamp) -> bool:
    return time.time_ns() - found.mtime_ns < RACY_NS


def _repository_name(root: Path) -> str:
    """A name that all worktrees of a repository share."""
    common = git(root, "rev-parse", "--path-format=absolute", "--git-common-dir")
    base = common.decode("utf-8", "replace").strip() if common else str(root.resolve())
    return blake2b(base.encode(), digest_size=10).hexdigest()
