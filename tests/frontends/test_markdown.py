"""Markdown line by line: the same whether it comes at once or in pieces."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tcoder.frontends import highlight
from tcoder.frontends.lines import plain
from tcoder.frontends.markdown import Markdown, Row, inline, rows

TEXT = """# Title
Some **bold**, *soft*, `code` and ~~old~~ text.

- one
  - two
1. first

> quoted
---
```python
def f():
    return "**not bold**"
```
| a | b |
|---|---|
| 1 | 22 |

See [the page](https://example.org/x?y=1) and ![pic](http://127.0.0.1/?k=SECRET).
"""


def shown(of: list[Row]) -> list[str]:
    return [plain(row.line).rstrip() for row in of]


def test_rows() -> None:
    assert shown(rows(TEXT.rstrip("\n"))) == [
        "Title", "Some bold, soft, code and old text.", "", "• one", "  • two", "1. first", "", "│ quoted", "─" * 20,
        "  def f():", '      return "**not bold**"', "a  b", "1  22", "",
        "See the page (example.org) and pic (127.0.0.1).",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "spans"),
    [
        ("a_b_c", [("a_b_c", "text")]),
        ("2 * 3 * 4", [("2 * 3 * 4", "text")]),
        ("**x** y", [("x", "bold"), (" y", "text")]),
        ("`**x**`", [("**x**", "code")]),
        ("[a", [("[a", "text")]),
        ("[@click=app.quit]x[/]", [("[@click=app.quit]x[/]", "text")]),
        ("[b" * 5, [("[b" * 5, "text")]),
    ],
)
def test_inline(text: str, spans: list[tuple[str, str]]) -> None:
    assert [(span.text, span.role) for span in inline(text)] == spans


@given(st.lists(st.integers(1, 40), max_size=30))
def test_in_pieces_is_the_same_as_at_once(sizes: list[int]) -> None:
    whole, seen, at = Markdown(), list[Row](), 0
    for size in [*sizes, len(TEXT)]:
        at += size
        kept, new = whole.update(TEXT[:at])
        seen = [*seen[:kept], *new]
    assert shown(seen) == shown(rows(TEXT))


def test_only_what_is_new_costs() -> None:
    markdown = Markdown()
    markdown.update("line\n" * 1000)
    kept, new = markdown.update("line\n" * 1000 + "more")
    assert kept == 1000 and len(new) == 1


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("see https://example.com/a?b=1.", "https://example.com/a?b=1"),
        ("[docs](https://example.com)", "https://example.com"),
        ("[docs](javascript:alert(1))", ""),
        ("[docs](file:///etc/passwd)", ""),
        ("[d](https://exämple.com)", ""),
    ],
)
def test_only_addresses_of_the_web_can_be_clicked(text: str, url: str) -> None:
    links = [span.url for of in rows(text) for span in of.line if span.role == "link"]
    assert [link for link in links if link] == ([url] if url else [])


def test_code_in_colour_is_the_same_text() -> None:
    text = (
        'Look:\n\n```python\ndef f(a):\n    """Doc\n    string."""\n    return "x" + a  # why\n\n```\n```nosuch\nx\n```'
    )
    plain_rows, coloured = rows(text), highlight.rows(rows(text))
    assert [plain(row.line) for row in coloured] == [plain(row.line) for row in plain_rows]
    roles = {span.role for row in coloured for span in row.line}
    assert {"keyword", "string", "comment"} <= roles
