"""What differs between two trees, as values and as a unified diff."""

from tcoder.protocol.edits import ChangeKind, FileChange
from tcoder.workspace.files.paths import quote
from tcoder.workspace.git.door import DIFF_OPTIONS, NO_INDEX, Git, check_ref
from tcoder.workspace.ledger.tree import INSIDE, path_of

KINDS: dict[str, ChangeKind] = {"A": "added", "M": "modified", "D": "deleted", "T": "mode", "R": "renamed"}
MAX_DIFF_BYTES = 400_000
MAX_DIFF_FILES = 2_000


async def compare(git: Git, before: str, after: str, *, files: int = 0) -> tuple[tuple[FileChange, ...], str]:
    """Files that differ between two trees, by path, and the unified diff, cut when it is very long. `files` is about
    how many there are; above `MAX_DIFF_FILES` there is no diff. Raises `GitError`."""
    wanted = ["--raw", "--numstat", *(["-p"] if files <= MAX_DIFF_FILES else [])]
    trees = (check_ref(before), check_ref(after))
    options = (*DIFF_OPTIONS, "--submodule=short", "-r", "-M", "-l400", "-z", *wanted)
    out = await git.run("diff-tree", *options, *trees, environment=NO_INDEX)
    changes, rest = _parse(out)
    rest = rest.replace(f"{INSIDE}/".encode(), b"/")
    diff = rest[:MAX_DIFF_BYTES].decode("utf-8", "replace")
    if len(rest) > MAX_DIFF_BYTES:
        diff = diff[: diff.rfind("\n") + 1] + f"… {len(rest) - MAX_DIFF_BYTES} more bytes\n"
    elif files > MAX_DIFF_FILES:
        diff = f"… {files} files, too many to show\n"
    return changes, diff


def _parse(out: bytes) -> tuple[tuple[FileChange, ...], bytes]:
    """Parse `diff-tree -z --raw --numstat -p`: raw records, then counts, then an empty field and the diff."""
    kinds: dict[str, tuple[ChangeKind, str]] = {}
    changes: list[FileChange] = []
    position = 0

    def field() -> str:
        nonlocal position
        end = out.find(b"\0", position)
        end = len(out) if end < 0 else end
        start, position = position, end + 1
        return path_of(out[start:end].decode("utf-8", "surrogateescape"))

    while position < len(out):
        head = field()
        if not head:
            break
        if head.startswith(":"):
            old_mode, new_mode, old, new, status = head[1:].split(" ")
            first = field()
            path, old_path = (field(), first) if status[0] in "RC" else (first, "")
            kind = KINDS.get(status[0], "modified")
            if status[0] == "M" and old_mode != new_mode and old == new:
                kind = "mode"
            kinds[path] = (kind, old_path)
            continue
        added, removed, path = head.split("\t", 2)
        if not path:
            field()
            path = field()
        kind, old_path = kinds.get(path, ("modified", ""))
        counts = (0 if added == "-" else int(added), 0 if removed == "-" else int(removed))
        changes.append(FileChange(quote(path), kind, *counts, old_path=quote(old_path)))
    return tuple(changes), out[position:]
