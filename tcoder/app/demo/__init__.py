"""The built-in demo: a toy repository with a bug, and a model that plays a script and needs nothing."""

import tempfile
from pathlib import Path

SCRIPT = Path(__file__).with_name("script.json")
FILES = {
    "retry.py": '''"""Waiting times between tries."""


def delays(tries: int, base: float = 1.0, cap: float = 8.0) -> list[float]:
    """Seconds to wait before each try: doubling, and never more than `cap`."""
    return [base * 2**n for n in range(tries)]
''',
    "test_retry.py": """import unittest

from retry import delays


class Delays(unittest.TestCase):
    def test_doubles(self) -> None:
        self.assertEqual(delays(3), [1.0, 2.0, 4.0])

    def test_is_capped(self) -> None:
        self.assertEqual(delays(5), [1.0, 2.0, 4.0, 8.0, 8.0])
""",
    "README.md": "# A toy\n\nOne test fails. It is yours to try things on; it is gone when you leave.\n",
}


def make() -> Path:
    """A fresh toy repository in a folder of its own below the temporary folder."""
    folder = Path(tempfile.mkdtemp(prefix="tcoder-demo-")) / "toy"
    folder.mkdir()
    for name, text in FILES.items():
        (folder / name).write_text(text, encoding="utf-8")
    return folder
