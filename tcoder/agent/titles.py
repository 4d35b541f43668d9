"""A title for a session whose first message is no title by itself: asked of the fast variant, beside everything else.

It costs one short call in an interactive session, none where tokens are seconds of this machine. Whatever goes wrong,
the first line of what the person wrote remains the title.
"""

import asyncio
from collections.abc import Mapping

from tcoder.agent import budget
from tcoder.agent.digest import cut_middle, text_of
from tcoder.agent.environment import Environment
from tcoder.agent.state import SessionState, say
from tcoder.agent.stored import TITLE
from tcoder.protocol.errors import ModelError
from tcoder.protocol.events import SessionNamed
from tcoder.protocol.request import ModelReply, ModelRequest
from tcoder.protocol.variant import ModelVariant, VariantName
from tcoder.resources import prompt

SHORT = 50
READ = 2_000
TITLE_TOKENS = 60
PATIENCE_S = 20.0


def wanted(state: SessionState, variants: Mapping[VariantName, ModelVariant]) -> ModelVariant | None:
    """Whom to ask; None when the session has a name, its first message is short enough for one, or there is nobody to
    ask without keeping this machine busy (a script has no line for it)."""
    if state.name or state.turn != 1 or not state.calls:
        return None
    first = text_of(state.said[0]).strip()
    if len(first) <= SHORT and "\n" not in first:
        return None
    variant = variants.get("fast") or variants["standard"]
    return None if variant.on_this_machine or variant.provider == "scripted" else variant


def request(variant: ModelVariant, state: SessionState) -> ModelRequest:
    text = cut_middle(text_of(state.said[0]).strip(), READ)
    return ModelRequest(variant, prompt("system/title"), (say(text),), max_output=TITLE_TOKENS)


def tidy(answer: str) -> str:
    """The first line that says something, without what models like to put around it; empty when there is none."""
    lines = (line.strip().lstrip("#").strip().strip("\"'`*").rstrip(".").strip() for line in answer.split("\n"))
    return next((line for line in lines if line), "").removeprefix("Title:").strip()[:TITLE]


async def entitle(env: Environment, state: SessionState) -> SessionNamed | None:
    """The title with what it cost, or None. Never raises for a model that does not answer."""
    variant = wanted(state, env.variants)
    if variant is None or budget.review(env.budget, state.turn_usage, 0).spent:
        return None
    reply: ModelReply | None = None
    try:
        async with asyncio.timeout(PATIENCE_S):
            async for part in env.model.stream(request(variant, state)):
                if isinstance(part, ModelReply):
                    reply = part
    except (ModelError, TimeoutError):
        return None
    if reply is None or not (title := tidy(reply.message.text)):
        return None
    return SessionNamed(title, "model", variant.id, reply.message.usage)
