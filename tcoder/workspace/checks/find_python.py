"""How a Python project is tested: the runner from its configuration and tests, the interpreter from its environment."""

import os
import re
import shutil
import sys
from importlib.util import find_spec
from pathlib import Path

from msgspec import Struct

from tcoder.protocol.checks import CheckCommand
from tcoder.workspace.checks.evidence import Evidence, table

VENVS = (".venv", "venv", "env", ".env")
OWN = "is its environment"
MANAGERS = (
    ("uv.lock", "uv", "uv run"),
    ("poetry.lock", "poetry", "poetry run"),
    ("Pipfile.lock", "pipenv", "pipenv run"),
)
DEPENDENCY_FILES = (
    "requirements.txt", "requirements-dev.txt", "requirements_dev.txt", "dev-requirements.txt", "test-requirements.txt",
    "requirements-test.txt", "requirements/dev.txt", "requirements/test.txt", "setup.py", "setup.cfg", "tox.ini",
    "noxfile.py", "pyproject.toml", "Pipfile",
)  # fmt: skip
_PYTEST_IMPORT = re.compile(r"^\s*(?:import pytest|from pytest)\b", re.M)
_PYTEST_STYLE = re.compile(r"^(?:async )?def test_\w+\(", re.M)
_UNITTEST_STYLE = re.compile(r"\bunittest\b|\(TestCase\)|\.TestCase\)")
_PYTEST_NAMED = re.compile(r"\bpytest\b")


class Interpreter(Struct, frozen=True):
    """`prefix` begins a command (`.venv/bin/python`, `poetry run python`); `has_pytest` None = not known."""

    prefix: str
    why: str
    has_pytest: bool | None


def find(evidence: Evidence) -> list[CheckCommand]:
    """Best first; empty when there are no Python tests."""
    if evidence.has("manage.py") and "django" in evidence.text("manage.py").lower() and not _pytest_evidence(evidence):
        python = interpreters(evidence)[0]
        return [CheckCommand(f"{python.prefix} manage.py test", "django", why=f"manage.py; {python.why}")]
    configured = _pytest_evidence(evidence)
    texts = evidence.python_tests
    if not configured and not texts:
        return []
    known = interpreters(evidence)
    with_pytest = next((one for one in known if one.has_pytest is not False), None)
    unittest_style = any(_UNITTEST_STYLE.search(text) for text in texts)
    pytest_style = any(_PYTEST_STYLE.search(text) or _PYTEST_IMPORT.search(text) for text in texts)
    wants_pytest = configured or ("test functions" if pytest_style else "")
    found: list[CheckCommand] = []
    if wants_pytest:
        python = with_pytest or known[0]
        command = f"{_source_path(evidence, python)}{python.prefix} -m pytest"
        found.append(CheckCommand(command, "pytest", why=f"{wants_pytest}; {python.why}"))
    if unittest_style and not configured:
        command = (
            f"{_source_path(evidence, known[0])}{known[0].prefix} -m unittest discover{_discover_options(evidence)}"
        )
        plain = CheckCommand(command, "unittest", why=f"unittest test cases; {known[0].why}")
        found.insert(1 if pytest_style else 0, plain)
        if with_pytest and not pytest_style:
            also = f"runs unittest test cases too; {with_pytest.why}"
            command = f"{_source_path(evidence, with_pytest)}{with_pytest.prefix} -m pytest"
            found.append(CheckCommand(command, "pytest", why=also))
    return found


def _source_path(evidence: Evidence, python: Interpreter) -> str:
    """An interpreter must be told of packages below `src`, unless they are installed in an environment of the
    project's own, or a manager sees to that."""
    packages = [found.parent.name for found in (evidence.root / "src").glob("*/__init__.py")]
    if not packages or python.has_pytest is None:
        return ""
    if python.why.endswith(OWN):
        environment = evidence.root / python.prefix.removesuffix("/bin/python")
        if all(_is_installed(environment, evidence.root / "src", package) for package in packages):
            return ""
    return "PYTHONPATH=src "


def _is_installed(environment: Path, source: Path, package: str) -> bool:
    """Whether a package is in an environment, copied or by a link to its source."""
    for place in environment.glob("lib/python3*/site-packages"):
        if (place / package / "__init__.py").is_file():
            return True
        links = [*place.glob("*.pth"), *place.glob("__editable__*.py"), *place.glob("*.egg-link")]
        if any(_names(link, str(source)) for link in links):
            return True
    return False


def _names(link: Path, folder: str) -> bool:
    try:
        return folder in link.read_text("utf-8", "replace")
    except OSError:
        return False  # what cannot be read says nothing


def _pytest_evidence(evidence: Evidence) -> str:
    """What says that the project uses pytest, empty when nothing does."""
    if table(evidence.pyproject, "tool", "pytest"):
        return "pyproject.toml configures pytest"
    for name, section in (("pytest.ini", "["), ("setup.cfg", "[tool:pytest]"), ("tox.ini", "[pytest]")):
        if section in evidence.text(name):
            return f"{name} configures pytest"
    conftest = evidence.has("conftest.py", "tests/conftest.py", "test/conftest.py")
    if conftest:
        return conftest
    for name in DEPENDENCY_FILES:
        if _PYTEST_NAMED.search(evidence.text(name)):
            return f"{name} names pytest"
    return ""


def _discover_options(evidence: Evidence) -> str:
    """`discover` finds only packages below the top: a test folder without `__init__.py` must be named."""
    for name in ("tests", "test"):
        if (evidence.root / name).is_dir():
            return f" -s {name}" + (" -t ." if (evidence.root / name / "__init__.py").exists() else "")
    return ""


def interpreters(evidence: Evidence) -> list[Interpreter]:
    """The interpreters that the project may mean, best first; never empty."""
    found = [
        Interpreter(f"{name}/bin/python", f"{name} {OWN}", _has_pytest(evidence.root / name))
        for name in VENVS
        if (evidence.root / name / "bin" / "python").exists()
    ]
    active = os.environ.get("VIRTUAL_ENV", "")
    if active and (Path(active) / "bin" / "python").exists() and Path(active) != Path(sys.prefix):
        found.append(Interpreter(f"{active}/bin/python", "the active environment", _has_pytest(Path(active))))
    for lock, tool, prefix in MANAGERS:
        if evidence.has(lock) and shutil.which(tool) and not found:
            found.append(Interpreter(f"{prefix} python", lock, None))
    if table(evidence.pyproject, "tool", "hatch", "envs") and shutil.which("hatch") and not found:
        found.append(Interpreter("hatch run python", "hatch environments in pyproject.toml", None))
    found.append(_from_path(evidence))
    if sys.prefix != sys.base_prefix or found[-1].prefix != sys.executable:
        own = find_spec("pytest") is not None
        found.append(Interpreter(sys.executable, "no environment of its own was found, so tcoder's", own))
    return found


def _from_path(evidence: Evidence) -> Interpreter:
    for name in ("python3", "python"):
        path = shutil.which(name)
        if path:
            return Interpreter(name, f"{name} on the PATH", _has_pytest(_prefix(Path(path), evidence)))
    return Interpreter(sys.executable, "there is no Python on the PATH", find_spec("pytest") is not None)


def _prefix(program: Path, evidence: Evidence) -> Path:
    """The installation that `program` belongs to. A shim of pyenv stands for the version that the project's
    `.python-version` names, else for the user's own choice."""
    if program.parent.name == "shims":
        root = program.parent.parent
        chosen = root / "version"
        names = f"{evidence.text('.python-version')} {chosen.read_text() if chosen.is_file() else ''}".split()
        for name in names:
            if "/" not in name and (root / "versions" / name / "bin").is_dir():
                return root / "versions" / name
    return program.resolve().parent.parent


def _has_pytest(prefix: Path) -> bool:
    patterns = (
        "lib/python3*/site-packages/pytest",
        "lib/python3*/dist-packages/pytest",
        "lib/python3/dist-packages/pytest",
    )
    return any(next(prefix.glob(pattern), None) for pattern in patterns)
