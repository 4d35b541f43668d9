"""Which tests go with a file, by name and by import."""

import pytest

from tcoder.index import related


@pytest.mark.parametrize(
    ("path", "importer", "statement", "expected"),
    [
        ("app/color.py", "tests/t.py", "from app.color import blend", related.IMPORTED),
        ("app/color.py", "tests/t.py", "from app import color", related.IMPORTED),
        ("app/color.py", "tests/t.py", "import app.color as c", related.IMPORTED),
        ("app/color.py", "tests/t.py", "from lib.color import blend", related.LIKELY),
        ("app/color.py", "tests/t.py", "from app import colors", 0.0),
        ("app/__init__.py", "tests/t.py", "import app", related.IMPORTED),
        ("src/a/route.ts", "src/a/__tests__/x.test.ts", 'import { go } from "../route"', related.IMPORTED),
        ("src/a/route.ts", "src/b/x.test.ts", 'import { go } from "../a/route.js"', related.IMPORTED),
        ("src/a/route.ts", "src/b/x.test.ts", 'import { go } from "./route"', 0.0),
        ("src/a/index.ts", "src/b/x.test.ts", 'import { go } from "../a"', related.IMPORTED),
        ("pkg/store/disk.go", "pkg/api/api_test.go", '"example.org/x/pkg/store"', related.IMPORTED),
        ("src/io/x/Engine.java", "test/T.java", "import io.x.Engine;", related.IMPORTED),
        ("src/server.h", "tests/unit.c", '#include "server.h"', related.LIKELY),
    ],
)
def test_imports(path: str, importer: str, statement: str, expected: float) -> None:
    assert related.imports(importer, [statement], path) == expected


def test_names_come_before_imports_and_near_before_far() -> None:
    tests = ["tests/app/test_color.py", "tests/other/test_color.py", "tests/app/test_mail.py", "tests/test_none.py"]
    importing = {"tests/app/test_mail.py": ["from app.color import x"], "tests/test_none.py": ["import os"]}
    assert related.rank(["app/color.py"], tests, importing) == (
        "tests/app/test_color.py",
        "tests/other/test_color.py",
        "tests/app/test_mail.py",
    )


def test_a_changed_test_is_its_own_test() -> None:
    assert related.rank(["tests/test_a.py"], ["tests/test_a.py", "tests/test_b.py"], {}) == ("tests/test_a.py",)
