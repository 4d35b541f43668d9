"""A model server with a prompt cache: it plays a script as `ModelServer` does, and counts in each answer how many
tokens of the prompt it had seen before, as the vendors of the three dialects do.

A token is four bytes of the prompt's JSON. OpenAI's caches hold any prefix of 1,024 tokens or more in steps of 128.
Anthropic's holds what ends at a breakpoint (`cache_control` on a block, or at the top of the request for the last one),
1,024 tokens or more, and looks for it from each breakpoint of a request backwards over 20 blocks.
"""

import json
from hashlib import sha256
from http.server import BaseHTTPRequestHandler
from typing import Any

from support.model_server import ModelServer, Seen, Step

BYTES_PER_TOKEN = 4
LEAST, PIECE, LOOK_BACK = 1_024, 128, 20


def blocks_of(path: str, body: dict[str, Any]) -> tuple[list[bytes], list[int]]:
    """The prompt block by block, in the order in which a cache sees it, and the blocks that a breakpoint stands on."""
    blocks: list[Any] = [body["model"], *body.get("tools", ())]
    if path.endswith("/responses"):
        return _encoded([*blocks, body.get("instructions", ""), *body["input"]]), []
    if path.endswith("/chat/completions"):
        return _encoded([*blocks, *body["messages"]]), []
    marked = [at for at, tool in enumerate(blocks) if "cache_control" in tool]
    for block in body.get("system", ()):
        if "cache_control" in block:
            marked.append(len(blocks))
        blocks.append(block)
    for message in body["messages"]:
        content = message["content"]
        blocks += [[message["role"], block] for block in (content if isinstance(content, list) else [content])]
    if "cache_control" in body:
        marked.append(len(blocks) - 1)
    return _encoded(blocks), marked


def _encoded(blocks: list[Any]) -> list[bytes]:
    return [json.dumps(block, sort_keys=True).encode() for block in blocks]


class PrefixServer(ModelServer):
    """`counts` has prompt and cached tokens of each request, in order."""

    def __init__(self, steps: list[Step]) -> None:
        super().__init__(steps)
        self.counts: list[tuple[int, int]] = []
        self._whole: list[bytes] = []
        self._entries: dict[bytes, int] = {}

    @property
    def share(self) -> float:
        """The share of all prompt tokens that came from the cache."""
        return sum(cached for _, cached in self.counts) / sum(prompt for prompt, _ in self.counts)

    def _play(self, handler: BaseHTTPRequestHandler, step: Step, seen: Seen, number: int) -> None:
        prompt, cached = self.count(seen)
        self.counts.append((prompt, cached))
        output = step.get("usage", {}).get("output", 20)
        super()._play(handler, {**step, "usage": {"prompt": prompt, "cached": cached, "output": output}}, seen, number)

    def count(self, seen: Seen) -> tuple[int, int]:
        """Tokens of the prompt, and those of them that an earlier one left in the cache."""
        blocks, marked = blocks_of(seen.path, seen.body)
        whole = b"".join(blocks)
        prompt = len(whole) // BYTES_PER_TOKEN
        if seen.path.endswith("/messages"):
            return prompt, self._by_breakpoints(blocks, marked)
        longest = max((_common(whole, earlier) for earlier in self._whole), default=0) // BYTES_PER_TOKEN
        self._whole.append(whole)
        return prompt, longest // PIECE * PIECE if longest >= LEAST else 0

    def _by_breakpoints(self, blocks: list[bytes], marked: list[int]) -> int:
        ends: list[tuple[bytes, int]] = []
        running, length = sha256(), 0
        for block in blocks:
            running.update(block)
            length += len(block)
            ends.append((running.digest(), length // BYTES_PER_TOKEN))
        looked = {at - back for at in marked for back in range(LOOK_BACK) if at >= back}
        found = max((self._entries.get(ends[at][0], 0) for at in looked), default=0)
        for at in marked:
            digest, tokens = ends[at]
            if tokens >= LEAST:
                self._entries[digest] = tokens
        return found


def _common(one: bytes, other: bytes) -> int:
    """The length of the common beginning."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low
