"""A source file cut into the units that a small model is shown and answers with: functions, and statements between."""

import ast
import re
from collections.abc import Sequence

from msgspec import Struct, structs

from tcoder.protocol.location import Symbol

MAX_SIGNATURE = 200


class Unit(Struct, frozen=True):
    """A piece of a file; lines are 1-based and inclusive, decorators included. `name` is `Class.method`, `function`,
    or what a statement outside of functions defines. `signature` is its head in one line with the first line of its
    docstring; `uses` are the names it mentions; `body` is its first line that can be changed, `head` the line of its
    `def`, `defaults` whether that gives any; `branches` are the lines of its conditions, each with the first lines of
    what it decides about; `text` are the lines of a statement outside
    of functions that has several."""

    path: str
    name: str
    line: int
    end_line: int
    kind: str = "function"
    signature: str = ""
    uses: frozenset[str] = frozenset()
    body: int = 0
    head: int = 0
    defaults: bool = False
    branches: tuple[tuple[int, tuple[int, ...]], ...] = ()
    text: tuple[str, ...] = ()

    @property
    def length(self) -> int:
        return self.end_line - self.line + 1

    def holds(self, line: int) -> bool:
        return self.line <= line <= self.end_line


def cut(path: str, source: str) -> tuple[Unit, ...]:
    """The units of a Python file in the order of their lines; empty for a file that cannot be parsed. Functions inside
    functions belong to the outer one."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError):
        return ()
    lines = source.split("\n")
    return tuple(
        structs.replace(unit, text=tuple(lines[unit.line - 1 : unit.end_line]))
        if unit.kind == "statement" and unit.length > 1
        else unit
        for unit in _units(path, tree.body, "")
    )


def of_symbols(path: str, source: str, symbols: Sequence[Symbol]) -> tuple[Unit, ...]:
    """The functions of a file in any other language, as the index knows them."""
    lines = source.split("\n")
    found: list[Unit] = []
    for symbol in symbols:
        if symbol.kind in ("function", "method", "constructor") and symbol.end_line > symbol.line:
            text = "\n".join(lines[symbol.line - 1 : symbol.end_line])
            uses = frozenset(re.findall(r"[A-Za-z_]\w*", text)) - {symbol.name}
            signature = symbol.signature[:MAX_SIGNATURE]
            place = (symbol.line, symbol.end_line)
            found.append(
                Unit(path, symbol.qualified, *place, "function", signature, uses, symbol.line + 1, symbol.line)
            )
    return tuple(found)


def _units(path: str, body: list[ast.stmt], owner: str) -> list[Unit]:
    found: list[Unit] = []
    for node in body:
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                found.append(_function(path, node, owner))
            case ast.ClassDef():
                found += _units(path, node.body, f"{owner}{node.name}.")
            case ast.Assign() | ast.AnnAssign() | ast.AugAssign():
                names = ", ".join(sorted(_names(node, ast.Store))) or "statement"
                end = node.end_lineno or node.lineno
                uses = frozenset(_names(node, ast.Load))
                found.append(Unit(path, f"{owner}{names}", node.lineno, end, "statement", "", uses, node.lineno))
            case ast.If() | ast.Try() | ast.With():
                found += _units(path, [*node.body, *getattr(node, "orelse", [])], owner)
            case _:
                continue
    return found


def _function(path: str, node: ast.FunctionDef | ast.AsyncFunctionDef, owner: str) -> Unit:
    first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
    doc = (ast.get_docstring(node) or "").strip().partition("\n")[0]
    async_ = "async " if isinstance(node, ast.AsyncFunctionDef) else ""
    returns = f" -> {ast.unparse(node.returns)}" if node.returns else ""
    signature = f"{async_}def {node.name}({ast.unparse(node.args)}){returns}"[:MAX_SIGNATURE]
    statements = node.body[1:] if doc and len(node.body) > 1 else node.body
    return Unit(
        path,
        f"{owner}{node.name}",
        first,
        node.end_lineno or node.lineno,
        "function",
        f"{signature}: {doc[:120]}" if doc else signature,
        frozenset(name for part in _working_parts(node) for name in _names(part, ast.Load)),
        statements[0].lineno,
        node.lineno,
        bool(node.args.defaults or any(node.args.kw_defaults)),
        tuple(_branches(node)),
    )


def _branches(function: ast.AST) -> list[tuple[int, tuple[int, ...]]]:
    return [
        (node.lineno, tuple(body[0].lineno for body in (node.body, node.orelse) if body))
        for node in ast.walk(function)
        if isinstance(node, ast.If | ast.While | ast.For)
    ]


def _working_parts(node: ast.FunctionDef | ast.AsyncFunctionDef) -> list[ast.AST]:
    """What a function does something with: its body and its defaults, not its annotations."""
    return [*node.body, *node.args.defaults, *(default for default in node.args.kw_defaults if default)]


def _names(node: ast.AST, context: type[ast.expr_context]) -> set[str]:
    found = {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, context)}
    if context is ast.Load:
        found |= {n.attr for n in ast.walk(node) if isinstance(n, ast.Attribute)}
    return found


def parses(path: str, source: str) -> bool:
    """Whether a text is a file that can be run at all; only of Python can that be said here."""
    if not path.endswith(".py"):
        return True
    try:
        compile(source, path, "exec", dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError):
        return False
    return True


def text_of(unit: Unit, source: str) -> str:
    """The unit's own lines."""
    return "\n".join(source.split("\n")[unit.line - 1 : unit.end_line])


_DOCSTRING = re.compile(r'^(\s*)(?:[rRuU]?)("""|\'\'\')')


def without_docstring(unit: Unit, source: str) -> list[tuple[int, str]]:
    """The unit's lines with their numbers; a docstring of several lines is cut to its first, which saves a small
    model most of the reading."""
    lines = [(number, text) for number, text in enumerate(source.split("\n"), 1) if unit.holds(number)]
    for at, (number, text) in enumerate(lines):
        opening = _DOCSTRING.match(text)
        if not opening or number >= unit.body:
            continue
        quote = opening[2]
        first = text.strip()[len(text.strip().split(quote)[0]) :]
        if first.count(quote) >= 2:
            return lines
        end = next((i for i in range(at + 1, len(lines)) if quote in lines[i][1]), at)
        said = text.rstrip()
        if said.endswith(quote):  # its text begins on the next line
            said += next((inner.strip() for _, inner in lines[at + 1 : end] if inner.strip()), "")
        return [*lines[:at], (number, f"{said}{quote}"), *lines[end + 1 :]]
    return lines
