"""A process that parses: jobs on standard input, segments on standard output. It can be killed at any time.

Frames are a kind byte, a length of four bytes (little endian) and a body: `j` a job; `p` the ordinal of the file that
is begun, so that the parent knows which one hangs; `r` what was built.
"""

import gc
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO

import msgspec
from msgspec import Struct

from tcoder.index.listing import Stamp, stamp
from tcoder.index.segment import Segment, Source, build, content_key
from tcoder.index.tags import MAX_BYTES

NICENESS = 10
COLLECT_EVERY = 10


class Job(Struct, frozen=True, array_like=True):
    """Files below a root, as pairs of path and language."""

    root: str
    files: tuple[tuple[str, str], ...]


class Parsed(Struct, frozen=True, array_like=True):
    """A file that was read: its place in the segment is its place among these."""

    path: str
    key: bytes
    stamp: Stamp


class Built(Struct, frozen=True, array_like=True):
    files: tuple[Parsed, ...]
    segment: Segment


def read_frame(stream: BinaryIO) -> tuple[bytes, bytes] | None:
    """The next frame's kind and body, None at the end."""
    head = stream.read(5)
    if len(head) < 5:
        return None
    body = stream.read(int.from_bytes(head[1:], "little"))
    return head[:1], body


def frame(kind: bytes, body: bytes) -> bytes:
    return kind + len(body).to_bytes(4, "little") + body


def read_source(root: str, path: str, language: str) -> tuple[Stamp, bytes, bytes] | None:
    """Stamp, key and bytes of a file (its head only when it is too large to parse); None when it is gone."""
    found = stamp(Path(root), path)
    if found is None:
        return None
    try:
        descriptor = os.open(f"{root}/{path}", os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        with os.fdopen(descriptor, "rb") as file:
            data = file.read(MAX_BYTES + 1)
    except OSError:
        return None
    return found, content_key(data, language), data


def run(job: Job, begin: Callable[[int], None]) -> Built:
    """Index the job's files; `begin` hears the ordinal of each before it is read."""
    parsed: list[Parsed] = []

    def sources() -> Iterator[Source]:
        for ordinal, (path, language) in enumerate(job.files):
            begin(ordinal)
            if (found := read_source(job.root, path, language)) is not None:
                parsed.append(Parsed(path, found[1], found[0]))
                yield Source(found[1], language, found[2])

    segment = build(sources())
    return Built(tuple(parsed), segment)


def main() -> None:
    os.nice(NICENESS)
    inward, outward = sys.stdin.buffer, sys.stdout.buffer

    def begin(ordinal: int) -> None:
        outward.write(frame(b"p", ordinal.to_bytes(4, "little")))
        outward.flush()

    # nearly all that is made here lives as long as the job; looking for circles in it costs a tenth of the time
    gc.disable()
    jobs = 0
    while received := read_frame(inward):
        built = run(msgspec.msgpack.decode(received[1], type=Job), begin)
        outward.write(frame(b"r", msgspec.msgpack.encode(built)))
        outward.flush()
        del built
        jobs += 1
        if jobs % COLLECT_EVERY == 0:
            gc.collect()


if __name__ == "__main__":
    main()
