"""How a project is tested: from what a person set, its rules file, its own files, its CI. No process is spawned."""

import re
from pathlib import Path

from msgspec.structs import replace

from tcoder.protocol.checks import CheckCommand
from tcoder.workspace.checks import find_others, find_python
from tcoder.workspace.checks.evidence import SKIPPED, Evidence

RULE_FILES = ("AGENTS.md", "CLAUDE.md", ".github/copilot-instructions.md", "CONTRIBUTING.md", "README.md")
MAX_PACKAGES = 40
_WORD = r"(?:^|[\s;&|/\"'])"
RUNNER_WORDS: tuple[tuple[str, str], ...] = (
    (r"-m\s+unittest\b", "unittest"),
    (rf"{_WORD}manage\.py\s+test\b", "django"),
    (rf"{_WORD}(?:py\.test|pytest)\b", "pytest"),
    (rf"{_WORD}vitest\b", "vitest"),
    (rf"{_WORD}jest\b", "jest"),
    (rf"{_WORD}mocha\b", "mocha"),
    (rf"{_WORD}node\b[^|;&]*\s--test\b", "node"),
    (rf"{_WORD}go\s+test\b", "go"),
    (rf"{_WORD}cargo\s+(?:nextest|test|t)\b", "cargo"),
    (rf"{_WORD}(?:rspec)\b", "rspec"),
    (rf"{_WORD}(?:mvnw?|gradlew?)\b", "junit"),
    (rf"{_WORD}ctest\b", "ctest"),
    (rf"{_WORD}phpunit\b", "phpunit"),
)
_LAUNCHER = r"(?:(?:uv|poetry|hatch|pipenv) run |npx |bundle exec |[\w./-]*python3? )?(?:-m )?"
_PROGRAM = (
    r"(?:pytest|py\.test|unittest|jest|vitest|mocha|go test|cargo (?:nextest|test)|npm (?:run )?test\b|yarn test"
    r"|pnpm (?:run )?test|make (?:test|check)\b|tox\b|nox\b|rspec|mvn \w+|\./gradlew \w+|ctest|mix test|dotnet test)"
)
_COMMAND_LINE = re.compile(
    rf"^\s*(?:\$\s+|-\s+run:\s*|run:\s*|>\s+)?`{{0,2}}({_LAUNCHER}{_PROGRAM}[^`\n]*)`{{0,2}}", re.M
)
_INLINE = re.compile(r"[Tt]est[^`\n]{0,60}`([^`\n]+)`")


def find(root: Path, *, override: str = "") -> tuple[CheckCommand, ...]:
    """Ways to check a project, best first, each with its evidence; empty when nothing is known. `override` is what a
    person set and stands alone. Raises nothing for files that cannot be read."""
    if override.strip():
        return (CheckCommand(override.strip(), runner_of(override, Evidence(root)), why="set by a person", given=True),)
    evidence = Evidence(root)
    found = _in_folder(evidence)
    if not any(command.kind == "test" for command in found):
        found += _in_packages(root)
    said = _said(evidence)
    if not found or not any(command.kind == "test" for command in found):
        found = said + found
    else:
        found = _prefer_said(said, found)
    return _distinct(found)


def runner_of(command: str, evidence: Evidence) -> str:
    """Which runner's output a command gives, `generic` when that is not known."""
    for pattern, name in RUNNER_WORDS:
        if re.search(pattern, command):
            return name
    if re.search(r"\b(?:npm|yarn|pnpm|bun)\b.*\btest\b", command):
        return find_others.script_runner(evidence)
    return "generic"


def _in_folder(evidence: Evidence) -> list[CheckCommand]:
    return [*find_python.find(evidence), *find_others.find(evidence), *find_others.linters(evidence)]


def _in_packages(root: Path) -> list[CheckCommand]:
    """The packages of a repository that has nothing to test at its top."""
    found: list[CheckCommand] = []
    folders = [path for path in sorted(root.glob("*/")) if path.is_dir()]
    folders += [path for path in sorted(root.glob("*/*/")) if path.is_dir()]
    for folder in folders[:MAX_PACKAGES]:
        below = folder.relative_to(root)
        if any(part in SKIPPED or part.startswith(".") for part in below.parts):
            continue
        if Evidence(folder).has("pyproject.toml", "setup.py", "package.json", "go.mod", "Cargo.toml", "pom.xml"):
            found += [
                replace(command, cwd=str(below), why=f"{below}: {command.why}")
                for command in _in_folder(Evidence(folder))
            ]
    return found


def _said(evidence: Evidence) -> list[CheckCommand]:
    """Test commands that the project's own texts and CI name, in the order in which they are trusted."""
    found: list[CheckCommand] = []
    workflows = sorted((evidence.root / ".github" / "workflows").glob("*.y*ml"))[:8]
    names = [*RULE_FILES, *(str(path.relative_to(evidence.root)) for path in workflows), ".gitlab-ci.yml"]
    for name in names:
        text = evidence.text(name)
        lines = _COMMAND_LINE.findall(text)
        if name in RULE_FILES:
            lines = [line for line in _INLINE.findall(text) if _COMMAND_LINE.match(line)] + lines
        for line in lines:
            command = line.strip().rstrip("\\").strip()
            if "${{" not in command and "$" not in command and len(command) < 200:
                found.append(CheckCommand(command, runner_of(command, evidence), why=f"{name} says so"))
    return found


def _prefer_said(said: list[CheckCommand], found: list[CheckCommand]) -> list[CheckCommand]:
    """AGENTS.md speaks to agents: its command comes first, in the right environment. Others only add to the end."""
    first = next((command for command in said if command.why.startswith(("AGENTS.md", "CLAUDE.md"))), None)
    if first is None:
        return found + said
    return [_in_environment(first, found), *found, *said]


def _in_environment(command: CheckCommand, found: list[CheckCommand]) -> CheckCommand:
    """`pytest …` run by the interpreter that was found for the project."""
    same = next((other for other in found if other.runner == command.runner and other.kind == "test"), None)
    match = re.match(r"^(?:python3? -m )?(pytest|py\.test|unittest)\b(.*)$", command.command)
    if same is None or match is None or " -m " not in same.command:
        return command
    interpreter = same.command.partition(" -m ")[0]
    module = "pytest" if match[1] == "py.test" else match[1]
    why = f"{command.why}; {same.why.rpartition('; ')[2]}"
    return CheckCommand(f"{interpreter} -m {module}{match[2]}", command.runner, "test", command.cwd, why)


def _distinct(commands: list[CheckCommand]) -> tuple[CheckCommand, ...]:
    seen: dict[tuple[str, str], CheckCommand] = {}
    for command in commands:
        seen.setdefault((command.command, command.cwd), command)
    return tuple(seen.values())
