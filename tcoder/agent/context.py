"""What a request is made of, in layers from stable to new: tools and system, project rules, outline, conversation."""

from msgspec import Struct

from tcoder.agent.state import SessionState
from tcoder.protocol.messages import ToolSpec
from tcoder.protocol.request import ModelRequest
from tcoder.protocol.variant import ModelVariant

RULES_LIMIT = 24_000
OUTLINE_HEAD = "# Repository outline\n\nFiles and what they define, as they were when this conversation began:"


class Frame(Struct, frozen=True):
    """The part of every request that is frozen between two compactions, so that prompt caches hold. `layers` names
    its parts with their length in characters, in the order in which they are sent."""

    system: str
    tools: tuple[ToolSpec, ...]
    cache_key: str
    layers: tuple[tuple[str, int], ...] = ()

    @property
    def length(self) -> int:
        """Characters above the conversation."""
        return sum(size for _, size in self.layers) or len(self.system)


def frame(
    instructions: str, facts: str, rules: str, tools: tuple[ToolSpec, ...], cache_key: str, outline: str = ""
) -> Frame:
    """The system prompt: tcoder's instructions, facts that do not change in a session, the project's own rules, and
    the outline. No clock, no git status: they would break the cache at every call."""
    head = "\n\n".join(text for text in (instructions, facts) if text)
    cut = f"\n(… {len(rules) - RULES_LIMIT} more characters)" if len(rules) > RULES_LIMIT else ""
    texts = (
        ("system", head),
        ("project rules", f"# Project rules\n\n{rules[:RULES_LIMIT]}{cut}" if rules else ""),
        ("repository outline", f"{OUTLINE_HEAD}\n\n{outline}" if outline else ""),
    )
    offered = sum(len(tool.name) + len(tool.description) + len(str(tool.parameters)) for tool in tools)
    layers = (("tools", offered), *((name, len(text)) for name, text in texts if text))
    return Frame("\n\n".join(text for _, text in texts if text), tools, cache_key, layers)


def build(state: SessionState, frame: Frame, variant: ModelVariant) -> ModelRequest:
    """The next request. Between two compactions it begins with the one before it."""
    return ModelRequest(
        variant=variant,
        system=frame.system,
        tools=frame.tools,
        messages=tuple(state.messages),
        max_output=variant.max_output,
        cache_key=frame.cache_key,
    )


def continues(previous: ModelRequest | None, request: ModelRequest) -> bool:
    """Whether `request` begins with `previous` as a prompt cache sees it. Messages are compared by identity: they are
    immutable and carried over as they are, so this costs nothing."""
    if previous is None:
        return True
    shared = len(previous.messages)
    return (
        previous.variant == request.variant
        and previous.system is request.system
        and previous.tools is request.tools
        and len(request.messages) >= shared
        and (not shared or previous.messages[shared - 1] is request.messages[shared - 1])
    )
