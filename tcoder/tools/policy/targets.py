"""Where the paths of a call really lead: the policy is pure, so somebody has to look before it judges."""

import os
from pathlib import Path

import msgspec

from tcoder.tools.policy import commands
from tcoder.tools.policy.paths import locate
from tcoder.tools.policy.values import PolicyCall, PolicyFacts

MAX_WORDS = 200


def with_targets(call: PolicyCall, facts: PolicyFacts) -> PolicyFacts:
    """`facts` with the targets of this call."""
    return msgspec.structs.replace(facts, targets=resolve(call, facts.root, facts.cwd))


def resolve(call: PolicyCall, root: str, cwd: str = "") -> tuple[tuple[str, str], ...]:
    """Absolute paths that the call names and that lead through a symlink, with their real paths, in order. Looks at
    no more than `MAX_WORDS` words and opens nothing."""
    found: dict[str, str] = {}
    real_root = os.path.realpath(root)
    for word in _words(call)[:MAX_WORDS]:
        placed = locate(word, root, cwd)
        if not placed.startswith("/") or "\0" in placed or len(placed) > 4096:
            continue
        real = os.path.realpath(placed)
        if Path(real).is_relative_to(real_root) and real_root != root:
            real = str(Path(root) / Path(real).relative_to(real_root))
        if real != placed:
            found[placed] = real
    return tuple(found.items())


def _words(call: PolicyCall) -> tuple[str, ...]:
    if not call.command:
        return call.paths
    parsed = commands.parse(call.command)
    words = [word for command in parsed.commands for word in command.words[1:]]
    values = [word.partition("=")[2] for word in words if "=" in word]
    return tuple(word for word in (*words, *values, *parsed.redirects) if word)
