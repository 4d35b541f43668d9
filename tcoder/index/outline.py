"""A map of files and their definitions within a budget of tokens. Pure and deterministic."""

from collections.abc import Callable, Sequence

from tcoder.protocol.location import Location, Symbol

CHARS_PER_TOKEN = 3.5
FOCUS_FILES = 8


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
    lines = list(paths)
    if tokens("\n".join(lines)) <= budget:
        return "\n".join(lines)
    for depth in range(8, 0, -1):
        folders = _folders(paths, depth)
        if tokens("\n".join(folders)) <= budget:
            return "\n".join(folders)
    return _cut(_folders(paths, 1), budget)


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


def _folders(paths: Sequence[str], depth: int) -> list[str]:
    counts: dict[str, int] = {}
    for path in paths:
        folder = "/".join(path.split("/")[:-1][:depth])
        counts[folder] = counts.get(folder, 0) + 1
    return [f"{folder or '.'}/ {count} files" for folder, count in sorted(counts.items())]


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
