"""Which code a person means, for a model that cannot look for it: names and files of the task, then the index."""

import re
import time
from pathlib import PurePosixPath

from msgspec import Struct

from tcoder.agent.integrity import is_test_file
from tcoder.agent.turn import Turn
from tcoder.protocol.events import Located
from tcoder.protocol.location import Location, SymbolHit

MAX_NAMES = 30
LOCATED = 10
_QUOTED = re.compile(r"`([^`\s]+)`")
_FILE = re.compile(
    r"[\w./-]*\w\.(?:pyi?|[cm]?[jt]sx?|go|rs|java|kts?|scala|swift|c|h|cc|cpp|hpp|cs|rb|php|lua|sh|sql|html?|s?css|md"
    r"|ya?ml|toml|json|txt|cfg|ini)\b",
    re.I,
)
_CALLED = re.compile(r"\b([A-Za-z_]\w*)\(")
_ANNOUNCED = re.compile(
    r"\b(?:function|method|class|def|procedure|variable)\s+(?:named |called )?[`'\"]?([A-Za-z_]\w*)", re.I
)
_WORD = re.compile(r"[A-Za-z_][\w.]*\w")
_CODE_LIKE = re.compile(r"_|\w\.\w|[a-z][A-Z]")


class Mentions(Struct, frozen=True):
    """What a task mentions: `names` that are written like code, other `words`, and `files` with their extension."""

    names: tuple[str, ...]
    words: tuple[str, ...]
    files: tuple[str, ...]


def mentions(task: str) -> Mentions:
    """In the order of the task, each once."""
    files = dict.fromkeys(_FILE.findall(task))
    rest = task
    for file in files:
        rest = rest.replace(file, " ")
    quoted = [name.rstrip("()") for name in _QUOTED.findall(rest)]
    names = dict.fromkeys([*quoted, *_ANNOUNCED.findall(rest), *_CALLED.findall(rest)])
    words = dict.fromkeys(_WORD.findall(rest))
    names.update(dict.fromkeys(word for word in words if _CODE_LIKE.search(word)))
    known = tuple(name for name in names if re.fullmatch(r"[A-Za-z_][\w.]*", name))
    return Mentions(known, tuple(word for word in words if word not in names and len(word) > 2), tuple(files))


class Places(Struct, frozen=True):
    """`symbols` are definitions, the most likely meant first; `file` the file that the task names, if it is there;
    `new` a name written like code that nothing defines yet, which the task may want made."""

    symbols: tuple[SymbolHit, ...]
    file: str
    new: str


async def find(turn: Turn) -> Places:
    """The places that the turn's task is about, recorded for everybody to see."""
    began = time.monotonic()
    said = mentions(turn.task)
    located = await turn.env.index.locate(turn.task, limit=LOCATED)
    file = await _file(turn, said.files)
    found: dict[tuple[str, int], SymbolHit] = {}
    new = ""
    for name in (*said.names, *said.words)[:MAX_NAMES]:
        hits = [hit for hit in await turn.env.index.find_symbol(name) if f".{hit.name}".endswith(f".{name}")]
        if not hits and name in said.names and not new:
            new = name
        for hit in sorted(hits, key=lambda hit: (hit.path != file, is_test_file(hit.path))):
            found.setdefault((hit.path, hit.line), hit)
    meant = [hit for hit in found.values() if not file or hit.path == file] or list(found.values())
    others = [hit for hit in (*found.values(), *located.symbols) if (hit.path, hit.line) not in _keys(meant)]
    symbols = tuple({(hit.path, hit.line): hit for hit in (*meant, *others)}.values())[:LOCATED]
    turn.record(Located(Location(located.files, symbols, located.index), round(time.monotonic() - began, 3)))
    return Places(symbols, file, new)


def _keys(hits: list[SymbolHit]) -> set[tuple[str, int]]:
    return {(hit.path, hit.line) for hit in hits}


async def _file(turn: Turn, named: tuple[str, ...]) -> str:
    for name in named:
        wanted = PurePosixPath(name).parts
        for path in await turn.env.index.files_matching(name, limit=5):
            if PurePosixPath(path).parts[-len(wanted) :] == wanted:
                return path
    return ""
