"""How projects in other languages are tested, and the linters and type checkers that a project has configured."""

from typing import Literal

from tcoder.protocol.checks import CheckCommand
from tcoder.workspace.checks.evidence import Evidence, table

NO_TEST = "no test specified"


def find(evidence: Evidence) -> list[CheckCommand]:
    """Best first; empty when nothing is known."""
    found = _javascript(evidence)
    for names, command, runner in (
        (("go.mod",), "go test ./...", "go"),
        (("Cargo.toml",), "cargo test", "cargo"),
        (("mvnw",), "./mvnw -q -B test", "junit"),
        (("pom.xml",), "mvn -q -B test", "junit"),
        (("gradlew",), "./gradlew test", "junit"),
        (("build.gradle", "build.gradle.kts"), "gradle test", "junit"),
        ((".rspec", "spec/spec_helper.rb"), "bundle exec rspec", "rspec"),
        (("phpunit.xml", "phpunit.xml.dist"), "vendor/bin/phpunit", "phpunit"),
        (("mix.exs",), "mix test", "generic"),
        (("build/CTestTestfile.cmake",), "ctest --test-dir build --output-on-failure", "ctest"),
    ):
        if (name := evidence.has(*names)) and not any(command.startswith(other.command) for other in found):
            found.append(CheckCommand(command, runner, why=name))
    if not found and next(evidence.root.glob("*.sln"), None):
        found.append(CheckCommand("dotnet test", "generic", why="a solution file"))
    if not found and (target := _make_target(evidence)):
        found.append(CheckCommand(f"make {target}", "generic", why=f"Makefile has a target {target}"))
    return found


def _javascript(evidence: Evidence) -> list[CheckCommand]:
    package = evidence.package_json
    if not package:
        return []
    script = table(package, "scripts").get("test")
    if isinstance(script, str) and script and NO_TEST not in script:
        return [
            CheckCommand(
                f"{_manager(evidence)} test", script_runner(evidence), why=f"package.json tests with `{script[:80]}`"
            )
        ]
    for name, command in (("vitest", "npx vitest run"), ("jest", "npx jest"), ("mocha", "npx mocha")):
        if (evidence.root / "node_modules" / ".bin" / name).exists():
            return [CheckCommand(command, name, why=f"{name} is installed")]
    return []


def _manager(evidence: Evidence) -> str:
    lock = evidence.has("pnpm-lock.yaml", "yarn.lock", "bun.lockb")
    return {"pnpm-lock.yaml": "pnpm", "yarn.lock": "yarn", "bun.lockb": "bun"}.get(lock, "npm")


def script_runner(evidence: Evidence) -> str:
    """Which runner the `test` script of package.json starts."""
    script = str(table(evidence.package_json, "scripts").get("test", ""))
    for name in ("vitest", "jest", "mocha"):
        if name in script:
            return name
    if "node" in script and "--test" in script:
        return "node"
    needed = {**table(evidence.package_json, "devDependencies"), **table(evidence.package_json, "dependencies")}
    if "react-scripts" in script:
        return "jest"
    return next((name for name in ("vitest", "jest", "mocha") if name in needed and "run" in script), "generic")


def _make_target(evidence: Evidence) -> str:
    text = evidence.any_text("Makefile", "makefile", "GNUmakefile")
    return next((name for name in ("test", "tests", "check") if f"\n{name}:" in f"\n{text}"), "")


ESLINT = ("eslint.config.js", "eslint.config.mjs", ".eslintrc.json", ".eslintrc.js", ".eslintrc.cjs")


def linters(evidence: Evidence) -> list[CheckCommand]:
    """Linters and type checkers that the project has configured."""
    tool = table(evidence.pyproject, "tool")
    known: tuple[tuple[str, bool, str, Literal["lint", "types"]], ...] = (
        ("ruff", "ruff" in tool or bool(evidence.has("ruff.toml", ".ruff.toml")), "ruff check .", "lint"),
        ("mypy", "mypy" in tool or bool(evidence.has("mypy.ini", ".mypy.ini")), "mypy .", "types"),
        ("pyright", "pyright" in tool or bool(evidence.has("pyrightconfig.json")), "pyright", "types"),
        ("tsc", bool(evidence.has("tsconfig.json")), "npx --no-install tsc --noEmit", "types"),
        ("eslint", bool(evidence.has(*ESLINT)), "npx --no-install eslint .", "lint"),
        ("go vet", bool(evidence.has("go.mod")), "go vet ./...", "lint"),
        ("clippy", bool(evidence.has("clippy.toml", ".clippy.toml")), "cargo clippy", "lint"),
    )
    return [
        CheckCommand(command, "generic", kind, why=f"{name} is configured")
        for name, configured, command, kind in known
        if configured
    ]
