"""A map of files and their definitions within a budget of tokens. Pure and deterministic."""

import heapq
from collections.abc import Callable, Sequence

from tcoder.protocol.location import Location, Symbol

CHARS_PER_TOKEN = 3.5
FOCUS_FILES = 8
MIN_NAMES = 40


def tokens(text: str) -> int:
    """An estimate that does not depend on a model's tokenizer; code has about 3.5 characters a token."""
    return int(len(text) / CHARS_PER_TOKEN) + 1


def outline_file(path: str, symbols: Sequence[Symbol], budget: int) -> str:
    """The definitions of one file with line numbers, deeper ones left out first when the budget is small."""
    for depth in (6, 3, 2, 1):
        lines = [path, *(_line(symbol) for symbol in symbols if _depth(symbol) < depth)]
        text = "\n".join(lines)
        if tokens(text) <= budget:
            return text
    return _cut([path, *(_line(symbol) for symbol in symbols if not _depth(symbol))], budget)


def outline_tree(
    paths: Sequence[str], symbols: Callable[[str], Sequence[Symbol]], budget: int, focus: Location | None
) -> str:
    """Files below a folder in the order of their paths. Every file has its line while there is room; then come its
    top-level names, those of files in focus first and with signatures."""
    wanted = [hit.path for hit in focus.files if hit.path in set(paths)][:FOCUS_FILES] if focus else []
    detailed: list[str] = []
    room = budget
    for path in wanted:
        text = outline_file(path, symbols(path), max(budget // 6, 60))
        if tokens(text) + 1 > room // 2 + budget // 4:
            break
        detailed.append(text)
        room -= tokens(text) + 1
    head = "\n\n".join(detailed)
    tree = _tree(paths, symbols, room - 2, frozenset(wanted[: len(detailed)]))
    return f"{head}\n\n{tree}".strip() if head else tree


def _tree(paths: Sequence[str], symbols: Callable[[str], Sequence[Symbol]], budget: int, done: frozenset[str]) -> str:
    full = [_file_line(path, () if path in done else symbols(path), 200) for path in paths] if len(paths) <= 400 else []
    for names in (200, 90, 40):
        lines = [_clip(line, names) for line in full]
        if full and tokens("\n".join(lines)) <= budget:
            return "\n".join(lines)
    if tokens("\n".join(paths)) <= budget:
        return _with_names(paths, full, budget)
    return _folders(paths, budget)


def _with_names(paths: Sequence[str], full: Sequence[str], budget: int) -> str:
    """Every path, with names for as many as there is room, in their order."""
    lines = list(paths)
    room = int((budget - 1) * CHARS_PER_TOKEN) - len("\n".join(lines))
    for at, line in enumerate(full):
        clipped = _clip(line, 40)
        if len(clipped) - len(lines[at]) <= room:
            room -= len(clipped) - len(lines[at])
            lines[at] = clipped
    return "\n".join(lines)


def _file_line(path: str, symbols: Sequence[Symbol], limit: int) -> str:
    names = ", ".join(
        symbol.name for symbol in symbols if not symbol.parent and symbol.kind not in ("variable", "impl")
    )
    return _clip(f"{path}: {names}" if names else path, limit + len(path))


def _clip(line: str, limit: int) -> str:
    path, found, names = line.partition(": ")
    if not found or len(names) <= limit:
        return line
    return f"{path}: {names[:limit].rpartition(', ')[0] or names[:limit]}, …"


class _Folder:
    """`files` directly in it; `count` with those of all folders in it."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.folders: dict[str, _Folder] = {}
        self.files: list[str] = []
        self.count = 0

    def closed(self) -> str:
        return f"{self.path or '.'}/ {self.count} file{'s' * (self.count != 1)}"

    def names(self) -> str:
        """Names that say nothing come last."""
        files = sorted(self.files, key=lambda name: (name.startswith("__init__."), name))
        return f"{self.path or '.'}/: {', '.join(files)}"

    def counted(self) -> str:
        return f"{self.path or '.'}/ {len(self.files)} file{'s' * (len(self.files) != 1)} of its own"


def _folders(paths: Sequence[str], budget: int) -> str:
    """Folders with how many files they hold, the largest opened one after the other while there is room, so that the
    budget is used; then the names of files, those of folders with few first."""
    root = _Folder("")
    for path in paths:
        *outer, name = path.split("/")
        folder = root
        folder.count += 1
        for part in outer:
            folder = folder.folders.setdefault(part, _Folder(f"{folder.path}/{part}" if folder.path else part))
            folder.count += 1
        folder.files.append(name)
    room = int((budget - 1) * CHARS_PER_TOKEN)
    shown: dict[str, str] = {}

    def show(removed: _Folder, added: Sequence[tuple[str, str]]) -> bool:
        nonlocal room
        cost = sum(len(line) + 1 for _, line in added) - len(shown.get(removed.path, "")) - 1
        if cost > room:
            return False
        room -= cost
        shown.pop(removed.path, None)
        shown.update(added)
        return True

    shown[""] = root.closed()
    room -= len(shown[""]) + 1
    waiting = [(-root.count, "", root)]
    open_: list[_Folder] = []
    while waiting:
        _, _, folder = heapq.heappop(waiting)
        if not folder.folders:
            open_.append(folder)
            continue
        own = [(folder.path, folder.counted())] if folder.files else []
        if show(folder, [*own, *((inner.path, inner.closed()) for inner in folder.folders.values())]):
            for inner in folder.folders.values():
                heapq.heappush(waiting, (-inner.count, inner.path, inner))
            open_.append(folder)
    for folder in sorted(open_, key=lambda folder: (len(folder.files), folder.path)):
        if folder.files and folder.path in shown and not show(folder, [(folder.path, folder.names())]):
            # what is left goes to the first that does not fit, when it shows some names
            space = room + len(shown[folder.path]) - len(folder.path) - 8
            if space >= MIN_NAMES:
                show(folder, [(folder.path, _clip(folder.names(), space))])
                break
    return "\n".join(shown[path] for path in sorted(shown)) if room >= 0 else _cut([root.closed()], budget)


def _depth(symbol: Symbol) -> int:
    return symbol.parent.count(".") + 1 if symbol.parent else 0


def _line(symbol: Symbol) -> str:
    text = symbol.signature or symbol.name
    doc = f"  {symbol.doc}" if symbol.doc and not _depth(symbol) else ""
    return f"{'  ' * _depth(symbol)}{symbol.line}: {text}{doc}"


def _cut(lines: Sequence[str], budget: int) -> str:
    kept: list[str] = []
    room = budget - 8
    for line in lines:
        room -= tokens(line)
        if room < 0:
            break
        kept.append(line)
    left = len(lines) - len(kept)
    return "\n".join([*kept, f"… {left} more"] if left else kept)
