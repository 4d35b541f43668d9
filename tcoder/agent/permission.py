"""Judges a call before it runs and puts the question to a person where the policy wants one."""

from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from tcoder.protocol.errors import DeniedError
from tcoder.protocol.events import PermissionAnswered, PermissionAsked
from tcoder.protocol.messages import ToolCall
from tcoder.tools.base import Tool
from tcoder.tools.checks import TestArgs
from tcoder.tools.policy import judge as policy
from tcoder.tools.policy import question as policy_question
from tcoder.tools.policy import targets as policy_targets

if TYPE_CHECKING:
    from tcoder.agent.environment import Environment
    from tcoder.agent.turn import Turn


async def require(turn: "Turn", call: ToolCall, tool: Tool[Any], args: Struct) -> None:
    """Return when the call may run. Raises `DeniedError` with the reason, in words for the model."""
    touches = tool.touches(args)
    asked = policy.PolicyCall(
        call.name, tool.kind, touches.paths, touches.command, touches.typed, _runs(turn.env, args), touches.looks,
        touches.keeps,
    )  # fmt: skip
    env = turn.env
    facts = _facts(env, asked)
    verdict = policy.judge(asked, turn.state.approval, env.grants.rules, facts)
    turn.tools.clean, turn.tools.network = verdict.clean, False
    if verdict.decision == "allow":
        return
    if verdict.decision == "deny":
        raise DeniedError(f"denied: {verdict.reason}")
    writes = (str(env.root), *env.writable) if facts.sandboxed else ()
    if asked.runs and env.checks is not None and env.checks.cwd:
        facts = replace(facts, cwd=str(env.root / env.checks.cwd))
    question = policy.question(call.id, asked, verdict, facts, writes)
    if not env.interactive:
        turn.record(PermissionAsked(call.id, question, verdict))
        turn.record(PermissionAnswered(question.id, "deny", "headless", verdict.reason))
        raise DeniedError(f"needs a person's approval and nobody is there: {verdict.reason}", "do it another way")
    decided = await turn.session.ask_person(call.id, question, verdict)
    if decided.answer == "deny":
        why = f": {decided.note}" if decided.note else ""
        raise DeniedError(
            f"the person declined this call{why}", "ask what they would rather have, or do it another way"
        )
    turn.tools.network = verdict.network
    if decided.answer != "once" and not verdict.network:
        edited = policy_question.rule_from(decided.rule, asked) if decided.rule else None
        if rule := edited or policy_question.always_rule(asked):
            env.grants.add(rule, decided.answer)


def denies_reading(env: "Environment", path: str) -> bool:
    """Whether a rule denies a path, in whatever way it would be read."""
    call = policy.PolicyCall("search", "read", paths=(path,))
    return policy.judge(call, "auto", env.grants.rules, _facts(env, call)).decision == "deny"


def _runs(env: "Environment", args: Struct) -> str:
    """What a run of the tests executes, and which of them: the model names tests, not the command."""
    if not isinstance(args, TestArgs) or env.checks is None:
        return ""
    return "\n".join((env.checks.command, *(f"only {name}" for name in args.select)))


def _facts(env: "Environment", call: policy.PolicyCall) -> policy.PolicyFacts:
    cwd = str(env.runner.cwd)
    return policy.PolicyFacts(
        sandboxed=bool(env.sandbox) and not env.wary,
        network=env.network,
        trusted=env.trusted,
        root=str(env.root),
        cwd=cwd,
        writable=env.writable if call.kind == "shell" else (),  # tools of ours stay below the root
        yolo=env.yolo,
        wary=env.wary,
        lends_network=env.interactive and not env.yolo and env.runner.lends_network and call.tool == "shell",
        targets=policy_targets.resolve(call, str(env.root), cwd),
    )
