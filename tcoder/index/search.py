"""Text search: one file in-process for plain words, everything else by ripgrep. Foreign patterns never meet `re`."""

import asyncio
import os
import shutil
import subprocess
import sys
from pathlib import Path

import msgspec
from msgspec import Struct

MAX_LINE = 300
MAX_FILE_BYTES = 2_000_000
TIMEOUT_S = 20.0
SPECIAL = frozenset("\\.+*?()|[]{}^$")


class Hit(Struct, frozen=True):
    """A line that matches; `line` is 1-based."""

    path: str
    line: int
    text: str


class SearchResult(Struct, frozen=True):
    """`text` is for the model: grouped by file, each path once; `problem` is why nothing could be searched."""

    hits: tuple[Hit, ...]
    text: str
    more: int = 0


def find_ripgrep() -> str:
    """The ripgrep beside this Python, else one on the PATH; empty when there is none."""
    beside = Path(sys.executable).parent / "rg"
    return str(beside) if beside.is_file() else shutil.which("rg") or ""


async def search_text(root: Path, pattern: str, path: str, glob: str, limit: int) -> SearchResult:
    """Search lines below `root`. `path` is relative, a file or a folder."""
    if not SPECIAL & set(pattern) and path and (root / path).is_file():
        return render(_search_file(root, path, pattern), limit)
    return render(await _ripgrep(root, pattern, path, glob, limit), limit)


def _search_file(root: Path, path: str, pattern: str) -> list[Hit]:
    with open(root / path, "rb") as file:
        data = file.read(MAX_FILE_BYTES)
    lines = data.decode("utf-8", "replace").split("\n")
    return [Hit(path, number, line[:MAX_LINE]) for number, line in enumerate(lines, 1) if pattern in line]


class _Text(Struct):
    text: str = ""
    bytes: str = ""


class _Data(Struct):
    path: _Text | None = None
    lines: _Text | None = None
    line_number: int | None = None


class _Message(Struct):
    type: str
    data: _Data


async def _ripgrep(root: Path, pattern: str, path: str, glob: str, limit: int) -> list[Hit]:
    program = find_ripgrep()
    if not program:
        raise FileNotFoundError("ripgrep is not installed")
    command = [
        program, "--no-config", "--json", "--sort", "path", "--max-columns", "2000", "--max-filesize", "5M",
        "--max-count", str(limit), "--hidden", "--glob", "!.git", *(["--glob", glob] if glob else []),
        "--regexp", pattern, "--", path or ".",
    ]  # fmt: skip
    process = await asyncio.create_subprocess_exec(
        *command,
        cwd=root,
        env={"PATH": os.environ.get("PATH", os.defpath)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        limit=8_000_000,
    )
    try:
        out, err = await asyncio.wait_for(process.communicate(), TIMEOUT_S)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    if process.returncode == 2 and not out:
        raise ValueError(err.decode("utf-8", "replace").strip()[:500])
    return _hits(out)


def _hits(out: bytes) -> list[Hit]:
    decoder = msgspec.json.Decoder(_Message)
    hits: list[Hit] = []
    for line in out.split(b"\n"):
        if not line.startswith(b'{"type":"match"'):
            continue
        data = decoder.decode(line).data
        if data.path and data.lines and data.line_number:
            text = data.lines.text.rstrip("\r\n")[:MAX_LINE]
            hits.append(Hit(data.path.text.removeprefix("./"), data.line_number, text))
    return hits


def render(hits: list[Hit], limit: int) -> SearchResult:
    """Hits as the model reads them: each path once, its lines below."""
    shown = hits[:limit]
    lines: list[str] = []
    last = ""
    for hit in shown:
        if hit.path != last:
            lines.append(hit.path)
            last = hit.path
        lines.append(f"  {hit.line}: {hit.text.strip()}")
    if not shown:
        lines.append("no matches")
    if more := len(hits) - len(shown):
        lines.append(f"({more} more matches; search a folder or a narrower pattern)")
    return SearchResult(tuple(shown), "\n".join(lines), more)
