"""Finds the prompts and plugins that ship with tcoder, in a checkout and in an installed wheel."""

from functools import cache
from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent


def _shipped(in_wheel: str, in_checkout: str) -> Path:
    packaged = _PACKAGE / in_wheel
    return packaged if packaged.is_dir() else _PACKAGE.parent / in_checkout


@cache
def prompt(name: str) -> str:
    """Text of `prompts/NAME.md`, such as `system/agent` or `tools/read`, without surrounding white space."""
    path = _shipped("prompts", "prompts") / f"{name}.md"
    return path.read_text(encoding="utf-8").strip()


def plugin_folder() -> Path:
    """The folder that holds one folder per shipped plugin."""
    return _shipped("shipped_plugins", "plugins")
