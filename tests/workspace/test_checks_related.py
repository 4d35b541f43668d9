"""Which tests a change concerns."""

import pytest

from tcoder.workspace.checks import related

TESTS = {
    "tests/test_rates.py": "from shop.rates import amount\n",
    "tests/test_report.py": "from shop import report, rates\n",
    "tests/test_other.py": "import os\n\nrates = 3\n",
    "test/cart.spec.js": "const { add } = require('../src/cart');\n",
    "test/all.test.ts": "import { add } from '../src/cart.js';\n",
}


@pytest.mark.parametrize(
    ("changed", "found"),
    [
        (["shop/rates.py"], ("tests/test_rates.py", "tests/test_report.py")),
        (["shop/report.py"], ("tests/test_report.py",)),
        (["shop/__init__.py"], ("tests/test_rates.py", "tests/test_report.py")),
        (["src/cart.js"], ("test/cart.spec.js", "test/all.test.ts")),
        (["tests/test_other.py"], ("tests/test_other.py",)),
        (["shop/unknown.py"], ()),
        ([], ()),
    ],
)
def test_related(changed: list[str], found: tuple[str, ...]) -> None:
    assert related(changed, TESTS) == found
