"""What a search shows: bounded, every path once, every line once."""

import pytest

from tcoder.index.references import implements
from tcoder.index.searching import MAX_TEXT, present
from tcoder.index.tags import tags
from tcoder.protocol.location import SearchHit


def test_every_path_and_line_stands_once() -> None:
    hits = [SearchHit("b.py", 3, "x"), SearchHit("a.py", 1, "x"), SearchHit("b.py", 9, "y"), SearchHit("b.py", 3, "x")]
    found = present(hits, more=False)
    assert found.text == "b.py\n  3: x\n  9: y\na.py\n  1: x"
    assert (len(found.hits), found.more) == (3, 0)


def test_every_file_shows_some_before_one_shows_all() -> None:
    hits = [SearchHit("a.py", n, "x") for n in range(1, 21)] + [SearchHit("b.py", 1, "y")]
    found = present(hits, more=False)
    assert found.text.splitlines()[9:] == [
        "  … 12 more here",
        "b.py",
        "  1: y",
        "… 12 more matches; narrow the pattern or the path",
    ]


@pytest.mark.parametrize("files", [1, 3, 60])
def test_a_result_is_bounded(files: int) -> None:
    hits = [SearchHit(f"folder/{n % files:02}.py", n, "w" * 160) for n in range(60)]
    found = present(hits, more=True)
    assert len(found.text) < MAX_TEXT + 100
    assert found.hits
    assert found.more == -1


def test_what_is_left_out_is_said() -> None:
    assert present([], more=False, problem="7% of the files are parsed so far").text == (
        "no matches\n(7% of the files are parsed so far)"
    )


@pytest.mark.parametrize(
    ("language", "text", "expected"),
    [
        ("python", "class A(m.Base, metaclass=Meta): pass\nclass B(Other[Base]): pass\nclass C(Basic): pass\n", "A B"),
        ("python", "class Base: pass\nclass A(x=Base): pass\n", ""),
        (
            "typescript",
            "class A extends Base {}\ninterface B extends X, Base {}\nclass C implements Base {}\n",
            "A B C",
        ),
        ("javascript", "class A extends m.Base {}\nclass Base {}\n", "A"),
        ("java", "class A extends X implements Base {}\nclass B {}\nclass C<T extends Base> {}\n", "A"),
        ("csharp", "class A : X, Base {}\nclass B {}\n", "A"),
        ("cpp", "class A : public Base {};\nstruct B : X {};\n", "A"),
        ("kotlin", "class A(val x: Int) : Base() {}\nclass B(val x: Base) {}\n", "A"),
        ("scala", "class A(x: Int) extends X with Base { }\nclass B\n", "A"),
        ("rust", "impl Base for A { fn f() {} }\nimpl Base { fn g() {} }\n", "A"),
        ("ruby", "class A < Base\nend\nclass B\nend\n", "A"),
        ("php", "<?php\nclass A extends X implements Base {}\nclass B {}\n", "A"),
        ("swift", "class A: X, Base { }\nclass B { }\n", "A"),
    ],
)
def test_implementers(language: str, text: str, expected: str) -> None:
    found = [span.symbol.name for span in tags(text.encode(), language).spans if implements(span.symbol, "Base")]
    assert " ".join(found) == expected
