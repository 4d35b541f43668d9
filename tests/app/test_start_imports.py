"""Start-up is a feature: what is imported when, as lists that fail on a newcomer."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from support.desk import Desk

TELL = """
import json, sys
from tcoder.cli import main
code = main(json.loads(sys.argv[1]))
sys.stderr.write("\\nMODULES " + json.dumps(sorted({name.partition(".")[0] for name in sys.modules})))
sys.exit(code)
"""

# Third-party packages that a headless run imports up to its first request, each because the request needs it.
FIRST_REQUEST = {
    "certifi",
    "h11",
    "httpcore",
    "httpx",
    "idna",
    "msgspec",
    "pathspec",
    "platformdirs",
    "typing_extensions",
}
NEVER_BEFORE_NEEDED = {
    "anyio", "click", "git", "pexpect", "prompt_toolkit", "ptyprocess", "pydantic", "pygments", "rich", "sqlite3",
    "textual", "tree_sitter", "tree_sitter_language_pack", "watchfiles", "xllamacpp",
}  # fmt: skip


def modules_of(arguments: list[str], cwd: Path, environment: dict[str, str]) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-c", TELL, json.dumps(arguments)],
        cwd=cwd, env=environment, capture_output=True, text=True, timeout=40, check=False,
    )  # fmt: skip
    return set(json.loads(done.stderr.rpartition("MODULES ")[2]))


def third_party(modules: set[str]) -> set[str]:
    return {
        name for name in modules
        if name not in sys.stdlib_module_names and not name.startswith(("_", "tcoder")) and name != "sitecustomize"
    }  # fmt: skip


def test_version_imports_nothing_of_ours_but_the_command_line(desk: Desk) -> None:
    modules = modules_of(["--version"], desk.root, desk.environment())
    assert third_party(modules) == set()
    assert "argparse" not in modules and "asyncio" not in modules


def test_help_waits_for_nothing_that_a_run_needs(desk: Desk) -> None:
    modules = modules_of(["--help"], desk.root, desk.environment())
    assert third_party(modules) <= {"msgspec", "typing_extensions"}
    assert "asyncio" not in modules


def test_a_headless_run_imports_only_what_its_request_needs(desk: Desk, serve: Any) -> None:
    server = serve({"text": "Hello."})
    arguments = ["--task", "what is here?", "--base-url", server.url, "-m", "scripted"]
    modules = modules_of(arguments, desk.root, desk.environment())
    assert len(server.requests) == 1
    assert modules & NEVER_BEFORE_NEEDED == set()
    assert third_party(modules) <= FIRST_REQUEST
