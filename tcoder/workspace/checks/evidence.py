"""The files of a project that say how it is tested, read once, in bounds, without running anything."""

import json
import tomllib
from functools import cached_property
from pathlib import Path
from typing import Any, cast

MAX_FILE = 400_000
MAX_TEST_FILES = 40
MAX_FOLDERS = 400
TEST_FOLDERS = ("tests", "test", "testing", "src", ".")
SKIPPED = frozenset({"node_modules", ".git", ".venv", "venv", "env", "build", "dist", "target", "__pycache__", ".tox"})


class Evidence:
    """What one folder holds."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def has(self, *names: str) -> str:
        """The first of `names` that is there, empty when none is."""
        return next((name for name in names if (self.root / name).exists()), "")

    def text(self, name: str) -> str:
        """A file's text, empty when it is not there, too big or not a file."""
        path = self.root / name
        try:
            if not path.is_file() or path.stat().st_size > MAX_FILE:
                return ""
            return path.read_text(encoding="utf-8", errors="replace")
        except OSError:
            return ""

    def any_text(self, *names: str) -> str:
        return "\n".join(self.text(name) for name in names)

    @cached_property
    def pyproject(self) -> dict[str, Any]:
        """`pyproject.toml`, empty when it is missing or broken."""
        try:
            return tomllib.loads(self.text("pyproject.toml"))
        except tomllib.TOMLDecodeError:
            return {}

    @cached_property
    def package_json(self) -> dict[str, Any]:
        try:
            read = json.loads(self.text("package.json") or "{}")
        except ValueError:
            return {}
        return cast("dict[str, Any]", read) if isinstance(read, dict) else {}

    @cached_property
    def python_tests(self) -> tuple[str, ...]:
        """The texts of some of the project's test files, enough to tell how they are written."""
        texts: list[str] = []
        for path in self.walk():
            if path.suffix == ".py" and (path.name.startswith("test") or path.stem.endswith("_test")):
                texts.append(self.text(str(path)))
                if len(texts) >= MAX_TEST_FILES:
                    break
        return tuple(texts)

    def walk(self) -> list[Path]:
        """Files near the top, relative, the likely test folders first, within a bound of folders."""
        found: list[Path] = []
        waiting = [Path(name) for name in TEST_FOLDERS if (self.root / name).is_dir()]
        seen: set[Path] = set()
        while waiting and len(seen) < MAX_FOLDERS:
            folder = waiting.pop(0)
            if folder in seen:
                continue
            seen.add(folder)
            try:
                entries = sorted((self.root / folder).iterdir())
            except OSError:
                continue
            for entry in entries:
                below = entry.relative_to(self.root)
                if entry.is_dir() and not entry.is_symlink():
                    if entry.name not in SKIPPED and not entry.name.startswith("."):
                        waiting.append(below)
                else:
                    found.append(below)
        return found


def table(value: dict[str, Any], *keys: str) -> dict[str, Any]:
    """A nested table, empty when it is not there or is something else."""
    for key in keys:
        below = value.get(key)
        if not isinstance(below, dict):
            return {}
        value = cast("dict[str, Any]", below)
    return value
