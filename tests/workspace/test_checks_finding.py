"""How projects are tested, found from their files."""

import json
from pathlib import Path

import pytest

from tcoder.workspace.checks import find

VENV_UNITTEST = ".venv/bin/python -m unittest discover -s tests"
PYTEST_TEST = "import pytest\ndef test_x(): ...\n"
UNITTEST_TEST = "import unittest\nclass T(unittest.TestCase):\n    def test_x(self): ...\n"


def package(script: str = "", **fields: object) -> str:
    return json.dumps({"name": "x", "scripts": {"test": script} if script else {}, **fields})


def venv(name: str) -> dict[str, str]:
    return {f"{name}/bin/python": "", f"{name}/lib/python3.11/site-packages/pytest/__init__.py": ""}


CASES: list[tuple[dict[str, str], str, str, str]] = [
    ({"tests/test_a.py": PYTEST_TEST, **venv(".venv")}, ".venv/bin/python -m pytest", "pytest", ""),
    ({"pytest.ini": "[pytest]\n", "t/test_a.py": "", **venv("venv")}, "venv/bin/python -m pytest", "pytest", ""),
    ({"pyproject.toml": "[tool.pytest.ini_options]\n", **venv(".venv")}, ".venv/bin/python -m pytest", "pytest", ""),
    ({"tests/test_a.py": UNITTEST_TEST, ".venv/bin/python": ""}, VENV_UNITTEST, "unittest", ""),
    (
        {"AGENTS.md": "Run the tests with `pytest -q tests/unit`.", "tests/test_a.py": PYTEST_TEST, **venv(".venv")},
        ".venv/bin/python -m pytest -q tests/unit", "pytest", "",
    ),
    ({"manage.py": "import django", ".venv/bin/python": ""}, ".venv/bin/python manage.py test", "django", ""),
    ({"package.json": package("jest --ci")}, "npm test", "jest", ""),
    ({"package.json": package("vitest run"), "pnpm-lock.yaml": ""}, "pnpm test", "vitest", ""),
    ({"package.json": package("mocha spec"), "yarn.lock": ""}, "yarn test", "mocha", ""),
    ({"package.json": package("node --test"), "test/a.test.js": ""}, "npm test", "node", ""),
    ({"go.mod": "module x\n"}, "go test ./...", "go", ""),
    ({"Cargo.toml": "[package]\n"}, "cargo test", "cargo", ""),
    ({"pom.xml": "<project/>"}, "mvn -q -B test", "junit", ""),
    ({"gradlew": "", "build.gradle": ""}, "./gradlew test", "junit", ""),
    ({"spec/spec_helper.rb": ""}, "bundle exec rspec", "rspec", ""),
    ({"Makefile": "all:\n\ntest:\n\tsh run.sh\n"}, "make test", "generic", ""),
    ({"backend/go.mod": "module x\n", "README.md": ""}, "go test ./...", "go", "backend"),
    ({".github/workflows/ci.yml": "jobs:\n  t:\n    steps:\n      - run: make check\n"}, "make check", "generic", ""),
]  # fmt: skip


def write(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


@pytest.mark.parametrize(("files", "command", "runner", "cwd"), CASES)
def test_find(tmp_path: Path, files: dict[str, str], command: str, runner: str, cwd: str) -> None:
    first = find(write(tmp_path, files))[0]
    assert (first.command, first.runner, first.cwd, first.kind) == (command, runner, cwd, "test")
    assert first.why


SITE = ".venv/lib/python3.11/site-packages"


@pytest.mark.parametrize(
    ("installed", "told"),
    [
        ({}, True),
        ({f"{SITE}/other/__init__.py": "", f"{SITE}/other.pth": "/elsewhere/src"}, True),
        ({f"{SITE}/pkg/__init__.py": ""}, False),
        ({f"{SITE}/__editable__.pkg-1.pth": "ROOT/src\n"}, False),
        ({f"{SITE}/__editable___pkg_finder.py": "MAPPING = {'pkg': 'ROOT/src/pkg'}"}, False),
    ],
)
def test_an_environment_is_told_of_a_package_below_src_that_is_not_installed_in_it(
    tmp_path: Path, installed: dict[str, str], told: bool
) -> None:
    files = {"tests/test_a.py": PYTEST_TEST, "src/pkg/__init__.py": "", **venv(".venv")}
    files |= {name: text.replace("ROOT", str(tmp_path)) for name, text in installed.items()}
    command = find(write(tmp_path, files))[0].command
    assert command == ("PYTHONPATH=src " if told else "") + ".venv/bin/python -m pytest"


@pytest.mark.parametrize(
    "files",
    [{}, {"README.md": "hello"}, {"package.json": "{broken"}, {"package.json": package("echo no test specified")},
     {"pyproject.toml": "broken ["}, {"package.json": "[]"}, {"main.py": "print(1)"}],
)  # fmt: skip
def test_nothing_is_invented(tmp_path: Path, files: dict[str, str]) -> None:
    assert find(write(tmp_path, files)) == ()


@pytest.mark.parametrize(
    ("override", "runner"),
    [("pytest -x", "pytest"), ("python -m unittest", "unittest"), ("npx jest", "jest"), ("go test ./x", "go"),
     ("make test", "generic"), ("cargo nextest run", "cargo"), ("./run.sh", "generic"), ("npm test", "vitest")],
)  # fmt: skip
def test_what_a_person_set_stands_alone(tmp_path: Path, override: str, runner: str) -> None:
    write(tmp_path, {"package.json": package("vitest run"), "tests/test_a.py": PYTEST_TEST})
    (found,) = find(tmp_path, override=override)
    assert (found.command, found.runner, found.why) == (override, runner, "set by a person")


def test_linters_are_found_beside_the_tests(tmp_path: Path) -> None:
    write(tmp_path, {"pyproject.toml": "[tool.ruff]\n[tool.mypy]\n[tool.pytest]\n", **venv(".venv")})
    assert [(command.command, command.kind) for command in find(tmp_path)] == [
        (".venv/bin/python -m pytest", "test"),
        ("ruff check .", "lint"),
        ("mypy .", "types"),
    ]


@pytest.mark.parametrize(("wanted", "command"), [("", "python3 -m pytest"), ("3.12.1\n", None)])
def test_a_shim_of_pyenv_stands_for_the_version_that_is_chosen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wanted: str, command: str | None
) -> None:
    pyenv = write(
        tmp_path / "pyenv",
        {
            "shims/python3": "#!/bin/sh\n",
            "version": "3.11.7\n",
            "versions/3.11.7/bin/python": "",
            "versions/3.11.7/lib/python3.11/site-packages/pytest/__init__.py": "",
            "versions/3.12.1/bin/python": "",
        },
    )
    (pyenv / "shims/python3").chmod(0o755)
    monkeypatch.setenv("PATH", str(pyenv / "shims"))
    monkeypatch.delenv("VIRTUAL_ENV", raising=False)
    files = {"tests/test_a.py": PYTEST_TEST} | ({".python-version": wanted} if wanted else {})
    found = find(write(tmp_path / "project", files))[0]
    assert found.command == command or (command is None and "tcoder's" in found.why)
