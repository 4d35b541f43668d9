"""What was done to tests in JavaScript, TypeScript, Go and Rust: on the syntax tree of the index's grammars."""

import re
from collections.abc import Iterator

from tcoder.agent.equivalence import tokens
from tcoder.agent.integrity_shape import TestShape
from tcoder.index.syntax import Piece, tree

_JS_TEST = re.compile(r"^(x|f)?(it|test|specify|describe|context|suite)((?:\.\w+)*)$")
_JS_OFF = frozenset({"skip", "todo", "failing", "fails", "fixme"})
_JS_CHECK = re.compile(r"^(?:await\s+)?(?:expect|assert|should|chai|t)\b(?!\.(?:test|plan|skip|todo|diagnostic)\b)")
_GO_CHECK = re.compile(r"^(?:t|b|tb|f)\.(?:Error|Fatal|Fail)\w*$|^(?:assert|require|is|c|qt|cmp|td)\.\w+$")
_GO_OFF = re.compile(r"^(?:t|b|tb|f)\.Skip(?:Now|f)?$")
_RUST_OFF = re.compile(r"\[\s*(?:ignore|should_panic)\b")
_RUST_TEST = re.compile(r"\[\s*(?:[\w:]+::)?(?:test|rstest|test_case)\b")


def shapes(path: str, source: str) -> dict[str, TestShape]:
    """The tests of a file by name; empty for a language that is not known here."""
    reader = _READERS.get(path.rpartition(".")[2].lower())
    if reader is None:
        return {}
    root = tree(path, source)
    return dict(reader(path, root)) if root is not None else {}


def _plain(path: str, piece: Piece) -> str:
    return " ".join(tokens(path, piece.text))


def _called(piece: Piece) -> str:
    """What a call expression calls, without white space."""
    return re.sub(r"\s+", "", piece.children[0].text) if piece.children else ""


# -- JavaScript and TypeScript


def _javascript(path: str, root: Piece) -> Iterator[tuple[str, TestShape]]:
    waiting: list[tuple[Piece, str, bool]] = [(root, "", False)]
    while waiting:
        piece, owner, off = waiting.pop()
        below = piece.children
        if piece.kind == "call_expression" and (test := _js_test(piece)) is not None:
            name, group, skipped = test
            full = f"{owner} > {name}" if owner else name
            if group:
                waiting += [(child, full, off or skipped) for child in reversed(below)]
                continue
            yield (
                full,
                TestShape(
                    assertions=tuple(_js_assertions(path, piece)),
                    cases=tuple(_js_cases(path, piece)),
                    caught=sum(one.kind == "try_statement" and _js_catches(one) for one in piece.walk()),
                    skipped=off or skipped,
                ),
            )
            continue
        waiting += [(child, owner, off) for child in reversed(below)]


def _js_test(call: Piece) -> tuple[str, bool, bool] | None:
    """Name, whether it is a group, whether it is switched off; None for any other call. The last call of
    `test.each(table)(name, fn)` is the test."""
    called = _called(call)
    called = called.partition("(")[0] if called.endswith((")", "`")) else called
    called = called.partition("`")[0]
    found = _JS_TEST.match(called)
    arguments = call.children[-1].children if len(call.children) > 1 else []
    if not found or not arguments or arguments[0].kind not in ("string", "template_string"):
        return None
    words = set(found[3].split("."))
    return (
        arguments[0].text.strip("\"'`"),
        found[2] in ("describe", "context", "suite"),
        bool(found[1] == "x" or words & _JS_OFF),
    )


def _js_assertions(path: str, test: Piece) -> Iterator[str]:
    waiting = [*reversed(test.children)]
    while waiting:
        piece = waiting.pop()
        if piece.kind == "call_expression" and _JS_CHECK.match(piece.text):
            yield _plain(path, piece)
            continue
        waiting += reversed(piece.children)


def _js_cases(path: str, test: Piece) -> Iterator[str]:
    """The rows of `test.each([…])`."""
    head = test.children[0] if test.children else None
    if head is not None and head.kind == "call_expression" and ".each" in head.text[:40]:
        for table in head.walk():
            if table.kind == "array":
                yield from (_plain(path, row) for row in table.children)
                return


def _js_catches(piece: Piece) -> bool:
    handler = next((child for child in piece.children if child.kind == "catch_clause"), None)
    body = piece.children[0].text if piece.children else ""
    return handler is not None and bool(re.search(r"\b(?:expect|assert)\b", body)) and "throw" not in handler.text


# -- Go


def _go(path: str, root: Piece) -> Iterator[tuple[str, TestShape]]:
    for function in root.children:
        if function.kind != "function_declaration" or not function.children:
            continue
        name = function.children[0].text
        if not re.match(r"(?:Test|Fuzz|Example)", name):
            continue
        yield (
            name,
            TestShape(
                assertions=tuple(_go_assertions(path, function)),
                cases=tuple(
                    _plain(path, row)
                    for table in function.walk()
                    if table.kind == "literal_value" and any(one.kind == "literal_element" for one in table.children)
                    for row in table.children
                    if row.text.startswith("{")
                ),
                skipped=any(one.kind == "call_expression" and _GO_OFF.match(_called(one)) for one in function.walk()),
            ),
        )


def _go_assertions(path: str, function: Piece) -> Iterator[str]:
    """Conditions under which the test fails, and calls of assertion libraries."""
    for piece in function.walk():
        if piece.kind == "if_statement" and any(_go_fails(one) for one in piece.walk()):
            block = next((at for at, child in enumerate(piece.children) if child.kind == "block"), len(piece.children))
            yield " ; ".join(_plain(path, child) for child in piece.children[:block])
        elif piece.kind == "call_expression" and re.match(r"(?:assert|require|is|c|qt|td)\.", _called(piece)):
            yield _plain(path, piece)
        elif _go_fails(piece):
            yield "fails"


def _go_fails(piece: Piece) -> bool:
    return piece.kind == "call_expression" and bool(_GO_CHECK.match(_called(piece)))


# -- Rust


def _rust(path: str, root: Piece) -> Iterator[tuple[str, TestShape]]:
    waiting: list[tuple[Piece, str]] = [(root, "")]
    while waiting:
        piece, owner = waiting.pop()
        attributes: list[str] = []
        for child in piece.children:
            if child.kind == "attribute_item":
                attributes.append(child.text)
                continue
            if child.kind == "function_item" and any(_RUST_TEST.search(text) for text in attributes):
                name = next((one.text for one in child.children if one.kind == "identifier"), "?")
                yield (
                    f"{owner}{name}",
                    TestShape(
                        assertions=tuple(
                            _plain(path, one)
                            for one in child.walk()
                            if one.kind == "macro_invocation"
                            and re.match(r"(?:\w+::)*(?:assert|debug_assert)\w*\s*!", one.text)
                        ),
                        cases=tuple(
                            " ".join(text.split()) for text in attributes if re.search(r"\bcase\b|test_case", text)
                        ),
                        skipped=any(_RUST_OFF.search(text) for text in attributes),
                    ),
                )
            elif child.kind in ("mod_item", "declaration_list"):
                name = next((one.text for one in child.children if one.kind == "identifier"), "")
                waiting.append((child, f"{owner}{name}::" if name else owner))
            if child.kind not in ("line_comment", "block_comment"):
                attributes = []


_READERS = {
    **dict.fromkeys(("js", "jsx", "mjs", "cjs", "ts", "tsx", "mts", "cts"), _javascript),
    "go": _go,
    "rs": _rust,
}


# -- answers and detections, by text

_LITERAL = r"(-?\d+(?:\.\d+)?|\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*'|`[^`\n]*`|true|false|null|nil|None)"
_ANSWERS = (
    re.compile(rf"\bif\s*\(?\s*[\w.\[\]]+\s*={{2,3}}\s*{_LITERAL}\s*\)?\s*\{{?\s*return\s+{_LITERAL}\s*[;\n}}]"),
    re.compile(rf"={{2,3}}\s*{_LITERAL}\s*\?\s*{_LITERAL}\s*:"),
    re.compile(rf"\bcase\s+{_LITERAL}\s*:\s*return\s+{_LITERAL}"),
    re.compile(rf"^\s*{_LITERAL}\s*=>\s*{_LITERAL}\s*,", re.M),
)
DETECTS = re.compile(
    r"JEST_WORKER_ID|VITEST(?:_WORKER_ID)?\b|NODE_ENV['\"\]]*\s*={2,3}\s*['\"]test['\"]"
    r"|['\"]test['\"]\s*={2,3}\s*process\.env|npm_lifecycle_event|\btypeof\s+(?:describe|it|jest|vi)\b"
    r"|\btesting\.Testing\(\)|flag\.Lookup\(\"test\.v\"\)|HasSuffix\(os\.Args\[0\],\s*\"\.test\"\)"
    r"|\bcfg!\(test\)|#\[cfg\(not\(test\)\)\]|^process\.exit\(0\)|\bos\.Exit\(0\)\s*$|PHPUNIT_|RSPEC_|defined\?\(RSpec\)",
    re.M,
)


def answers(source: str) -> set[tuple[str, str]]:
    """(asked, answered) literals of every place that gives a fixed answer to a fixed question, strings as Python
    writes them."""
    return {
        (as_python(asked), as_python(answered)) for pattern in _ANSWERS for asked, answered in pattern.findall(source)
    }


def literals(source: str) -> set[str]:
    return {as_python(text) for text in re.findall(_LITERAL, source)}


def as_python(text: str) -> str:
    return repr(text[1:-1]) if text[:1] in "\"'`" else text


def only(source: str) -> int:
    """How often a test says that it alone runs."""
    return len(re.findall(r"\b(?:it|test|describe|context|suite|specify)\.only\b|\bf(?:it|describe)\s*\(", source))
