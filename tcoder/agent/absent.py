"""Test files that cannot be imported because the environment lacks a package: nothing in the repository is wrong."""

import re
from collections.abc import Callable, Iterable

from tcoder.protocol.checks import TestResult

_PYTHON = re.compile(r"ModuleNotFoundError: No module named '([\w.]+)'")
_NODE = re.compile(r"Cannot find (?:module|package) '([^'./][^']*)'")


def packages(failing: Iterable[TestResult], is_ours: Callable[[str], bool]) -> dict[str, str]:
    """Ids of the tests that miss a package, each with its name. `is_ours` says whether the repository itself has a
    module of that name, which a change of the code may then have broken."""
    found: dict[str, str] = {}
    for test in failing:
        if missing := _PYTHON.search(test.message):
            name = missing[1].partition(".")[0]
        elif missing := _NODE.search(test.message):
            name = "/".join(missing[1].split("/")[: 2 if missing[1].startswith("@") else 1])
        else:
            continue
        if not is_ours(name):
            found[test.id] = name
    return found


def tell(absent: dict[str, str], command: str) -> str:
    """One sentence for the person: what is missing, and what to do."""
    names = ", ".join(sorted(set(absent.values())))
    tests = ", ".join(list(absent)[:5])
    return (
        f"{tests} cannot be run: {names} is not installed where `{command}` runs. "
        "Install it there, or choose another environment with --test-cmd"
    )
