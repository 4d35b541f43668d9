"""Kinds of seeded bugs beyond one changed line: what is missing, and what is wrong in several places.

A bug is a tuple of edits of the released sources, made over the syntax tree. Everything here is drawn from a given
generator of random numbers: the same seed gives the same bugs.
"""

import ast
import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from mutations import Mutation, mutations

MAX_BRANCH = 6
Sources = Mapping[str, str]


@dataclass(frozen=True)
class Edit:
    """Lines of `path` from `line` (1-based) that are `old` as released become `new`; each is whole lines joined by
    newlines, `new` = None when the lines go. `function` is what holds the bug (`Class.method`, a name, or `import`)."""

    path: str
    line: int
    function: str
    operator: str
    old: str
    new: str | None

    @property
    def end(self) -> int:
        return self.line + self.old.count("\n")


Bug = tuple[Edit, ...]


def seeded(sources: Sources, bug: Bug) -> dict[str, str]:
    """The sources with a bug. Raises `ValueError` when they are not as they were when it was made."""
    result = dict(sources)
    for edit in sorted(bug, key=lambda one: -one.line):
        lines = result[edit.path].split("\n")
        if "\n".join(lines[edit.line - 1 : edit.end]) != edit.old:
            raise ValueError(f"{edit.path}:{edit.line} is not as it was when the bug was chosen")
        lines[edit.line - 1 : edit.end] = [] if edit.new is None else edit.new.split("\n")
        result[edit.path] = "\n".join(lines)
    return result


def one_line(sources: Sources, rng: random.Random) -> Iterator[Bug]:
    """One line of one function changed, an operator not twice before the others had their turn."""
    every = [_edit(path, one) for path, text in sources.items() for one in mutations(text)]
    rng.shuffle(every)
    used: list[str] = []
    while every:
        rare = min(every, key=lambda edit: used.count(edit.operator))
        every.remove(rare)
        used.append(rare.operator)
        yield (rare,)


def missing_import(sources: Sources, rng: random.Random) -> Iterator[Bug]:
    """One imported name is imported no more."""
    found: list[Bug] = []
    for path, text in sources.items():
        for node in ast.parse(text).body:
            if isinstance(node, ast.Import | ast.ImportFrom) and getattr(node, "module", "") != "__future__":
                found += [(edit,) for edit in _without_one_name(path, text, node)]
    rng.shuffle(found)
    yield from found


def missing_branch(sources: Sources, rng: random.Random) -> Iterator[Bug]:
    """An `if` without `else` is gone with all it did: several lines are to be written again."""
    found: list[Bug] = []
    for path, text in sources.items():
        for name, function in functions(ast.parse(text)):
            for block in _blocks(function):
                for node in block:
                    end = node.end_lineno or node.lineno
                    if isinstance(node, ast.If) and not node.orelse and 1 <= end - node.lineno < MAX_BRANCH:
                        old = "\n".join(text.split("\n")[node.lineno - 1 : end])
                        if old.lstrip().startswith("elif"):
                            continue
                        new = None if len(block) > 1 else " " * node.col_offset + "pass"
                        found.append((Edit(path, node.lineno, name, "missing branch", old, new),))
    rng.shuffle(found)
    yield from found


def wrong_constant(sources: Sources, rng: random.Random) -> Iterator[Bug]:
    """A number or text outside of functions is another one."""
    found: list[Bug] = []
    for path, text in sources.items():
        lines = text.split("\n")
        for node in ast.parse(text).body:
            if not isinstance(node, ast.Assign | ast.AnnAssign) or node.value is None:
                continue
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            if not isinstance(target, ast.Name) or target.id == "__all__":
                continue
            for part in ast.walk(node.value):
                if not isinstance(part, ast.Constant) or part.lineno != part.end_lineno:
                    continue
                other = _another(part.value)
                if other is None:
                    continue
                old = lines[part.lineno - 1]
                raw = old.encode()
                new = (raw[: part.col_offset] + other.encode() + raw[part.end_col_offset :]).decode()
                found.append((Edit(path, part.lineno, target.id, "wrong constant", old, new),))
    rng.shuffle(found)
    yield from (bug for bug in found if _parses(sources, bug))


def several_lines(sources: Sources, rng: random.Random) -> Iterator[Bug]:
    """Two lines of one function are wrong."""
    yield from _pairs(sources, rng, lambda a, b: a.path == b.path and a.function == b.function and a.line != b.line)


def several_functions(sources: Sources, rng: random.Random) -> Iterator[Bug]:
    """A line in each of two functions of one file is wrong."""
    yield from _pairs(sources, rng, lambda a, b: a.path == b.path and a.function != b.function)


def several_files(sources: Sources, rng: random.Random) -> Iterator[Bug]:
    """A line in each of two files is wrong."""
    yield from _pairs(sources, rng, lambda a, b: a.path != b.path)


Kind = Callable[[Sources, random.Random], Iterator[Bug]]
KINDS: dict[str, Kind] = {
    "line": one_line,
    "import": missing_import,
    "branch": missing_branch,
    "constant": wrong_constant,
    "lines": several_lines,
    "functions": several_functions,
    "files": several_files,
}


def _pairs(sources: Sources, rng: random.Random, fit: Callable[[Edit, Edit], bool]) -> Iterator[Bug]:
    singles = [bug[0] for bug in one_line(sources, rng)]
    for at, first in enumerate(singles):
        others = [other for other in singles[at + 1 :] if fit(first, other) and other.operator != first.operator]
        if others:
            yield (first, rng.choice(others))


def functions(tree: ast.Module) -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]:
    """Functions of a module and methods of its classes, by the name that edits give them."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name, node
        elif isinstance(node, ast.ClassDef):
            for method in node.body:
                if isinstance(method, ast.FunctionDef | ast.AsyncFunctionDef):
                    yield f"{node.name}.{method.name}", method


def _blocks(function: ast.AST) -> Iterator[list[ast.stmt]]:
    for node in ast.walk(function):
        for name in ("body", "orelse", "finalbody"):
            block = getattr(node, name, None)
            if isinstance(block, list) and block and not (name == "orelse" and isinstance(block[0], ast.If)):
                yield block


def _without_one_name(path: str, text: str, node: ast.Import | ast.ImportFrom) -> Iterator[Edit]:
    old = "\n".join(text.split("\n")[node.lineno - 1 : node.end_lineno])
    for alias in node.names:
        rest = [other for other in node.names if other is not alias]
        new = None
        if rest and isinstance(node, ast.ImportFrom):
            new = ast.unparse(ast.ImportFrom(node.module, rest, node.level))
        elif rest:
            new = ast.unparse(ast.Import(rest))
        yield Edit(path, node.lineno, "import", "missing import", old, new)


def _another(value: object) -> str | None:
    match value:
        case bool():
            return str(not value)
        case int():
            return str(value + 1)
        case str() if 2 <= len(value) <= 24 and value.isascii():
            return repr(value[:-1])
        case _:
            return None


def _parses(sources: Sources, bug: Bug) -> bool:
    try:
        for text in seeded(sources, bug).values():
            ast.parse(text)
    except SyntaxError:
        return False
    return True


def _edit(path: str, mutation: Mutation) -> Edit:
    return Edit(path, mutation.line, mutation.function, mutation.operator, mutation.old, mutation.new)
