"""Text search: ripgrep for folders and for regular expressions, in this process for a literal in one file.

A foreign pattern never reaches Python's `re`: its matching can take exponential time and holds the interpreter.
ripgrep's engine is linear; it runs without its configuration file, without PCRE2, and is killed when it takes long.
"""

import asyncio
import os
import shutil
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from tcoder.index.processes import end
from tcoder.protocol.location import SearchHit, SearchResult

TIMEOUT_S = 20.0
MAX_LINE = 160
MAX_PER_FILE = 30
MAX_SHARE = 8
MAX_TEXT = 2_800
MAX_OUTPUT = 4_000_000
MAX_PATTERN = 2_000
_SPECIAL = frozenset("\\^$.|?*+()[]{}")


@cache
def ripgrep() -> str:
    """Where ripgrep is: beside this Python, where its package puts it, else on the path; empty when it is nowhere."""
    beside = Path(sys.executable).with_name("rg")
    return str(beside) if beside.is_file() else shutil.which("rg") or ""


def is_literal(pattern: str) -> bool:
    """Whether a pattern has nothing that a regular expression would read as more than itself."""
    return not _SPECIAL & frozenset(pattern) and "\n" not in pattern


def search_file(root: Path, path: str, needle: str, limit: int) -> list[SearchHit]:
    """Lines of one file that hold the literal; upper case in it makes it case-sensitive. Spawns nothing."""
    try:
        data = (root / path).read_bytes()
    except OSError:
        return []
    if b"\0" in data[:8192]:
        return []
    exact = needle != needle.lower()
    hits: list[SearchHit] = []
    for number, line in enumerate(data.decode("utf-8", "replace").split("\n"), start=1):
        if needle in (line if exact else line.lower()):
            hits.append(_hit(path, number, line))
            if len(hits) >= limit:
                break
    return hits


async def search_tree(
    root: Path,
    pattern: str,
    *,
    under: str,
    globs: Sequence[str],
    limit: int,
    literal: bool = False,
    word: bool = False,
    ignored: bool = False,
) -> tuple[list[SearchHit], bool, str]:
    """Matching lines in the order of their paths, whether there are more, and a problem if there is one. With `ignored`
    files that git ignores are searched, too."""
    program = ripgrep()
    if not program:
        return [], False, "ripgrep is not installed"
    command = [
        program,
        "--no-config",
        "--no-messages",
        "--null",
        "--with-filename",
        "--line-number",
        "--no-heading",
        "--color=never",
    ]
    command += [
        "--smart-case",
        "--sort=path",
        "--max-columns=1000",
        "--max-columns-preview",
        f"--max-count={MAX_PER_FILE}",
    ]
    command += [
        "--max-filesize=4M",
        "--hidden",
        "--glob=!.git",
        "--engine=default",
        "--threads=2",
        "--regex-size-limit=20M",
    ]
    command += [f"--ignore-file={root / '.tcoderignore'}"] if (root / ".tcoderignore").is_file() else []
    command += ["--no-ignore-vcs", "--no-ignore-dot", "--no-ignore-parent"] if ignored else []
    command += ["--fixed-strings"] if literal else []
    command += ["--word-regexp"] if word else []
    command += [f"--glob={glob}" for glob in globs]
    command += ["--regexp", pattern, "--", f"./{under}" if under else "./"]
    return await _run(command, root, limit)


async def _run(command: Sequence[str], root: Path, limit: int) -> tuple[list[SearchHit], bool, str]:
    process = await asyncio.create_subprocess_exec(
        *command,
        cwd=root,
        env={"PATH": os.environ.get("PATH", ""), "LC_ALL": "C.UTF-8"},
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        limit=1 << 20,
        start_new_session=True,
    )
    assert process.stdout is not None and process.stderr is not None
    hits: list[SearchHit] = []
    more = False
    problem = ""
    try:
        async with asyncio.timeout(TIMEOUT_S):
            while line := await process.stdout.readline():
                if len(hits) >= limit:
                    more = True
                    break
                if (hit := parse_line(line)) is not None:
                    hits.append(hit)
            if not more:
                complaint = (await process.stderr.read(4_000)).decode("utf-8", "replace").strip()
                if await process.wait() == 2 and not hits:
                    problem = complaint or "ripgrep failed"
    except TimeoutError:
        problem = f"the search took longer than {TIMEOUT_S:.0f} s"
    except ValueError:
        more = True  # a line beyond the reader's limit ends the search
    finally:
        await end(process)
    return hits, more, problem


def parse_line(line: bytes) -> SearchHit | None:
    """A line of ripgrep's output with `--null --line-number`."""
    path, found, rest = line.partition(b"\0")
    number, _, text = rest.partition(b":")
    if not found or not number.isdigit():
        return None
    return _hit(path.decode("utf-8", "replace").removeprefix("./"), int(number), text.decode("utf-8", "replace"))


def _hit(path: str, number: int, line: str) -> SearchHit:
    text = line.strip()
    return SearchHit(path, number, text if len(text) <= MAX_LINE else f"{text[:MAX_LINE]}…")


def present(hits: Sequence[SearchHit], *, more: bool, problem: str = "") -> SearchResult:
    """Hits as text of a few hundred tokens: each path once, in the order of its first hit, its lines below it; the
    first lines of every file before many of one."""
    note = f"\n({problem})" if problem else ""
    if not hits:
        return SearchResult(f"no matches{note}", problem=problem)
    files: dict[str, dict[int, SearchHit]] = {}
    for hit in hits:
        files.setdefault(hit.path, {}).setdefault(hit.line, hit)
    share = MAX_SHARE if len(files) > 1 else MAX_PER_FILE
    lines: list[str] = []
    shown: list[SearchHit] = []
    total = sum(map(len, files.values()))
    room = MAX_TEXT
    for path, found in files.items():
        chosen = list(found.values())[:share]
        added = [path, *(f"  {hit.line}: {hit.text}" for hit in chosen)]
        if len(chosen) < len(found):
            added.append(f"  … {len(found) - len(chosen)} more here")
        size = sum(map(len, added)) + len(added)
        if size > room and lines:
            break
        while size > room and len(chosen) > 1:
            chosen.pop()
            size -= len(added.pop()) + 1
        room -= size
        lines += added
        shown += chosen
    left = -1 if more else total - len(shown)
    if left:
        lines.append(f"… {left if left > 0 else ''} more matches; narrow the pattern or the path".replace("  ", " "))
    return SearchResult("\n".join(lines) + note, tuple(shown), left, problem)
