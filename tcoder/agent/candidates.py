"""Candidate edits of a suspect: what small models are asked, and how their answers become whole new files."""

import ast
import re
from collections.abc import Mapping, Sequence

from msgspec import Struct

from tcoder.agent.suspects import Suspect
from tcoder.agent.units import Unit, without_docstring
from tcoder.protocol.request import Fill

LINES_BEFORE, LINES_AFTER = 60, 14
MAX_NEIGHBOURS = 4
INSERTED = "a statement inserted by the model"
_SAYS = re.compile(r"\w")
FENCE = re.compile(r"```[\w+-]*[ \t]*\n(.*?)(?:\n```|\Z)", re.S)


class Candidate(Struct, frozen=True):
    """An edit of one file: lines `line` to `end_line` (1-based, inclusive) become `text`. `how` says where it comes
    from, in words for people."""

    path: str
    line: int
    end_line: int
    text: str
    how: str

    def apply(self, source: str) -> str:
        lines = source.split("\n")
        lines[self.line - 1 : self.end_line] = self.text.split("\n") if self.text else []
        return "\n".join(lines)


def gaps(suspect: Suspect, source: str, limit: int) -> tuple[tuple[int, int], ...]:
    """Statements of the suspect that may be asked for anew, as line ranges, most suspicious first. Compound statements
    count by their head alone; what says nothing (`else:`, `try:`, docstrings) is left out."""
    ranges = statement_ranges(source, suspect.unit)
    order = list(suspect.lines) or [first for first, _ in ranges]
    chosen: dict[tuple[int, int], None] = {}
    for line in order:
        inner = [found for found in ranges if found[0] <= line <= found[1]]
        if inner:
            chosen.setdefault(min(inner, key=lambda found: found[1] - found[0]))
    return tuple(chosen)[:limit]


def statement_ranges(source: str, unit: Unit) -> list[tuple[int, int]]:
    """First and last line of each statement (of a compound one: of its head) in a unit."""
    if not unit.path.endswith(".py"):
        lines = enumerate(source.split("\n"), 1)
        return [
            (number, number) for number, text in lines if unit.body <= number <= unit.end_line and _SAYS.search(text)
        ]
    found: list[tuple[int, int]] = []
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError):
        return []
    for node in ast.walk(tree):
        if not isinstance(node, ast.stmt) or not unit.holds(node.lineno):
            continue
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.lineno == unit.head:
            found.append((node.lineno, max(node.lineno, node.body[0].lineno - 1)))
        if node.lineno < unit.body:
            continue
        end = node.end_lineno or node.lineno
        match node:
            case ast.If() | ast.While() | ast.For() | ast.With() | ast.AsyncFor() | ast.AsyncWith():
                found.append((node.lineno, max(node.lineno, node.body[0].lineno - 1)))
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef() | ast.Try():
                continue
            case ast.Expr(value=ast.Constant(value=str())):
                continue
            case ast.Assign(value=value) | ast.AnnAssign(value=ast.expr() as value) if unit.kind == "statement":
                found += rows(value) or [(node.lineno, end)]
            case _:
                found.append((node.lineno, end))
    return sorted(set(found))


def rows(table: ast.expr) -> list[tuple[int, int]]:
    """First and last line of each entry of a table that stands on several lines, one entry a line or more."""
    match table:
        case ast.List(elts=parts) | ast.Tuple(elts=parts) | ast.Set(elts=parts):
            spans = [(part.lineno, part.end_lineno or part.lineno) for part in parts]
        case ast.Dict(keys=keys, values=values):
            pairs = zip(keys, values, strict=True)
            spans = [((key or value).lineno, value.end_lineno or value.lineno) for key, value in pairs]
        case ast.Call(args=[ast.expr() as inner]):
            return rows(inner)
        case _:
            return []
    lines = [line for span in spans for line in range(span[0], span[1] + 1)]
    apart = len(lines) == len(set(lines)) and (table.lineno not in lines)
    return spans if apart and len(spans) > 1 else []


def fill_request(
    suspect: Suspect, source: str, gap: tuple[int, int], facts: str, neighbours: str, *, indented: bool = True
) -> Fill:
    """The suspect with a gap in the place of one statement. What is the same for all gaps stands first, so that a
    prompt cache holds it; the failure stands in a comment above the code. Whether the gap's line is begun with its
    indentation changes what small models think of first, so both are worth asking."""
    lines = without_docstring(suspect.unit, source)
    first, last = gap
    before = [text for number, text in lines if number < first]
    after = [text for number, text in lines if number > last]
    if len(before) > LINES_BEFORE:  # the head says what the arguments are
        before = [*before[:2], *before[2 - LINES_BEFORE :]]
    after = after[:LINES_AFTER]
    python = suspect.unit.path.endswith((".py", ".rb", ".sh"))
    head = comment(facts, "#" if python else "//")
    owner = suspect.unit.name.rpartition(".")[0] if python else ""
    shown = [*([neighbours] if neighbours else []), head, *([f"class {owner}:"] if owner else []), *before]
    begun = indent_of(source, first) if indented else ""
    return Fill("\n".join(shown) + "\n" + begun, "\n" + "\n".join(after) + "\n")


def insert_request(suspect: Suspect, source: str, gap: tuple[int, int], facts: str, neighbours: str) -> Fill:
    """The suspect with a gap behind one statement (behind the head of a compound one)."""
    first, last = gap
    request = fill_request(suspect, source, (last + 1, last), facts, neighbours, indented=False)
    begun = _indent_behind(source, first, last)
    return Fill(request.before + begun, request.after)


def _indent_behind(source: str, first: int, last: int) -> str:
    """The indentation of what may follow lines `first` to `last`: deeper when they end with a colon."""
    lines = source.split("\n")
    opens = lines[last - 1].split("#")[0].rstrip().endswith(":")
    return indent_of(source, first) + ("    " if opens else "")


def from_insert(answer: str, suspect: Suspect, source: str, gap: tuple[int, int]) -> Candidate | None:
    """The first whole statement of an answer, put behind the lines of the gap; None when there is none."""
    if not suspect.unit.path.endswith(".py"):
        return None
    first, last = gap
    begun = _indent_behind(source, first, last)
    lines = (begun + answer.replace("\r\n", "\n").lstrip(" ")).split("\n")
    for end in range(1, len(lines) + 1):
        if end < len(lines) and lines[end].startswith((begun + " ", begun + "el")):
            continue  # it goes on
        try:
            statement = ast.parse("\n".join(line.removeprefix(begun) for line in lines[:end]))
        except (SyntaxError, ValueError, RecursionError):
            continue
        if not statement.body or isinstance(statement.body[0], ast.FunctionDef | ast.ClassDef | ast.Pass):
            return None
        kept = source.split("\n")[last - 1]
        return Candidate(suspect.unit.path, last, last, "\n".join([kept, *lines[:end]]), INSERTED)
    return None


def indent_of(source: str, line: int) -> str:
    text = source.split("\n")[line - 1]
    return text[: len(text) - len(text.lstrip())]


def comment(text: str, mark: str) -> str:
    return "\n".join(f"{mark} {line}".rstrip() for line in text.split("\n"))


def from_fill(answer: str, suspect: Suspect, source: str, gap: tuple[int, int]) -> Candidate | None:
    """The answer to a gap as a candidate; None when it says nothing."""
    lines = answer.replace("\r\n", "\n").split("\n")
    text = lines[0].strip()
    if not text and len(lines) > 1:
        text = lines[1].strip()
    if not text or text.startswith("#"):
        return None
    first, last = gap
    return Candidate(suspect.unit.path, first, last, indent_of(source, first) + text, "a line filled in by the model")


def shortened(candidate: Candidate) -> tuple[Candidate, ...]:
    """A filled line without the last operation of its value (`return a + b % c` as `return a + b` and `return a`):
    small models often go on after the right answer."""
    indent = candidate.text[: len(candidate.text) - len(candidate.text.lstrip())]
    try:
        (statement,) = ast.parse(candidate.text.strip()).body
    except (SyntaxError, ValueError, RecursionError):
        return ()
    if not isinstance(statement, ast.Return | ast.Assign) or statement.value is None:
        return ()
    found: list[Candidate] = []
    for value in _beginnings(statement.value):
        statement.value = value
        text = indent + ast.unparse(statement)
        found.append(Candidate(candidate.path, candidate.line, candidate.end_line, text, candidate.how))
    return tuple(found)


def _beginnings(value: ast.expr) -> list[ast.expr]:
    match value:
        case ast.BinOp(left=left, op=op, right=ast.BinOp(left=middle)):
            return [ast.BinOp(left, op, middle), left]
        case ast.BinOp(left=left):
            return [left]
        case ast.Call(func=ast.Attribute(value=ast.Call() as inner)):
            return [inner]
        case _:
            return []


REWRITE = """{facts}

{neighbours}The function with the bug, in {path}:
```{language}
{code}
```
"""


def rewrite_prompt(suspect: Suspect, source: str, facts: str, neighbours: str) -> str:
    """What a chat model is shown: the failure, the suspect, its neighbours."""
    code = "\n".join(text for _, text in dedented(without_docstring(suspect.unit, source)))
    return REWRITE.format(
        facts=facts,
        neighbours=f"It uses:\n```\n{neighbours}\n```\n" if neighbours else "",
        path=suspect.unit.path,
        language="python" if suspect.unit.path.endswith(".py") else suspect.unit.path.rpartition(".")[2],
        code=code,
    )


def dedented(lines: Sequence[tuple[int, str]]) -> list[tuple[int, str]]:
    depth = min((len(text) - len(text.lstrip()) for _, text in lines if text.strip()), default=0)
    return [(number, text[depth:]) for number, text in lines]


def from_rewrite(answer: str, suspect: Suspect, source: str) -> Candidate | None:
    """The function of that name in an answer, put back at its place with its indentation and its docstring; None when
    the answer does not hold it or does not parse."""
    unit = suspect.unit
    blocks = FENCE.findall(answer) or [answer]
    name = unit.name.rpartition(".")[2]
    for block in blocks:
        python = unit.path.endswith(".py")
        code = _definition(block, name) if python and unit.kind == "function" else block.strip("\n")
        if code is None or name not in code:
            continue
        first_line = source.split("\n")[unit.line - 1]
        indent = first_line[: len(first_line) - len(first_line.lstrip())]
        text = "\n".join(indent + line if line.strip() else line for line in code.split("\n"))
        text = _with_docstring(text, unit, source) if python else text
        return Candidate(unit.path, unit.line, unit.end_line, text, "a function rewritten by the model")
    return None


def _definition(block: str, name: str) -> str | None:
    """The source of the function `name` in a block, its decorators included, dedented."""
    lines = block.split("\n")
    depth = min((len(text) - len(text.lstrip()) for text in lines if text.strip()), default=0)
    block = "\n".join(text[depth:] for text in lines)
    tree = _parse_beginning(block)
    for node in ast.walk(tree) if tree else ():
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name == name:
            first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
            found = block.split("\n")[first - 1 : node.end_lineno]
            depth = len(found[0]) - len(found[0].lstrip())
            return "\n".join(text[depth:] if text[:depth].isspace() or not depth else text for text in found)
    return None


def _parse_beginning(block: str) -> ast.Module | None:
    """The tree of a block; of one that was cut off, of the part that still parses."""
    lines = block.split("\n")
    for end in range(len(lines), max(0, len(lines) - 12), -1):
        try:
            return ast.parse("\n".join(lines[:end]))
        except (SyntaxError, ValueError, RecursionError):
            continue
    return None


def _with_docstring(text: str, unit: Unit, source: str) -> str:
    """The model saw the docstring cut short and may have left it out: the file keeps the one that it has."""
    original = source.split("\n")[unit.line - 1 : unit.end_line]
    old, new = _docstring_lines("\n".join(original)), _docstring_lines(text)
    if old is None:
        return text
    kept = original[old[0] : old[1]]
    lines = text.split("\n")
    if new is not None:
        lines[new[0] : new[1]] = kept
    else:
        tree = _parse_beginning(_flush_left(text))
        if tree is None or not tree.body or not isinstance(tree.body[0], ast.FunctionDef | ast.AsyncFunctionDef):
            return text
        at = tree.body[0].body[0].lineno - 1
        lines[at:at] = kept
    return "\n".join(lines)


def _docstring_lines(text: str) -> tuple[int, int] | None:
    """Where a function's docstring is: 0-based first line and the one after its last."""
    tree = _parse_beginning(_flush_left(text))
    if tree is None or not tree.body or not isinstance(tree.body[0], ast.FunctionDef | ast.AsyncFunctionDef):
        return None
    first = tree.body[0].body[0]
    if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str):
        return first.lineno - 1, first.end_lineno or first.lineno
    return None


def _flush_left(text: str) -> str:
    lines = text.split("\n")
    depth = len(lines[0]) - len(lines[0].lstrip())
    return "\n".join(line[depth:] for line in lines)


def neighbours_of(suspect: Suspect, units: Mapping[str, Sequence[Unit]], source: str) -> str:
    """What the suspect uses of its own module: signatures of functions, whole statements of one to three lines."""
    unit = suspect.unit
    shown: list[str] = []
    lines = source.split("\n")
    for other in units.get(unit.path, ()):
        names = set(other.name.rpartition(".")[2].split(", "))
        if other == unit or not names & unit.uses or len(shown) >= MAX_NEIGHBOURS:
            continue
        if other.kind == "function":
            shown.append(f"{other.signature.partition(': ')[0]}: ..."[:160])
        elif other.length <= 3:
            shown.append("\n".join(line.strip()[:120] for line in lines[other.line - 1 : other.end_line]))
    return "\n".join(shown)
