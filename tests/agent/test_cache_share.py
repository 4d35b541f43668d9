"""What of all prompts comes from a prompt cache: a whole run of the command line against a server that has one."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from support.desk import FIX, Desk
from support.prefix_server import PrefixServer, blocks_of

STEPS = 24


@pytest.mark.parametrize("api", ["openai-chat", "openai-responses", "anthropic"])
def test_nearly_all_of_a_run_comes_from_the_cache(api: str, desk: Desk) -> None:
    """Of 24 steps an ideal cache serves 1 − 2/25 at most; only what is new is ever paid for."""
    (desk.root / "long.py").write_text("".join(f"def f{n}():\n    return {n}  # a line\n" for n in range(3_000)))
    reads = [{"calls": [{"name": "read", "arguments": {"path": "long.py", "offset": 1 + 90 * n, "limit": 80}}]}
             for n in range(STEPS)]  # fmt: skip
    with PrefixServer([*reads[:12], {"calls": [FIX]}, *reads[12:], {"text": "done"}]) as server:
        desk.ask(server, "look", "--api", api, "--no-tests")
        assert len(server.requests) == STEPS + 2
    new = server.counts[-1][0]
    ideal = 1 - new / sum(prompt for prompt, _ in server.counts)
    assert server.share > ideal - 0.05
    for (before, _), (_, cached) in zip(server.counts[1:], server.counts[2:], strict=False):
        assert cached > before - 200  # a cache keeps whole pieces of 128 tokens


@pytest.mark.parametrize("spoil", [lambda body: body["messages"][0].update(content="It is 12:01."), None])
def test_the_server_counts_what_it_has_seen(spoil: Callable[[Any], object] | None, desk: Desk) -> None:
    """The check can fail: a clock above the conversation costs the whole cache."""
    with PrefixServer([{"text": "x"}]) as server:
        desk.ask(server, "look " * 2_000)
        body = server.requests[0].body
        body["messages"].append({"role": "user", "content": "more"})
        if spoil is not None:
            spoil(body)
        seen = type(server.requests[0])(server.requests[0].path, {}, json.dumps(body).encode(), 0)
        prompt, cached = server.count(seen)
    assert prompt > 2_000
    assert (cached > 0.9 * prompt) is (spoil is None)


def test_breakpoints_stand_where_the_dialect_sets_them(desk: Desk) -> None:
    with PrefixServer([{"text": "x"}]) as server:
        desk.ask(server, "look", "--api", "anthropic")
        blocks, marked = blocks_of(server.requests[0].path, server.requests[0].body)
    assert len(marked) == 3 and marked[-1] == len(blocks) - 1
