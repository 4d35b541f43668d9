"""Which files there are: those git knows or would add, else a bounded walk. Nothing of the repository is run."""

import os
import subprocess
from pathlib import Path

MAX_FILES = 60_000
TIMEOUT_S = 20.0
SKIPPED = frozenset(
    {".git", "node_modules", ".venv", "venv", "__pycache__", "dist", "build", "target", ".tox", ".mypy_cache", "vendor"}
)
GIT = (
    "git", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "-c", "core.untrackedCache=false",
    "ls-files", "-z", "--cached", "--others", "--exclude-standard",
)  # fmt: skip


def list_files(root: Path) -> tuple[str, ...]:
    """Paths relative to `root`, sorted; a walk is bounded by `MAX_FILES`."""
    if (root / ".git").exists():
        environment = {"PATH": os.environ.get("PATH", os.defpath), "GIT_OPTIONAL_LOCKS": "0", "LC_ALL": "C"}
        try:
            done = subprocess.run(GIT, cwd=root, capture_output=True, timeout=TIMEOUT_S, check=True, env=environment)
        except (OSError, subprocess.SubprocessError):
            return _walk(root)
        names = (os.fsdecode(name) for name in done.stdout.split(b"\0") if name)
        return tuple(sorted(name for name in set(names) if os.path.isfile(root / name))[:MAX_FILES])
    return _walk(root)


def _walk(root: Path) -> tuple[str, ...]:
    found: list[str] = []
    for folder, folders, files in os.walk(root):
        folders[:] = sorted(name for name in folders if name not in SKIPPED and not name.startswith("."))
        base = os.path.relpath(folder, root)
        found += [name if base == "." else f"{base}/{name}" for name in sorted(files)]
        if len(found) >= MAX_FILES:
            break
    return tuple(sorted(found[:MAX_FILES]))
