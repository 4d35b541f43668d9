"""Which tests go with a source file: those named after it, and those that import it. Pure."""

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from posixpath import dirname, join, normpath
from typing import Protocol

from tcoder.index.languages import language_of, role_of
from tcoder.index.references import subject
from tcoder.index.segment import Facts
from tcoder.index.terms import split

# what a file is called when its folder is what others import
_FOLDER_NAMES = frozenset({"__init__", "index", "mod", "lib", "main", "package"})
_WORDS = re.compile(r"[A-Za-z_]\w*")
_RELATIVE = re.compile(r"""["'](\.{1,2}/[^"'\n]{1,200})["']""")
NAMED, IMPORTED, LIKELY = 3.0, 2.0, 1.0
MAX_USERS = 20


class Known(Protocol):
    """What is asked of an engine: known paths, what is known of one, which files have a term."""

    @property
    def entries(self) -> Mapping[str, object]: ...
    def facts(self, path: str) -> Facts: ...
    def holding(self, term: str) -> Iterable[str]: ...


def tests_of(known: Known, paths: Sequence[str]) -> tuple[str, ...]:
    """Tests of these files, closest first; those of what imports them when there is none of their own."""
    tests = [path for path in known.entries if role_of(path) == "test"]
    found = rank(paths, tests, _imports_of(known, paths, frozenset(tests)))
    if found:
        return found
    sources = frozenset(path for path in known.entries if role_of(path) == "source")
    importing = _imports_of(known, paths, sources)
    users = [user for user, lines in importing.items() if any(imports(user, lines, path) for path in paths)][:MAX_USERS]
    return rank(users, tests, _imports_of(known, users, frozenset(tests))) if users else ()


def _imports_of(known: Known, paths: Sequence[str], among: frozenset[str]) -> dict[str, tuple[str, ...]]:
    """The import statements of files that have the name of one of the modules somewhere."""
    terms = {split(name.encode())[0] for path in paths if (name := module_name(path))}
    holding = {path for term in terms for path in known.holding(term) if path in among and path not in paths}
    return {path: known.facts(path).imports for path in sorted(holding)}


@lru_cache(1 << 14)
def module_name(path: str) -> str:
    """What an import calls a file: its stem, or its folder for a file that stands for it; a package in Go is always
    a folder."""
    folder, _, name = path.rpartition("/")
    stem = name.partition(".")[0]
    if stem in _FOLDER_NAMES or language_of(path) == "go":
        return folder.rpartition("/")[2] or stem
    return stem


def imports(importer: str, statements: Iterable[str], path: str) -> float:
    """How sure it is that `importer` imports `path`, 0 for not at all: written out in full or relative to itself
    `IMPORTED`, by the module's name alone `LIKELY`."""
    name = module_name(path)
    outer = [part for part in path.split("/")[:-1] if part]
    if outer and outer[-1] == name:
        outer.pop()
    stem = path.rpartition(".")[0]
    best = 0.0
    for statement in statements:
        if written := _RELATIVE.search(statement):
            target = normpath(join(dirname(importer), written[1]))
            if target in (path, stem, f"{stem.rpartition('/')[0]}") or target.rpartition(".")[0] == stem:
                return IMPORTED
            continue
        words = _WORDS.findall(statement)
        if name not in words:
            continue
        near = not outer or outer[-1] in words or dirname(importer) == dirname(path)
        best = max(best, IMPORTED if near else LIKELY)
    return best


def rank(paths: Sequence[str], tests: Iterable[str], importing: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """Tests of the files, closest first: named after one before importing one, nearer folders before farther ones.
    `importing` has the import statements of the tests that may import one of them."""
    subjects = {subject(path): path for path in paths if subject(path)}
    scored: list[tuple[float, str]] = []
    for test in tests:
        if role_of(test) != "test":
            continue
        if test in paths:
            scored.append((2 * NAMED, test))
            continue
        best = 0.0
        if (named := subjects.get(subject(test))) is not None:
            best = NAMED + _nearness(named, test)
        for path in paths if test in importing else ():
            sure = imports(test, importing[test], path)
            best = max(best, sure + _nearness(path, test) if sure else 0.0)
        if best:
            scored.append((best, test))
    return tuple(test for _, test in sorted(scored, key=lambda pair: (-pair[0], pair[1])))


def _nearness(path: str, test: str) -> float:
    """The share of the file's folders that the test's folders have too, below 1."""
    own = set(path.split("/")[:-1])
    return len(own & set(test.split("/")[:-1])) / (1 + len(own))
