"""One-line bugs, made over the syntax tree: what is changed is in one line of one function, and it still parses."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

COMPARE = {
    ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">", ast.Eq: "!=", ast.NotEq: "==",
    ast.In: "not in", ast.NotIn: "in", ast.Is: "is not", ast.IsNot: "is",
}  # fmt: skip
ARITHMETIC = {ast.Add: "-", ast.Sub: "+", ast.Mult: "+", ast.FloorDiv: "/", ast.Mod: "//", ast.Div: "//"}
METHODS = {
    "lower": "upper", "upper": "lower", "lstrip": "rstrip", "rstrip": "lstrip", "startswith": "endswith",
    "endswith": "startswith", "append": "extend", "find": "rfind", "rfind": "find", "keys": "values", "values": "keys",
    "index": "count", "split": "rsplit", "partition": "rpartition",
}  # fmt: skip
FUNCTIONS = {"min": "max", "max": "min", "any": "all", "all": "any", "int": "float", "list": "set", "sorted": "list"}


@dataclass(frozen=True)
class Mutation:
    """`line` is 1-based; `old` and `new` are whole lines. `operator` names what was done."""

    function: str
    line: int
    operator: str
    old: str
    new: str

    def apply(self, source: str) -> str:
        lines = source.split("\n")
        lines[self.line - 1] = self.new
        return "\n".join(lines)


def mutations(source: str) -> list[Mutation]:
    """All mutations of a module, in the order of its lines; the same list for the same source."""
    lines = source.split("\n")
    found: dict[tuple[int, str], Mutation] = {}
    for name, function in _functions(ast.parse(source)):
        for node, operator, (line, start, end), text in _changes(function, lines):
            old = lines[line - 1]
            new = old.encode()[:start].decode() + text + old.encode()[end:].decode()
            if new != old and _parses(source, line, new):
                found.setdefault((line, new), Mutation(name, line, operator, old, new))
            del node
    return sorted(found.values(), key=lambda one: (one.line, one.new))


def _functions(tree: ast.Module) -> Iterator[tuple[str, ast.AST]]:
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name, node
        elif isinstance(node, ast.ClassDef):
            for method in node.body:
                if isinstance(method, ast.FunctionDef | ast.AsyncFunctionDef):
                    yield f"{node.name}.{method.name}", method


Span = tuple[int, int, int]


def _changes(function: ast.AST, lines: list[str]) -> Iterator[tuple[ast.AST, str, Span, str]]:
    names = sorted({n.id for n in ast.walk(function) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)})
    names += sorted(a.arg for a in ast.walk(function) if isinstance(a, ast.arg) and a.arg not in ("self", "cls"))
    for node in ast.walk(function):
        if not hasattr(node, "lineno") or node.lineno != node.end_lineno:
            continue
        span = (node.lineno, node.col_offset, node.end_col_offset)
        match node:
            case ast.Compare(ops=[op]) if type(op) in COMPARE:
                yield node, "comparison", _between(node.left, node.comparators[0], lines), f" {COMPARE[type(op)]} "
            case ast.BoolOp(op=op, values=[left, right, *_]):
                yield node, "and/or", _between(left, right, lines), " or " if isinstance(op, ast.And) else " and "
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                yield node, "not", (node.lineno, node.col_offset, operand.col_offset), ""
            case ast.BinOp(op=op) if type(op) in ARITHMETIC and not _is_text(node.left):
                yield node, "arithmetic", _between(node.left, node.right, lines), f" {ARITHMETIC[type(op)]} "
            case ast.Constant(value=bool() as value):
                yield node, "boolean", span, str(not value)
            case ast.Constant(value=int() as value):
                yield node, "number", span, str(value + 1)
                if value > 0:
                    yield node, "number", span, str(value - 1)
            case ast.Call(func=ast.Attribute(attr=attr, value=value)) if attr in METHODS:
                end = value.end_col_offset + 1
                yield node, "method", (node.lineno, end, end + len(attr)), METHODS[attr]
            case ast.Call(func=ast.Name(id=name)) if name in FUNCTIONS:
                yield node, "function", (node.lineno, node.col_offset, node.col_offset + len(name)), FUNCTIONS[name]
            case ast.Call(args=[first, second]) if ast.dump(first) != ast.dump(second):
                swapped = f"{ast.unparse(second)}, {ast.unparse(first)}"
                yield node, "arguments", (node.lineno, first.col_offset, second.end_col_offset), swapped
            case ast.Name(id=name, ctx=ast.Load()) if name in names and len(set(names)) > 1:
                other = names[(names.index(name) + 1) % len(names)]
                yield node, "variable", span, other
            case ast.Return(value=ast.expr()):
                yield node, "return", span, "return None"
            case ast.Assign() | ast.AugAssign() | ast.Expr(value=ast.Call()):
                yield node, "deletion", span, "pass"
            case ast.Subscript(slice=ast.Slice(lower=lower, upper=upper)) if (lower is None) != (upper is None):
                kept = ast.unparse(lower or upper)
                inside = (node.lineno, node.value.end_col_offset, node.end_col_offset)
                yield node, "slice", inside, f"[:{kept}]" if lower else f"[{kept}:]"
            case _:
                continue


def _between(left: ast.expr, right: ast.expr, lines: list[str]) -> Span:
    """The text between two operands of one line, without the brackets that belong to them."""
    line = lines[left.lineno - 1].encode()
    start, end = left.end_col_offset, right.col_offset
    while line[start : start + 1] == b")":
        start += 1
    while line[end - 1 : end] in (b"(", b"["):
        end -= 1
    return (left.lineno, start, end)


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))


def _parses(source: str, line: int, new: str) -> bool:
    lines = source.split("\n")
    lines[line - 1] = new
    try:
        ast.parse("\n".join(lines))
    except SyntaxError:
        return False
    return True
