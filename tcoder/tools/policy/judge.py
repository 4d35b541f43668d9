"""The permission policy: pure judgement of one call by mode, rules and facts.

The most restrictive wins and a denial always holds. The list of safe commands is a convenience that saves questions;
what holds a command back is the sandbox.
"""

from tcoder.protocol.permissions import Approval, Rule, Verdict
from tcoder.tools.policy.calls import judge_paths
from tcoder.tools.policy.command_verdicts import judge_command
from tcoder.tools.policy.question import always_rule, question, rule_from, visible
from tcoder.tools.policy.values import PolicyCall, PolicyFacts, PolicyKind

__all__ = ["PolicyCall", "PolicyFacts", "PolicyKind", "always_rule", "judge", "question", "rule_from", "visible"]


def judge(call: PolicyCall, mode: Approval, rules_of_session: tuple[Rule, ...], facts: PolicyFacts) -> Verdict:
    """What may happen with a call: allow, ask a person, or deny, and why. Pure; never raises."""
    if call.looks:
        return Verdict("allow", "it looks at what is running already")
    held = tuple(rule for rule in rules_of_session if rule.decision != "allow" or not rule.source.startswith("project"))
    verdict = (
        judge_command(call, mode, held, facts)
        if call.kind == "shell" and call.command
        else judge_paths(call, mode, held, facts)
    )
    if call.keeps and verdict.decision == "allow":
        verdict = Verdict("ask", "it would go on running when the session ends", "", verdict.parts)
    if facts.wary and call.kind == "shell" and verdict.decision == "allow":
        verdict = Verdict("ask", "the sandbox does not hold here, so every command is asked about", "", verdict.parts)
    if facts.yolo and verdict.decision == "ask":
        return Verdict("allow", f"nobody is asked (yolo); {verdict.reason}", verdict.rule, verdict.parts)
    return verdict
