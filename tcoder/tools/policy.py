"""The permission policy: pure judgement of one call by mode, rules and facts.

The most restrictive wins and a denial always holds. The list of safe commands is a convenience that saves questions;
what holds a command back is the sandbox.
"""

from collections.abc import Iterable, Sequence
from functools import lru_cache

from msgspec import Struct

from tcoder.protocol.permissions import Approval, CommandPart, Decision, Rule, Verdict
from tcoder.tools import commands, rules
from tcoder.tools.commands_destructive import destroys, destroys_anywhere
from tcoder.tools.commands_escalating import escalating
from tcoder.tools.commands_programs import plays
from tcoder.tools.commands_read import ParsedCommand, SimpleCommand
from tcoder.tools.commands_safe import read_paths
from tcoder.tools.policy_paths import inside, is_guarded, is_protected, is_secret, is_system, locate, relative
from tcoder.tools.policy_question import always_rule, question, rule_from, visible
from tcoder.tools.policy_values import PolicyCall, PolicyFacts, PolicyKind

INWARD = frozenset({"plan", "ask"})
"""Tools of kind `other` that change nothing but the conversation."""
READABLE_WITHOUT_SANDBOX = ("/usr",)
__all__ = ["PolicyCall", "PolicyFacts", "PolicyKind", "always_rule", "judge", "question", "rule_from", "visible"]

READING_TOOLS = frozenset({"read", "search", "outline", "*"})


class _Judged(Struct, frozen=True):
    """A decision with its reason; `rule` is the rule or list entry behind it. `firm`: only a rule that names the very
    path may loosen it."""

    decision: Decision
    reason: str
    rule: str = ""
    firm: bool = False


def judge(call: PolicyCall, mode: Approval, rules_of_session: tuple[Rule, ...], facts: PolicyFacts) -> Verdict:
    """What may happen with a call: allow, ask a person, or deny, and why. Pure; never raises."""
    held = tuple(rule for rule in rules_of_session if rule.decision != "allow" or not rule.source.startswith("project"))
    verdict = (
        _judge_command(call, mode, held, facts)
        if call.kind == "shell" and call.command
        else _judge_paths(call, mode, held, facts)
    )
    if facts.yolo and verdict.decision == "ask":
        return Verdict("allow", f"nobody is asked (yolo); {verdict.reason}", verdict.rule, verdict.parts)
    return verdict


# Calls about paths ---------------------------------------------------------------------------------------------------


def _judge_paths(call: PolicyCall, mode: Approval, held: Sequence[Rule], facts: PolicyFacts) -> Verdict:
    judged = [_judge_path(call, path, mode, held, facts) for path in call.paths or ("",)]
    worst = max(judged, key=lambda one: rules.ORDER[one.decision])
    return Verdict(worst.decision, worst.reason, worst.rule)


def _judge_path(call: PolicyCall, path: str, mode: Approval, held: Sequence[Rule], facts: PolicyFacts) -> _Judged:
    spellings = _spellings(path, facts) if path else ("",)
    about = [rule for rule in rules.for_tool(held, call.tool) if rules.matches_path(rule, *spellings)]
    by_rule = rules.strictest(about)
    own = _own_judgement(call, path, mode, facts)
    if own.decision == "deny":
        return own
    if by_rule is None:
        return own
    said = _Judged(by_rule.decision, f"a rule of {by_rule.source}", rules.describe(by_rule))
    if rules.ORDER[said.decision] < rules.ORDER[own.decision] and own.firm and not rules.is_literal(by_rule):
        return own
    return said


def _spellings(path: str, facts: PolicyFacts) -> tuple[str, ...]:
    """A path as rules may name it: from the root and absolute, as written and where it really leads."""
    placed = locate(path, facts.root) or path
    real = facts.real(placed)
    return tuple({relative(placed, facts.root): 0, placed: 0, relative(real, facts.root): 0, real: 0})


def _own_judgement(call: PolicyCall, path: str, mode: Approval, facts: PolicyFacts) -> _Judged:
    match call.kind:
        case "read":
            return _judge_read(path, facts)
        case "edit":
            return _judge_edit(path, mode, facts)
        case "shell":
            if mode == "plan":
                return _Judged("deny", "plan mode runs no project code")
            return _contained(mode, facts)
        case "network":
            if mode == "auto" and facts.network:
                return _Judged("allow", "a person allowed the network")
            return _Judged("ask", "it uses the network")
        case "other":
            if call.tool in INWARD:
                return _Judged("allow", "it changes nothing but the conversation")
            if mode == "plan":
                return _Judged("deny", "plan mode changes nothing, and nobody can say what this tool does")
            return _Judged("ask", "no sandbox contains this tool")


def _judge_read(path: str, facts: PolicyFacts) -> _Judged:
    for placed in _places(path, facts):
        if is_system(placed):
            return _Judged("deny", f"{placed} belongs to the system: processes, devices")
    for placed in _places(path, facts):
        if is_secret(placed):
            return _Judged("ask", f"{relative(placed, facts.root)} may hold keys or passwords")
        if facts.root and not _in_workspace(placed, facts):
            return _Judged("ask", f"{placed} lies outside the workspace")
    return _Judged("allow", "it only reads")


def _judge_edit(path: str, mode: Approval, facts: PolicyFacts) -> _Judged:
    if mode == "plan":
        return _Judged("deny", "plan mode changes nothing")
    for placed in _places(path, facts):
        seen = relative(placed, facts.root)
        if is_protected(seen) or rules_fit(facts.protected, seen, placed):
            return _Judged("deny", f"{seen} decides what runs and what may: a person changes it, not a tool")
        if (facts.root and not _in_workspace(placed, facts)) or is_system(placed):
            return _Judged("deny", f"{placed} lies outside the workspace")
    for placed in _places(path, facts):
        seen = relative(placed, facts.root)
        if is_guarded(seen):
            return _Judged("ask", f"other programs run what {seen} says", firm=True)
        if is_secret(seen):
            return _Judged("ask", f"{seen} may hold keys or passwords", firm=True)
    if mode in ("edits", "auto"):
        return _Judged("allow", f"{mode} mode lets edits pass")
    return _Judged("ask", "it changes files")


def rules_fit(patterns: Sequence[str], *spellings: str) -> bool:
    return any(rules.matches_path(Rule("deny", "*", pattern), *spellings) for pattern in patterns)


def _places(path: str, facts: PolicyFacts, cwd: str = "") -> tuple[str, ...]:
    """Where a path is and where it really leads."""
    placed = locate(path, facts.root, cwd)
    real = facts.real(placed)
    return (placed,) if real == placed else (placed, real)


def _in_workspace(placed: str, facts: PolicyFacts) -> bool:
    return any(inside(placed, folder) for folder in (facts.root, *facts.writable))


def _contained(mode: Approval, facts: PolicyFacts) -> _Judged:
    if mode != "auto":
        return _Judged("ask", "it runs a command")
    if not facts.sandboxed:
        return _Judged("ask", "no sandbox contains it")
    if facts.network:
        return _Judged("allow", "the sandbox contains it; a person allowed the network")
    return _Judged("allow", "the sandbox contains it")


# Command lines -------------------------------------------------------------------------------------------------------


def _judge_command(call: PolicyCall, mode: Approval, held: Sequence[Rule], facts: PolicyFacts) -> Verdict:
    parsed = commands.parse(call.command)
    about = rules.for_tool(held, call.tool)
    denies = [rule for rule in held if rule.decision == "deny"]
    if denied := _denied(parsed, held, about, facts) or _writes_protected(parsed, facts):
        return Verdict("deny", denied.reason, denied.rule, _parts(parsed, mode, about, facts))
    if parsed.over_budget and denies:
        return Verdict("deny", f"{parsed.problem}, so rules that deny cannot be held against all of it")
    parts = _parts(parsed, mode, about, facts)
    if mode == "plan":
        return _plan_verdict(parts, parsed)
    if parsed.over_budget or parsed.strange:
        return Verdict("ask", parsed.problem, parts=parts)
    if what := destroys_anywhere(parsed, call.command):
        return Verdict("ask", f"it destroys work or sends it out: {what}", parts=parts)
    if doubt := _doubtful(parsed, about):
        return Verdict("ask", doubt.reason, doubt.rule, parts)
    if not parts and not parsed.problem:
        return Verdict("ask", "it is empty")
    contained = _contained(mode, facts)
    worst = max(parts, key=_weight, default=CommandPart("", contained.decision, contained.reason))
    if worst.decision == "ask" or not parsed.problem:
        reason = f"{worst.reason}; {parsed.problem}" if parsed.problem else worst.reason
        return Verdict(worst.decision, reason, worst.rule, parts)
    reason = contained.reason if contained.decision == "allow" else parsed.problem
    return Verdict(contained.decision, reason, parts=parts)


def _weight(part: CommandPart) -> tuple[int, bool]:
    """The most restrictive part speaks for the whole; of those that are allowed, one that does more than read."""
    return rules.ORDER[part.decision], not part.rule.startswith("built-in")


def _plan_verdict(parts: tuple[CommandPart, ...], parsed: ParsedCommand) -> Verdict:
    if parsed.problem:
        return Verdict("deny", f"plan mode lets only plain reading commands pass; {parsed.problem}", parts=parts)
    other = next((part for part in parts if part.decision != "allow"), None)
    if other is not None or not parts:
        return Verdict("deny", "plan mode changes nothing and runs no project code", parts=parts)
    return Verdict("allow", "it only reads", parts[0].rule, parts)


def _denied(
    parsed: ParsedCommand, held: Sequence[Rule], about: Sequence[Rule], facts: PolicyFacts
) -> CommandPart | None:
    """A rule that denies one of the commands, whatever starts it and wherever it stands, or a path that it names."""
    for command in parsed.commands:
        for rule in about:
            if rule.decision == "deny" and "yes" in _speaks_of(rule, command):
                return CommandPart(command.text, "deny", f"a rule of {rule.source}", rules.describe(rule))
    for rule in held:
        if rule.decision == "deny" and rule.tool != rules.SHELL_TOOL and rule.match != "*":
            for word in _words_about_paths(rule, parsed):
                if rules.matches_path(rule, *_spellings(word, facts)):
                    return CommandPart(word, "deny", f"a rule of {rule.source}", rules.describe(rule))
    return None


def _writes_protected(parsed: ParsedCommand, facts: PolicyFacts) -> CommandPart | None:
    """A command that plainly changes what only a person may change. git is not meant: it keeps its own folder."""
    written: list[tuple[str, str]] = [(target, target) for target in parsed.redirects]
    for command in parsed.commands:
        for one in commands.started_by(command):
            written += [(word, command.text) for word in _written(one)]
    for word, text in written:
        for placed in _places(word, facts, facts.cwd):
            seen = relative(placed, facts.root)
            if is_protected(seen) or rules_fit(facts.protected, seen, placed):
                return CommandPart(text, "deny", f"{seen} decides what runs and what may: a person changes it")
    return None


def _written(command: SimpleCommand) -> Iterable[str]:
    """The words of a command that name what it changes."""
    program, arguments = command.program, command.words[1:]
    if not plays(program, "writers") or program == "git":
        return
    if program in ("sed", "perl") and not any(one.startswith(("-i", "--in", "-pi", "-ni")) for one in arguments):
        return
    values = [one.partition("=")[2] for one in arguments if one.startswith(("of=", "--target"))]
    yield from values
    if program == "dd":
        return
    yield from arguments[-1:] if plays(program, "copiers") else arguments


def _words_about_paths(rule: Rule, parsed: ParsedCommand) -> Iterable[str]:
    """Words that may name a path of which a rule for another tool speaks: what may not be read may not be named at
    all, what may not be changed may be named by commands that only read or run it."""
    for command in parsed.commands:
        if rule.tool in READING_TOOLS or any(plays(one.program, "writers") for one in commands.started_by(command)):
            for word in command.words[1:]:
                yield word
                if "=" in word:
                    yield word.partition("=")[2]
    yield from parsed.redirects


@lru_cache(maxsize=8192)
def _speaks_of(rule: Rule, command: SimpleCommand) -> frozenset[rules.Certainty]:
    """Whether a rule that restricts speaks of a command or of what it starts, also when the program is named with its
    folder."""
    found: set[rules.Certainty] = set()
    for one in commands.started_by(command):
        certainty = rules.matches_command(rule, one)
        if certainty == "no" and one.program and one.words[0] != one.program:
            certainty = rules.matches_words(rule, (one.program, *one.words[1:]), one.unknown)
        found.add(certainty)
    return frozenset(found)


def _doubtful(parsed: ParsedCommand, about: Sequence[Rule]) -> CommandPart | None:
    """A rule that restricts and may speak of something that cannot be read off the command line."""
    for rule in about:
        if rule.decision == "allow":
            continue
        if parsed.opaque and rule.decision == "deny":
            why = f"{parsed.problem}, so a rule that denies cannot be held against it"
            return CommandPart("", "ask", why, rules.describe(rule))
        for command in parsed.commands:
            found = _speaks_of(rule, command)
            if "perhaps" in found or (rule.decision == "ask" and "yes" in found):
                return CommandPart(command.text, "ask", f"a rule of {rule.source}", rules.describe(rule))
    return None


def _parts(parsed: ParsedCommand, mode: Approval, about: Sequence[Rule], facts: PolicyFacts) -> tuple[CommandPart, ...]:
    folders = [facts.cwd] if facts.cwd else []
    parts: list[CommandPart] = []
    for command in parsed.commands:
        judged = _judge_part(command, mode, about, facts, tuple(folders))
        parts.append(CommandPart(command.text, judged.decision, judged.reason, judged.rule))
        if command.words[:1] == ("cd",) and len(command.words) == 2:
            base = folders[-1] if folders else facts.root
            folders.append(locate(command.words[1], facts.root, base))
    return tuple(parts)


def _judge_part(
    command: SimpleCommand, mode: Approval, about: Sequence[Rule], facts: PolicyFacts, folders: tuple[str, ...]
) -> _Judged:
    """One simple command by itself. `folders` are those in which it may run."""
    speaking = [
        rule
        for rule in about
        if (_allows(rule, command, facts, folders) if rule.decision == "allow" else "yes" in _speaks_of(rule, command))
    ]
    by_rule = rules.strictest(speaking)
    if by_rule is not None and by_rule.decision == "deny":
        return _Judged("deny", f"a rule of {by_rule.source}", rules.describe(by_rule))
    if what := destroys(command):
        return _Judged("ask", f"it destroys work or sends it out: {what}")
    if by_rule is not None and (mode != "plan" or by_rule.decision == "ask"):
        return _Judged(by_rule.decision, f"a rule of {by_rule.source}", rules.describe(by_rule))
    if command.unknown:
        return _contained(mode, facts)
    safe = _judge_reading(command, facts, folders)
    whole = _contained(mode, facts)
    if safe is None or (safe.decision == "ask" and whole.decision == "allow" and not safe.firm):
        return whole
    return safe


def _allows(rule: Rule, command: SimpleCommand, facts: PolicyFacts, folders: tuple[str, ...]) -> bool:
    """Whether a rule that allows speaks of exactly this command. A program named from a folder is only the one that
    was meant when it is known which folder that is."""
    if rules.matches_command(rule, command) != "yes":
        return False
    if not command.words or command.unknown:
        return rule.match == "*"
    if rule.match == "*":
        return True
    if not all(rules.names_word(rule, word) for word in escalating(command.words)):
        return False
    name = command.words[0]
    if "/" not in name:
        return True
    return "/../" not in f"/{name}/" and (name.startswith("/") or folders == (facts.root,))


def _judge_reading(command: SimpleCommand, facts: PolicyFacts, folders: tuple[str, ...]) -> _Judged | None:
    """Whether a command only reads, and what it may read; None when it is not one of those that are known to."""
    words = command.words
    if not words:
        return None
    if words[0] == "cd":
        return _judge_entering(words, facts, folders)
    paths = read_paths(words)
    if paths is None:
        return None
    for path in paths:
        for folder in folders or ("",):
            for placed in _places(path, facts, folder):
                if is_secret(placed or path):
                    return _Judged("ask", f"{path} may hold keys or passwords", firm=True)
                if is_system(placed):
                    return _Judged("ask", f"{placed} belongs to the system: processes, devices")
                if not placed or (not facts.sandboxed and not _readable(placed, facts)):
                    return _Judged("ask", f"{placed or path} lies outside the workspace")
    return _Judged("allow", "it only reads", f"built-in {words[0]}")


def _judge_entering(words: tuple[str, ...], facts: PolicyFacts, folders: tuple[str, ...]) -> _Judged:
    if len(words) != 2 or words[1].startswith("-"):
        return _Judged("ask", "it changes the folder of later commands")
    for folder in folders or ("",):
        for placed in _places(words[1], facts, folder):
            if not placed or (facts.root and not _in_workspace(placed, facts)):
                return _Judged("ask", "it leaves the workspace")
    return _Judged("allow", "it enters a folder of the workspace", "built-in cd")


def _readable(placed: str, facts: PolicyFacts) -> bool:
    if not placed.startswith("/"):
        return True
    return (
        not facts.root or _in_workspace(placed, facts) or any(inside(placed, one) for one in READABLE_WITHOUT_SANDBOX)
    )
