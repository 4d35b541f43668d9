"""What kind of place a folder is, found without running anything."""

from pathlib import Path

MAX_POINTER_BYTES = 4096


def find_root(start: Path) -> Path:
    """The work tree around `start`: the nearest folder with a `.git`, else `start` itself. An empty folder of that
    name is none: a sandbox that was killed may have left it behind."""
    for folder in (start, *start.parents):
        entry = folder / ".git"
        if entry.exists() and not is_empty_folder(entry):
            return folder
    return start


def is_empty_folder(path: Path) -> bool:
    """Whether `path` is a folder of our reach with nothing in it."""
    try:
        return path.is_dir() and not any(path.iterdir())
    except OSError:
        return False


def git_dir_of(root: Path) -> Path | None:
    """The git directory of a work tree, also of a linked one or a submodule; None outside git."""
    entry = root / ".git"
    if entry.is_dir():
        return entry if (entry / "HEAD").exists() else None
    try:
        text = entry.read_bytes()[:MAX_POINTER_BYTES].decode("utf-8", "replace")
    except OSError:
        return None
    name, _, target = text.partition(":")
    if name.strip() != "gitdir":
        return None
    pointed = (root / target.strip()).resolve()
    return pointed if (pointed / "HEAD").exists() else None


def branch_of(root: Path) -> str:
    """The branch that is checked out, a short commit id when none is, empty outside git."""
    git_dir = git_dir_of(root)
    if git_dir is None:
        return ""
    head = (git_dir / "HEAD").read_bytes()[:MAX_POINTER_BYTES].decode("utf-8", "replace").strip()
    return head.removeprefix("ref: refs/heads/") if head.startswith("ref: ") else head[:8]
