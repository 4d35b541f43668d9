"""Judges a call before it runs and puts the question to a person where the policy wants one."""

from typing import TYPE_CHECKING, Any

from msgspec import Struct

from tcoder.protocol.errors import DeniedError
from tcoder.protocol.events import PermissionAnswered, PermissionAsked
from tcoder.protocol.messages import ToolCall
from tcoder.tools import policy
from tcoder.tools.base import Tool

if TYPE_CHECKING:
    from tcoder.agent.turn import Turn


async def require(turn: "Turn", call: ToolCall, tool: Tool[Any], args: Struct) -> None:
    """Return when the call may run. Raises `DeniedError` with the reason, in words for the model."""
    touches = tool.touches(args)
    asked = policy.PolicyCall(call.name, tool.kind, touches.paths, touches.command)
    env = turn.env
    facts = policy.PolicyFacts(
        sandboxed=bool(env.sandbox), network=env.network, trusted=env.trusted, root=str(env.root)
    )
    verdict = policy.judge(asked, turn.state.approval, env.rules, facts)
    if verdict.decision == "allow":
        return
    if verdict.decision == "deny":
        raise DeniedError(f"denied: {verdict.reason}")
    if env.yolo:
        return
    question = policy.question(call.id, asked, verdict, facts)
    if env.interactive:
        if await turn.session.ask_person(call.id, question, verdict):
            return
        raise DeniedError("the person declined this call", "ask what they would rather have, or do it another way")
    turn.record(PermissionAsked(call.id, question, verdict))
    turn.record(PermissionAnswered(question.id, "deny", "headless", verdict.reason))
    raise DeniedError(f"needs a person's approval and nobody is there: {verdict.reason}", "do it another way")
