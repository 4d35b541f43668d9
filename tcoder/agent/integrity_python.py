"""What was done to Python tests, and what Python code does for tests' sake: on the syntax tree."""

import ast
from collections.abc import Iterator
from typing import TypeGuard

from tcoder.agent.integrity_shape import TestShape

SKIPPING = frozenset({"skip", "skipif", "skipIf", "skipUnless", "xfail", "expectedFailure", "skipTest", "importorskip"})
OWNERS = frozenset({"pytest", "mark", "unittest", "self", "cls"})
REPLACING = frozenset({"setattr", "patch", "setitem", "object"})
CATCHING = frozenset({"AssertionError", "Exception", "BaseException"})


def parse(source: str) -> ast.Module | None:
    try:
        return ast.parse(source)
    except (SyntaxError, ValueError, RecursionError):
        return None


def shapes(tree: ast.Module) -> dict[str, TestShape]:
    """The tests of a file by their qualified names; a skip of the whole file or class counts for each of its tests."""
    found: dict[str, TestShape] = {}
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            for inner in node.body:
                if _is_test(inner):
                    found[f"{node.name}.{inner.name}"] = _shape(inner)
        elif _is_test(node):
            found[node.name] = _shape(node)
    return found


def _is_test(node: ast.stmt) -> TypeGuard[ast.FunctionDef | ast.AsyncFunctionDef]:
    return isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test")


def _shape(test: ast.FunctionDef | ast.AsyncFunctionDef) -> TestShape:
    return TestShape(
        assertions=tuple(_assertions(test)),
        cases=tuple(case for decorator in test.decorator_list for case in _cases(decorator)),
        caught=sum(_catches(node) for node in ast.walk(test)),
        returns=_early_returns(test),
        replaced=sum(_replaces(node) for node in ast.walk(test)),
    )


def _assertions(test: ast.AST) -> Iterator[str]:
    for node in ast.walk(test):
        match node:
            case ast.Assert():
                yield ast.dump(node.test)
            case ast.Call(func=ast.Attribute(attr="raises" | "warns")) | ast.Call(func=ast.Name(id="raises" | "warns")):
                yield ast.dump(node)
            case ast.Call(func=ast.Attribute(attr=attr)) if attr.startswith(("assert", "fail")) and attr != "fail":
                yield ast.dump(node)
            case _:
                continue


def _cases(decorator: ast.expr) -> Iterator[str]:
    """The cases of a parametrised test."""
    match decorator:
        case ast.Call(func=ast.Attribute(attr="parametrize"), args=[_, ast.List() | ast.Tuple() as values, *_]):
            yield from map(ast.dump, values.elts)
        case _:
            return


def _catches(node: ast.AST) -> bool:
    """Whether a failing assertion below this `try` is caught."""
    if not isinstance(node, ast.Try) or not any(True for inner in node.body for _ in _assertions(inner)):
        return False
    for handler in node.handlers:
        named = {name.id for name in ast.walk(handler.type) if isinstance(name, ast.Name)} if handler.type else CATCHING
        again = any(isinstance(inner, ast.Raise) for statement in handler.body for inner in ast.walk(statement))
        if named & CATCHING and not again:
            return True
    return False


def _early_returns(test: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Returns of the test itself that have assertions behind them."""
    seen = 0
    for at, statement in enumerate(test.body):
        if any(True for later in test.body[at + 1 :] for _ in _assertions(later)):
            seen += any(isinstance(inner, ast.Return) for inner in ast.walk(statement))
    return seen


def _replaces(node: ast.AST) -> bool:
    match node:
        case ast.Call(func=ast.Attribute(value=ast.Name(id="monkeypatch" | "mocker" | "mock"), attr=attr)):
            return attr in REPLACING or attr == "patch"
        case ast.Call(func=ast.Name(id="patch")) | ast.Call(func=ast.Attribute(value=ast.Name(id="patch"))):
            return True
        case _:
            return False


def skips(tree: ast.Module) -> int:
    """How often something is skipped or expected to fail."""
    count = 0
    for node in ast.walk(tree):
        match node:
            case (
                ast.Attribute(value=ast.Name(id=owner), attr=attr)
                | ast.Attribute(value=ast.Attribute(attr=owner), attr=attr)
            ):
                count += attr in SKIPPING and owner in OWNERS
            case ast.Name(id=name):
                count += name in ("skipTest", "skipif", "xfail", "skipIf", "skipUnless", "expectedFailure")
            case ast.Raise(exc=ast.Call(func=func)) if "SkipTest" in ast.dump(func):
                count += 1
            case ast.Assign(targets=[ast.Name(id="__test__")], value=ast.Constant(value=False)):
                count += 1
            case _:
                continue
    return count


def detections(tree: ast.Module) -> int:
    """How often code asks whether it is under test, ends the process as if all were well, or equals everything."""
    count = 0
    for node in ast.walk(tree):
        match node:
            case ast.Constant(value=str(text)):
                count += text in ("PYTEST_CURRENT_TEST", "PYTEST_VERSION", "PYTEST_XDIST_WORKER")
            case ast.Compare(left=left, ops=[ast.In() | ast.NotIn() | ast.Eq()], comparators=[right]):
                count += _names_runner(left) and _is_introspection(right)
            case ast.Call(func=ast.Attribute(attr="_exit"), args=[ast.Constant(value=0), *_]):
                count += 1
            case ast.FunctionDef(name="__eq__", body=body):
                last = body[-1]
                count += isinstance(last, ast.Return) and len(body) == 1 and _is_true(last.value)
            case _:
                continue
    return count + sum(_ends_import(statement) for statement in tree.body)


def _names_runner(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and str(node.value) in ("pytest", "_pytest", "unittest", "nose", "py.test")


def _is_introspection(node: ast.expr) -> bool:
    text = ast.dump(node)
    return any(f"attr='{name}'" in text for name in ("modules", "argv", "stack", "extract_stack", "currentframe"))


def _is_true(node: ast.expr | None) -> bool:
    return isinstance(node, ast.Constant) and node.value is True


def _ends_import(statement: ast.stmt) -> bool:
    """Whether importing the file ends the process with success."""
    match statement:
        case ast.Expr(value=ast.Call(func=ast.Attribute(attr="exit") | ast.Name(id="exit"), args=arguments)):
            return not arguments or (isinstance(arguments[0], ast.Constant) and arguments[0].value == 0)
        case _:
            return False


def answers(tree: ast.Module) -> set[tuple[str, str]]:
    """(asked, answered) literals of every place that gives a fixed answer to a fixed question."""
    found: set[tuple[str, str]] = set()
    for node in ast.walk(tree):
        match node:
            case ast.If(test=test, body=[ast.Return(value=value)]) | ast.IfExp(test=test, body=value):
                answer = _literal(value)
                asked = list(_asked(test))
                if answer is not None and asked:
                    found |= {(question, answer) for question in asked}
            case ast.match_case(pattern=ast.MatchValue(value=asked), body=[ast.Return(value=value)]):
                if (answer := _literal(value)) is not None and (question := _literal(asked)) is not None:
                    found.add((question, answer))
            case (
                ast.Subscript(value=ast.Dict() as table)
                | ast.Call(func=ast.Attribute(value=ast.Dict() as table, attr="get"))
            ):
                for key, value in zip(table.keys, table.values, strict=True):
                    if (question := _literal(key)) is not None and (answer := _literal(value)) is not None:
                        found.add((question, answer))
            case _:
                continue
    return found


def _asked(test: ast.expr) -> Iterator[str]:
    match test:
        case ast.Compare(ops=[ast.Eq() | ast.Is()], comparators=[side]):
            if (question := _literal(side)) is not None:
                yield question
        case ast.Compare(ops=[ast.In()], comparators=[ast.Tuple() | ast.List() | ast.Set() as sides]):
            for side in sides.elts:
                if (question := _literal(side)) is not None:
                    yield question
        case ast.BoolOp(values=values):
            for value in values:
                yield from _asked(value)
        case _:
            return


def _literal(node: ast.expr | None) -> str | None:
    """A constant, or a tuple, list, set or dict of constants, as Python writes it."""
    if node is None:
        return None
    try:
        return repr(ast.literal_eval(node))
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return None


def literals(tree: ast.Module) -> set[str]:
    """Every literal of a file as Python writes it, composed ones included."""
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant | ast.Tuple | ast.List | ast.Set | ast.Dict | ast.UnaryOp):
            text = _literal(node)
            if text is not None:
                found.add(text)
    return found
