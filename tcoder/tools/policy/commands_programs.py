"""Which programs run others, change files, or check a project: the lists of `commands_programs.toml`."""

import tomllib
from fnmatch import fnmatchcase
from functools import cache, lru_cache
from importlib import resources
from typing import Literal

import msgspec

Role = Literal[
    "shells",
    "evaluators",
    "wrappers",
    "interpreters",
    "writers",
    "copiers",
    "redefiners",
    "checkers",
    "with_subcommands",
]  # the tables of the list


@cache
def _roles() -> dict[Role, tuple[str, ...]]:
    text = resources.files("tcoder.tools.policy").joinpath("commands_programs.toml").read_text(encoding="utf-8")
    return msgspec.convert(tomllib.loads(text), dict[Role, tuple[str, ...]])


@lru_cache(maxsize=2048)
def plays(program: str, role: Role) -> bool:
    """Whether a program, named without its folder, is one of a list."""
    return any(fnmatchcase(program, listed) for listed in _roles()[role])
