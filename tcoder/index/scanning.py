"""A cheap scan for the files that a text is most likely about, while little or nothing is parsed yet.

ripgrep counts the text's rarest-looking words in the tree; names of files count as well. It takes a fraction of a
second where parsing everything takes many, and decides only what is parsed first.
"""

import asyncio
import math
import os
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

from tcoder.index.languages import role_of
from tcoder.index.processes import end
from tcoder.index.query import Query
from tcoder.index.searching import ripgrep
from tcoder.index.terms import path_terms

WORDS = 28
TIMEOUT_S = 1.2
MAX_OUTPUT = 6_000_000
NAME_SHARE = 3.0


def words(query: Query) -> list[str]:
    """The words to count: identifiers first, then the longest terms, which are the rarest as a rule."""
    plain = sorted(
        (term for term in query.terms if len(term) >= 4 and term.isascii()), key=lambda term: (-len(term), term)
    )
    chosen = dict.fromkeys([name.lower() for name in query.identifiers] + plain)
    return [word for word in chosen if word.replace("_", "").isalnum()][:WORDS]


async def promising(root: Path, query: Query, paths: Iterable[str], limit: int) -> list[str]:
    """Some of the paths, the most promising first."""
    known = list(paths)
    counted = await _count(root, words(query))
    frequency: defaultdict[str, int] = defaultdict(int)
    for found in counted.values():
        for word in found:
            frequency[word] += 1
    scores: dict[str, float] = {}
    for path in known:
        score = sum(
            math.log(1 + len(known) / frequency[word]) * min(count, 4) ** 0.5
            for word, count in counted.get(path, {}).items()
        )
        score += NAME_SHARE * len(path_terms(path) & query.terms.keys())
        if score:
            scores[path] = score * (1.0 if role_of(path) == "source" else 0.4)
    return sorted(scores, key=lambda path: (-scores[path], path))[:limit]


async def _count(root: Path, wanted: list[str]) -> dict[str, dict[str, int]]:
    """How many lines of each file have each word, for the files that were reached in time."""
    program = ripgrep()
    if not program or not wanted:
        return {}
    command = [program, "--no-config", "--no-messages", "--null", "--no-heading", "--no-line-number", "--color=never"]
    command += [
        "--only-matching",
        "--ignore-case",
        "--fixed-strings",
        "--max-count=40",
        "--max-filesize=1M",
        "--threads=2",
    ]
    command += ["--hidden", "--glob=!.git", *(f"--regexp={word}" for word in wanted), "./"]
    process = await asyncio.create_subprocess_exec(
        *command,
        cwd=root,
        env={"PATH": os.environ.get("PATH", ""), "LC_ALL": "C.UTF-8"},
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        start_new_session=True,
    )
    assert process.stdout is not None
    pieces: list[bytes] = []
    try:
        async with asyncio.timeout(TIMEOUT_S):
            while (piece := await process.stdout.read(1 << 18)) and sum(map(len, pieces)) < MAX_OUTPUT:
                pieces.append(piece)
    except TimeoutError:
        pass  # what was found until now says enough about what to parse first
    finally:
        await end(process)
    return tally(b"".join(pieces))


def tally(output: bytes) -> dict[str, dict[str, int]]:
    """Count ripgrep's matches by path and word; a line that was cut off is left out."""
    counts: dict[str, dict[str, int]] = {}
    last: bytes = b""
    found: dict[str, int] = {}
    for line in output.split(b"\n")[:-1]:
        path, separator, word = line.partition(b"\0")
        if not separator:
            continue
        if path != last:
            last = path
            found = counts.setdefault(path.decode("utf-8", "replace").removeprefix("./"), {})
        text = word.decode("utf-8", "replace").lower()
        found[text] = found.get(text, 0) + 1
    return counts
