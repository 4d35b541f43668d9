"""Small edits that often repair a line: tried without a model, since each costs one short test run and no tokens."""

import ast
import builtins
import difflib
import re
import sys
from collections.abc import Iterable, Iterator, Sequence

from tcoder.agent.candidates import Candidate
from tcoder.agent.units import Unit
from tcoder.protocol.checks import Frame, TestResult

HOW = "a small edit, no model asked"
IMPORTED = "a missing import added, no model asked"
RENAMED = "a name corrected, no model asked"
MAX_NAMES = 4

_COMPARE: dict[type[ast.cmpop], tuple[str, ...]] = {
    ast.Lt: ("<=", ">"),
    ast.LtE: ("<", ">="),
    ast.Gt: (">=", "<"),
    ast.GtE: (">", "<="),
    ast.Eq: ("!=",),
    ast.NotEq: ("==",),
    ast.In: ("not in",),
    ast.NotIn: ("in",),
    ast.Is: ("is not",),
    ast.IsNot: ("is",),
}
_ARITHMETIC: dict[type[ast.operator], tuple[str, ...]] = {
    ast.Add: ("-", "*"),
    ast.Sub: ("+",),
    ast.Mult: ("/", "**"),
    ast.Div: ("*", "//"),
    ast.FloorDiv: ("/", "%"),
    ast.Mod: ("//",),
}
_PAIRS = (
    ("min", "max"),
    ("any", "all"),
    ("int", "round"),
    ("lower", "upper"),
    ("lstrip", "rstrip"),
    ("startswith", "endswith"),
    ("append", "extend"),
    ("find", "rfind"),
    ("index", "rindex"),
    ("split", "rsplit"),
    ("partition", "rpartition"),
    ("keys", "values"),
    ("values", "items"),
    ("floor", "ceil"),
    ("encode", "decode"),
    ("set", "list"),
    ("list", "sorted"),
)
_TWINS: dict[str, tuple[str, ...]] = {}
for _one, _other in _PAIRS:
    _TWINS[_one] = (*_TWINS.get(_one, ()), _other)
    _TWINS[_other] = (*_TWINS.get(_other, ()), _one)

Change = tuple[int, int, str]


def small_edits(unit: Unit, source: str, lines: Sequence[int], limit: int) -> tuple[Candidate, ...]:
    """Edits of one operator, number, name or condition of the given lines, the likeliest kinds first over all lines."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError):
        return ()
    text = source.split("\n")
    names = _names_of(tree, unit)
    ranked: list[tuple[int, int, Candidate]] = []
    for at, line in enumerate(lines):
        for kind, (start, end, new) in _changes(tree, line, names):
            raw = text[line - 1].encode()
            edited = (raw[:start] + new.encode() + raw[end:]).decode()
            if edited != text[line - 1]:
                ranked.append((kind * 2 + at, len(ranked), Candidate(unit.path, line, line, edited, HOW)))
    chosen: dict[tuple[int, str], Candidate] = {}
    for _, _, candidate in sorted(ranked, key=lambda one: one[:2]):
        chosen.setdefault((candidate.line, candidate.text), candidate)
    return tuple(chosen.values())[:limit]


def _names_of(tree: ast.Module, unit: Unit) -> list[str]:
    """Names that the unit's function binds: parameters, then variables, in order."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and unit.line <= node.lineno <= unit.end_line:
            parameters = [argument.arg for argument in ast.walk(node.args) if isinstance(argument, ast.arg)]
            stored = [n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]
            return list(dict.fromkeys([*parameters, *stored]))
    return []


def _changes(tree: ast.Module, line: int, names: Sequence[str]) -> Iterator[tuple[int, Change]]:
    """(kind, change) of everything on a line; kinds count from the likeliest."""
    for node in ast.walk(tree):
        begin, end = getattr(node, "lineno", 0), getattr(node, "end_lineno", 0)
        match node:
            case ast.If(test=test) | ast.While(test=test) if test.lineno == test.end_lineno == line:
                if not isinstance(test, ast.UnaryOp):
                    yield 4, (test.col_offset, test.end_col_offset or 0, _negated(test))
            case ast.Return(value=ast.expr() as value) if value.lineno == value.end_lineno == line:
                if isinstance(value, ast.Compare | ast.BoolOp | ast.Call):
                    yield 6, (value.col_offset, value.end_col_offset or 0, _negated(value))
            case _:
                pass
        if begin == end == line:
            yield from _inside_line(node, names)


def _negated(node: ast.expr) -> str:
    text = ast.unparse(node)
    return f"not {text}" if isinstance(node, ast.Name | ast.Attribute | ast.Call | ast.Subscript) else f"not ({text})"


def _inside_line(node: ast.AST, names: Sequence[str]) -> Iterator[tuple[int, Change]]:
    match node:
        case ast.Compare(left=left, ops=[op], comparators=[right]):
            for new in _COMPARE.get(type(op), ()):
                yield 0, (left.end_col_offset or 0, right.col_offset, f" {new} ")
        case ast.BoolOp(op=op, values=[left, right]):
            new = "or" if isinstance(op, ast.And) else "and"
            yield 1, (left.end_col_offset or 0, right.col_offset, f" {new} ")
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield 1, (node.col_offset, operand.col_offset, "")
        case ast.BinOp(left=left, op=op, right=right):
            for new in _ARITHMETIC.get(type(op), ()):
                yield 2, (left.end_col_offset or 0, right.col_offset, f" {new} ")
        case ast.Constant(value=bool() as value):
            yield 1, (node.col_offset, node.end_col_offset or 0, str(not value))
        case ast.Constant(value=int() as value):
            for new in (value - 1, value + 1):
                yield 2, (node.col_offset, node.end_col_offset or 0, str(new))
        case ast.Attribute(attr=attr, value=value) if attr in _TWINS:
            start = (value.end_col_offset or 0) + 1
            for new in _TWINS[attr]:
                yield 3, (start, start + len(attr), new)
        case ast.Name(id=name, ctx=ast.Load()):
            span = (node.col_offset, node.end_col_offset or 0)
            for new in _TWINS.get(name, ()):
                yield 3, (*span, new)
            others = [other for other in names if other != name and name in names and other not in ("self", "cls")]
            near = sorted(others, key=lambda other: -difflib.SequenceMatcher(None, name, other).ratio())
            for new in near[:MAX_NAMES]:
                yield 5, (*span, new)
        case ast.Call(args=[first, second]) if ast.dump(first) != ast.dump(second):
            swapped = f"{ast.unparse(second)}, {ast.unparse(first)}"
            yield 4, (first.col_offset, second.end_col_offset or 0, swapped)
        case ast.Subscript(value=value, slice=ast.Slice(lower=lower, upper=upper)):
            if (lower is None) != (upper is None):
                kept = ast.unparse(lower or upper or value)
                yield 4, (value.end_col_offset or 0, node.end_col_offset or 0, f"[:{kept}]" if lower else f"[{kept}:]")
        case _:
            return


_UNDEFINED = re.compile(r"name '(\w+)' is not defined")
_NO_ATTRIBUTE = re.compile(r"has no attribute '(\w+)'")
_UNEXPECTED = re.compile(r"unexpected keyword argument '(\w+)'")


def missing_names(failing: Iterable[TestResult]) -> tuple[str, ...]:
    """Names that the failures say are not defined."""
    return tuple(dict.fromkeys(found[1] for test in failing if (found := _UNDEFINED.search(test.message))))


def named_errors(
    failing: Iterable[TestResult], sources: dict[str, str], known: dict[str, str]
) -> tuple[Candidate, ...]:
    """What repairs a name that is not defined: the import that is missing, or the name that was meant. `sources` are
    the files on the stacks, `known` maps names that the project's modules define to the module that does."""
    found: dict[tuple[str, int, str], Candidate] = {}
    for test in failing:
        frame = test.frames[-1] if test.frames else None
        if frame is None or frame.path not in sources:
            continue
        source = sources[frame.path]
        if missing := _UNDEFINED.search(test.message):
            candidates = [*_imports(frame.path, source, missing[1], known), *_renames(frame, source, missing[1])]
        elif meant := _NO_ATTRIBUTE.search(test.message) or _UNEXPECTED.search(test.message):
            candidates = _renames(frame, source, meant[1])
        else:
            continue
        for candidate in candidates:
            found.setdefault((candidate.path, candidate.line, candidate.text), candidate)
    return tuple(found.values())


def _imports(path: str, source: str, name: str, known: dict[str, str]) -> list[Candidate]:
    lines: list[str] = []
    if name in known:
        lines.append(f"from {known[name]} import {name}")
    if name in sys.stdlib_module_names:
        lines.append(f"import {name}")
    lines += [f"from {module} import {name}" for module in _STANDARD.get(name, ())]
    at = place_for_import(source)
    old = source.split("\n")[at - 1]
    return [Candidate(path, at, at, f"{line}\n{old}", IMPORTED) for line in lines]


_STANDARD = {
    "Path": ("pathlib",), "defaultdict": ("collections",), "Counter": ("collections",), "OrderedDict": ("collections",),
    "deque": ("collections",), "namedtuple": ("collections",), "dataclass": ("dataclasses",), "field": ("dataclasses",),
    "datetime": ("datetime",), "timedelta": ("datetime",), "date": ("datetime",), "timezone": ("datetime",),
    "Decimal": ("decimal",), "Fraction": ("fractions",), "Enum": ("enum",), "partial": ("functools",),
    "reduce": ("functools",), "wraps": ("functools",), "lru_cache": ("functools",), "cache": ("functools",),
    "chain": ("itertools",), "islice": ("itertools",), "count": ("itertools",), "groupby": ("itertools",),
    "product": ("itertools",), "repeat": ("itertools",), "contextmanager": ("contextlib",), "suppress": ("contextlib",),
    "StringIO": ("io",), "BytesIO": ("io",), "sqrt": ("math",), "floor": ("math",), "ceil": ("math",), "log": ("math",),
    "Any": ("typing",), "Optional": ("typing",), "Iterable": ("collections.abc",), "Iterator": ("collections.abc",),
    "Mapping": ("collections.abc",), "Sequence": ("collections.abc",), "Callable": ("collections.abc",),
    "deepcopy": ("copy",), "copy": ("copy",), "dedent": ("textwrap",), "itemgetter": ("operator",),
}  # fmt: skip


def place_for_import(source: str) -> int:
    """The line of the first statement after docstring and `__future__` imports."""
    try:
        body = ast.parse(source).body
    except (SyntaxError, ValueError, RecursionError):
        return 1
    for node in body:
        docstring = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        future = isinstance(node, ast.ImportFrom) and node.module == "__future__"
        if not docstring and not future:
            decorated: list[ast.expr] = getattr(node, "decorator_list", [])
            return min([node.lineno, *(decorator.lineno for decorator in decorated)])
    return 1


def _renames(frame: Frame, source: str, name: str) -> list[Candidate]:
    """The line with the unknown name replaced by the nearest ones that the file knows."""
    words = set(re.findall(r"\b[A-Za-z_]\w*\b", source)) | set(dir(builtins))
    near = difflib.get_close_matches(name, words - {name}, 3, 0.6)
    line = source.split("\n")[frame.line - 1]
    return [
        Candidate(frame.path, frame.line, frame.line, re.sub(rf"\b{name}\b", other, line), RENAMED)
        for other in near
        if re.search(rf"\b{name}\b", line)
    ]
