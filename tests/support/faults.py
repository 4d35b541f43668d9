"""Ends or fails a process of tcoder's at a chosen system call, and looks at what is left.

`strace` kills it (or makes the call fail) at the n-th call of a kind; afterwards every file must be whole, in its old
or its new version, the ledger must open again and git must find nothing broken.
"""

import asyncio
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from support.repository import git, make, numbered, put

from tcoder.protocol.edits import Cause
from tcoder.protocol.errors import TcoderError
from tcoder.workspace.ledger.ledger import Ledger

OLD, NEW = numbered(50), numbered(50, _7="agent")
USER = "typed by the user, nowhere else\n"
CALLS = (
    "write",
    "fsync",
    "renameat2,rename,renameat",
    "unlinkat,unlink",
    "link,linkat",
    "fchmod,fchmodat",
    "ftruncate",
)

PRELUDE = """
import asyncio, pathlib, sys
from tcoder.protocol.edits import Cause, Replace, WriteFile
from tcoder.workspace.files.files import WorkspaceFiles
from tcoder.workspace.ledger.ledger import Ledger
from tcoder.workspace.patching.engine import apply_edits
from tcoder.workspace.review import commit
from tcoder.workspace.review import model as review
from tcoder.workspace.review import load as review_load
root, state = map(pathlib.Path, sys.argv[1:])

def edit():
    files, read = WorkspaceFiles(root), {}
    def contents(path):
        file = files.read_if_there(path)
        if file: read[file.path] = file.digest
        return file
    edits = Replace('a.txt', '6\\n7\\n8\\n', '6\\nagent\\n8\\n'), WriteFile('b.txt', 'new\\n')
    files.commit_writes(apply_edits(edits, contents), read)

async def main():
    ledger = await Ledger.open(root, state, 's1')
"""
ACTIONS = {
    "edit": "    edit()\n    await ledger.close()\n",
    "checkpoint": "    await ledger.checkpoint(Cause('checkpoint', 'x'))\n    await ledger.close()\n",
    "undo": "    await ledger.undo()\n    await ledger.close()\n",
    "commit": (
        "    found = await review_load.load(ledger)\n"
        "    found = review.accept(found, [hunk.id for hunk in found.hunks if hunk.origin == 'agent'])\n"
        "    await commit.commit(ledger, found, 'message')\n    await ledger.close()\n"
    ),
}


@dataclass(frozen=True)
class Fault:
    """`how` is `kill` or an error name such as `ENOSPC`; `call` a set of system calls for strace, `at` which one."""

    action: str
    how: str
    call: str
    at: int


def available() -> bool:
    return shutil.which("strace") is not None


def prepare(base: Path, action: str) -> Path:
    """A repository in which the action can happen, with a file that only the user has."""
    root = make(base / "w", {"a.txt": OLD, "c.txt": "c\n"})
    put(root, {"user.txt": USER})

    async def record() -> None:
        ledger = await Ledger.open(root, base / "state", "s1")
        await ledger.checkpoint(Cause("checkpoint", "start"))
        put(root, {"a.txt": NEW, "b.txt": "new\n"})
        await ledger.record(Cause("edit", "edit"))
        await ledger.close()

    if action in ("undo", "commit"):
        asyncio.run(record())
    if action == "checkpoint":
        put(root, {"c.txt": "changed\n", "d/e.txt": "e\n"})
    return root


@dataclass(frozen=True)
class Struck:
    """How the action ended, and whether the fault came at all: in it, or in a git process that it began."""

    code: int
    hit: bool


def strike(root: Path, fault: Fault) -> Struck:
    """Run the action with the fault. strace counts the calls of each process and thread for itself, so one fault may
    come in several of them."""
    script = PRELUDE + ACTIONS[fault.action] + "asyncio.run(main())\n"
    inject = "signal=KILL" if fault.how == "kill" else f"error={fault.how}"
    trace = root.parent / "trace"
    command = [
        "strace", "-f", "-qq", "-o", str(trace), "-e", f"trace={fault.call}",
        "-e", f"inject={fault.call}:{inject}:when={fault.at}", sys.executable, "-c", script, str(root),
        str(root.parent / "state"),
    ]  # fmt: skip
    env = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    code = subprocess.run(command, env=env, capture_output=True).returncode
    told = trace.read_text("utf-8", "replace")
    return Struck(code, "(INJECTED)" in told or "killed by SIGKILL" in told)


def problems(root: Path, fault: Fault) -> list[str]:
    """What is wrong afterwards; empty = nothing torn, nothing lost."""
    found: list[str] = []
    allowed: dict[str, set[str | None]] = {
        "a.txt": {OLD, NEW}, "b.txt": {None, "new\n"}, "user.txt": {USER}, "c.txt": {"c\n", "changed\n"},
    }  # fmt: skip
    if fault.action == "commit":
        allowed |= {"a.txt": {NEW}, "b.txt": {"new\n"}}
    for name, versions in allowed.items():
        place = root / name
        content = place.read_text() if place.exists() else None
        if content not in versions:
            found.append(f"{name} holds {content!r}")
    (root / ".git" / "index.lock").unlink(missing_ok=True)
    for command in (["fsck", "--strict", "--no-dangling"], ["status"], ["log", "--oneline"]):
        try:
            git(root, *command)
        except AssertionError as error:
            found.append(str(error))
    found += asyncio.run(_opens_again(root))
    return found


async def _opens_again(root: Path) -> list[str]:
    """The ledger opens, and every version that it has recorded can still be had."""
    ledger = await Ledger.open(root, root.parent / "state", "s1")
    try:
        await ledger.record(Cause("user", "after the fault"))
        for item in ledger.timeline():
            await ledger.diff(item.id)
    except TcoderError as error:
        return [f"the ledger: {error}"]
    finally:
        await ledger.close()
    return []
