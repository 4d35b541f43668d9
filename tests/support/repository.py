"""Small git repositories for tests, and what must not change in them."""

import os
import subprocess
from pathlib import Path

NEUTRAL = {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1", "LC_ALL": "C", "GIT_OPTIONAL_LOCKS": "0"}


def git(root: Path, *arguments: str, data: bytes = b"", check: bool = True) -> str:
    """Plain git, as the user would run it."""
    env = {**os.environ, **NEUTRAL}
    done = subprocess.run(
        ["git", "-c", "diff.autoRefreshIndex=false", *arguments], cwd=root, env=env, input=data, capture_output=True
    )
    if check and done.returncode:
        raise AssertionError(f"git {arguments}: {done.stderr.decode()}")
    return done.stdout.decode("utf-8", "surrogateescape")


def make(root: Path, files: dict[str, str | bytes] | None = None, *init: str, commit: bool = True) -> Path:
    """A repository with one commit of these files."""
    root.mkdir(parents=True, exist_ok=True)
    git(root, "init", "-q", "-b", "main", *init)
    identify(root)
    put(root, files if files is not None else {"a.txt": numbered(12), "sub/b.py": "b = 1\n"})
    if commit:
        git(root, "add", "-A")
        git(root, "commit", "-q", "-m", "start")
    return root


def identify(root: Path) -> None:
    git(root, "config", "user.name", "A Person")
    git(root, "config", "user.email", "person@localhost")
    git(root, "config", "gc.auto", "0")


def put(root: Path, files: dict[str, str | bytes]) -> None:
    for name, content in files.items():
        place = root / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content if isinstance(content, bytes) else content.encode())


def numbered(count: int, **changed: str) -> str:
    """Lines `1` … `count`; `_3="x"` puts `x` in the place of line 3."""
    return "".join(f"{changed.get(f'_{number}', number)}\n" for number in range(1, count + 1))


def tree(root: Path) -> dict[str, tuple[int, bytes]]:
    """Mode and bytes of everything in the work tree but `.git`."""
    found: dict[str, tuple[int, bytes]] = {}
    for folder, folders, names in os.walk(root):
        folders[:] = [name for name in folders if name != ".git"]
        for name in set(names) - {".git"}:
            path = os.path.join(folder, name)
            mode = os.lstat(path).st_mode
            data = os.fsencode(os.readlink(path)) if os.path.islink(path) else Path(path).read_bytes()
            found[os.path.relpath(path, root)] = (mode, data)
    return found


def everything(root: Path) -> tuple[object, ...]:
    """The work tree and all of git's state that is the user's: to be compared before and after."""
    index = root / ".git" / "index"
    return (
        tree(root),
        git(root, "diff", "--no-ext-diff"),
        git(root, "diff", "--cached", "--no-ext-diff"),
        git(root, "ls-files", "-s", "-v", "--debug"),
        index.read_bytes() if index.exists() else b"",
        git(root, "stash", "list"),
        git(root, "for-each-ref", "refs/heads", "refs/tags", "refs/stash"),
        (root / ".git" / "HEAD").read_bytes() if (root / ".git").is_dir() else b"",
        git(root, "reflog", check=False),
    )
