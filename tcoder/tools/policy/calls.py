"""What the policy says of a call about paths, and of one whose effect nobody can read off. Pure."""

from collections.abc import Sequence

from msgspec import Struct

from tcoder.protocol.permissions import Approval, Decision, Rule, Verdict
from tcoder.tools.policy import rules
from tcoder.tools.policy.paths import inside, is_guarded, is_protected, is_secret, is_system, locate, relative
from tcoder.tools.policy.values import PolicyCall, PolicyFacts

INWARD = frozenset({"plan", "ask"})
"""Tools of kind `other` that change nothing but the conversation."""


class Judged(Struct, frozen=True):
    """A decision with its reason; `rule` is the rule or list entry behind it. `firm`: only a rule that names the very
    path may loosen it."""

    decision: Decision
    reason: str
    rule: str = ""
    firm: bool = False


def judge_paths(call: PolicyCall, mode: Approval, held: Sequence[Rule], facts: PolicyFacts) -> Verdict:
    judged = [_judge_path(call, path, mode, held, facts) for path in call.paths or ("",)]
    worst = max(judged, key=lambda one: rules.ORDER[one.decision])
    return Verdict(worst.decision, worst.reason, worst.rule)


def _judge_path(call: PolicyCall, path: str, mode: Approval, held: Sequence[Rule], facts: PolicyFacts) -> Judged:
    names = spellings(path, facts) if path else ("",)
    about = [rule for rule in rules.for_tool(held, call.tool) if rules.matches_path(rule, *names)]
    by_rule = rules.strictest(about)
    own = _own_judgement(call, path, mode, facts)
    if own.decision == "deny":
        return own
    if by_rule is None:
        return own
    said = Judged(by_rule.decision, f"a rule of {by_rule.source}", rules.describe(by_rule))
    if rules.ORDER[said.decision] < rules.ORDER[own.decision] and own.firm and not rules.is_literal(by_rule):
        return own
    return said


def spellings(path: str, facts: PolicyFacts, folder: str = "") -> tuple[str, ...]:
    """A path, seen from a folder, as rules may name it: from the root and absolute, as written and where it really
    leads."""
    placed = locate(path, facts.root, folder) or path
    real = facts.real(placed)
    return tuple({relative(placed, facts.root): 0, placed: 0, relative(real, facts.root): 0, real: 0})


def _own_judgement(call: PolicyCall, path: str, mode: Approval, facts: PolicyFacts) -> Judged:
    match call.kind:
        case "read":
            return _judge_read(path, facts)
        case "edit":
            return _judge_edit(path, mode, facts)
        case "shell":
            if mode == "plan":
                return Judged("deny", "plan mode runs no project code")
            return contained(mode, facts)
        case "network":
            if mode == "auto" and facts.network:
                return Judged("allow", "a person allowed the network")
            return Judged("ask", "it uses the network")
        case "other":
            if call.tool in INWARD:
                return Judged("allow", "it changes nothing but the conversation")
            if mode == "plan":
                return Judged("deny", "plan mode changes nothing, and nobody can say what this tool does")
            return Judged("ask", "no sandbox contains this tool")


def _judge_read(path: str, facts: PolicyFacts) -> Judged:
    for placed in places(path, facts):
        if is_system(placed):
            return Judged("deny", f"{placed} belongs to the system: processes, devices")
    for placed in places(path, facts):
        if is_secret(placed):
            return Judged("ask", f"{relative(placed, facts.root)} may hold keys or passwords")
        if facts.root and not in_workspace(placed, facts):
            return Judged("ask", f"{placed} lies outside the workspace")
    return Judged("allow", "it only reads")


def _judge_edit(path: str, mode: Approval, facts: PolicyFacts) -> Judged:
    if mode == "plan":
        return Judged("deny", "plan mode changes nothing")
    for placed in places(path, facts):
        seen = relative(placed, facts.root)
        if is_protected(seen) or fits_any(facts.protected, seen, placed):
            return Judged("deny", f"{seen} decides what runs and what may: a person changes it, not a tool")
        if (facts.root and not in_workspace(placed, facts)) or is_system(placed):
            return Judged("deny", f"{placed} lies outside the workspace")
    for placed in places(path, facts):
        seen = relative(placed, facts.root)
        if is_guarded(seen):
            return Judged("ask", f"other programs run what {seen} says", firm=True)
        if is_secret(seen):
            return Judged("ask", f"{seen} may hold keys or passwords", firm=True)
    if mode in ("edits", "auto"):
        return Judged("allow", f"{mode} mode lets edits pass")
    return Judged("ask", "it changes files")


def fits_any(patterns: Sequence[str], *names: str) -> bool:
    return any(rules.matches_path(Rule("deny", "*", pattern), *names) for pattern in patterns)


def places(path: str, facts: PolicyFacts, cwd: str = "") -> tuple[str, ...]:
    """Where a path is and where it really leads."""
    placed = locate(path, facts.root, cwd)
    real = facts.real(placed)
    return (placed,) if real == placed else (placed, real)


def in_workspace(placed: str, facts: PolicyFacts) -> bool:
    return any(inside(placed, folder) for folder in (facts.root, *facts.writable))


def contained(mode: Approval, facts: PolicyFacts) -> Judged:
    if mode != "auto":
        return Judged("ask", "it runs a command")
    if not facts.sandboxed:
        return Judged("ask", "no sandbox contains it")
    if facts.network:
        return Judged("allow", "the sandbox contains it; a person allowed the network")
    return Judged("allow", "the sandbox contains it")
