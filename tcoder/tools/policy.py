"""The permission policy: pure judgement of one call by mode, rules and facts.

The most restrictive wins and a denial always holds. The allow-list is a convenience that saves questions; what holds
a command back is the sandbox.
"""

import tomllib
from collections.abc import Iterable
from fnmatch import fnmatchcase
from functools import cache
from importlib import resources

import msgspec
from msgspec import Struct

from tcoder.protocol.permissions import Approval, CommandPart, Decision, Question, Rule, Verdict
from tcoder.tools.base import Kind

ORDER: dict[Decision, int] = {"allow": 0, "ask": 1, "deny": 2}
MAX_SHOWN = 4000


class PolicyCall(Struct, frozen=True):
    """A call as the policy sees it: paths as the model wrote them, or a command line."""

    tool: str
    kind: Kind
    paths: tuple[str, ...] = ()
    command: str = ""


class PolicyFacts(Struct, frozen=True):
    """`sandboxed`: commands are contained. `network`: they may use it. `root`: the workspace."""

    sandboxed: bool
    network: bool = False
    trusted: bool = False
    root: str = ""


class SafeCommand(Struct, frozen=True, forbid_unknown_fields=True):
    refused: tuple[str, ...] = ()
    forms: tuple[str, ...] = ()
    max_words: int = 0


def judge(call: PolicyCall, mode: Approval, rules: tuple[Rule, ...], facts: PolicyFacts) -> Verdict:
    """What may happen with a call: allow, ask a person, or deny, and why."""
    if call.kind == "shell" and call.command:
        return _judge_command(call, mode, rules, facts)
    by_rule = _by_rules(call.tool, call.paths or ("",), rules)
    return _strictest((_by_mode(call, mode, facts), *([by_rule] if by_rule else [])), loosened_by=by_rule)


def _by_mode(call: PolicyCall, mode: Approval, facts: PolicyFacts) -> Verdict:
    match call.kind:
        case "read" | "other":
            return Verdict("allow", "it only reads")
        case "edit":
            if mode == "plan":
                return Verdict("deny", "plan mode changes nothing")
            if mode in ("edits", "auto"):
                return Verdict("allow", f"{mode} mode lets edits pass")
            return Verdict("ask", "it changes files")
        case "shell":
            if mode == "plan":
                return Verdict("deny", "plan mode runs no project code")
            return _contained(mode, facts)


def _contained(mode: Approval, facts: PolicyFacts) -> Verdict:
    if mode == "auto" and facts.sandboxed and not facts.network:
        return Verdict("allow", "the sandbox contains it")
    if mode == "auto" and facts.sandboxed:
        return Verdict("allow", "the sandbox contains it; a person allowed the network")
    if mode == "auto":
        return Verdict("ask", "no sandbox contains it")
    return Verdict("ask", "it runs a command")


def _by_rules(tool: str, subjects: Iterable[str], rules: tuple[Rule, ...]) -> Verdict | None:
    """The strictest verdict that rules give; None when no rule speaks of all subjects."""
    verdicts: list[Verdict] = []
    for subject in subjects:
        matching = [rule for rule in rules if rule.tool in (tool, "*") and matches(rule, subject)]
        if not matching:
            return next((v for v in verdicts if v.decision == "deny"), None)
        strictest = max(matching, key=lambda rule: ORDER[rule.decision])
        verdicts.append(Verdict(strictest.decision, f"rule of {strictest.source}", describe_rule(strictest)))
    return max(verdicts, key=lambda verdict: ORDER[verdict.decision], default=None)


def matches(rule: Rule, subject: str) -> bool:
    """Whether a rule speaks of a path or a command. `make *` also means `make` alone."""
    return fnmatchcase(subject, rule.match) or (rule.match.endswith(" *") and subject == rule.match[:-2])


def describe_rule(rule: Rule) -> str:
    return f"{rule.decision} {rule.tool} {rule.match}"


def _strictest(verdicts: tuple[Verdict, ...], *, loosened_by: Verdict | None) -> Verdict:
    """A rule may loosen a question of the mode, never a denial."""
    strictest = max(verdicts, key=lambda verdict: ORDER[verdict.decision])
    if strictest.decision == "ask" and loosened_by is not None and loosened_by.decision == "allow":
        return loosened_by
    return strictest


def _judge_command(call: PolicyCall, mode: Approval, rules: tuple[Rule, ...], facts: PolicyFacts) -> Verdict:
    from tcoder.tools.bash_syntax import parse  # late: the grammar is needed for the first command only

    parsed = parse(call.command)
    if not parsed.commands and parsed.problem and any(rule.decision == "deny" for rule in rules):
        return Verdict("deny", f"{parsed.problem}, so rules that deny cannot be held against it")
    parts = tuple(
        CommandPart(command.text, *_judge_part(command.words, mode, rules, facts)) for command in parsed.commands
    )
    if mode == "plan":
        return _plan_verdict(parts, parsed.problem)
    worst = max(parts, key=lambda part: ORDER[part.decision], default=None)
    if worst is not None and worst.decision == "deny":
        return Verdict("deny", worst.reason, worst.rule, parts)
    if worst is not None and worst.reason.startswith("it destroys"):
        return Verdict("ask", worst.reason, worst.rule, parts)
    if parsed.problem:
        whole = _contained(mode, facts)
        return Verdict(whole.decision, f"{whole.reason}; {parsed.problem}", parts=parts)
    if worst is None:
        return Verdict("ask", "it is empty")
    return Verdict(worst.decision, worst.reason, worst.rule, parts)


def _plan_verdict(parts: tuple[CommandPart, ...], problem: str) -> Verdict:
    if problem:
        return Verdict("deny", f"plan mode only lets plain reading commands pass; {problem}", parts=parts)
    if all(part.decision == "allow" for part in parts) and parts:
        return Verdict("allow", "it only reads", parts=parts)
    return Verdict("deny", "plan mode changes nothing and runs no project code", parts=parts)


def _judge_part(
    words: tuple[str, ...], mode: Approval, rules: tuple[Rule, ...], facts: PolicyFacts
) -> tuple[Decision, str, str]:
    line = " ".join(words)
    by_rule = _by_rules("shell", (line,), rules)
    if by_rule is not None and by_rule.decision == "deny":
        return "deny", by_rule.reason, by_rule.rule
    if what := destroys(words):
        return "ask", f"it destroys work: {what}", by_rule.rule if by_rule else ""
    if by_rule is not None and mode != "plan":
        return by_rule.decision, by_rule.reason, by_rule.rule
    if is_safe(words):
        return "allow", "it only reads", f"built-in {words[0]}"
    if mode == "plan":
        return "deny", "plan mode changes nothing", ""
    whole = _contained(mode, facts)
    return whole.decision, whole.reason, ""


def is_safe(words: tuple[str, ...]) -> bool:
    """Whether a command of plain words is one that reads and prints, with no argument that makes it do more."""
    if not words:
        return False
    program, *arguments = words
    safe = _safe_commands().get(program)
    if safe is None:
        return False
    if safe.forms and not (arguments and arguments[0] in safe.forms):
        return False
    if safe.max_words and len(arguments) > safe.max_words:
        return False
    if any(_private(argument) for argument in arguments):
        return False
    return not any(fnmatchcase(argument, pattern) for argument in arguments for pattern in safe.refused)


def _private(argument: str) -> bool:
    """Whether an argument names what is nobody's business: other users' and processes' files, devices."""
    return argument.startswith(("/proc", "/sys", "/dev", "~")) or "/.ssh" in argument or argument.endswith(".env")


def destroys(words: tuple[str, ...]) -> str:
    """The words by which a command is known to destroy work, else empty."""
    for pattern in _destructive():
        remaining = iter(words)
        if fnmatchcase(next(remaining, "").rpartition("/")[2], pattern[0]) and all(
            any(fnmatchcase(word, wanted) for word in remaining) for wanted in pattern[1:]
        ):
            return " ".join(pattern)
    return ""


@cache
def _safe_commands() -> dict[str, SafeCommand]:
    return msgspec.convert(_data("safe_commands.toml"), dict[str, SafeCommand])


@cache
def _destructive() -> tuple[tuple[str, ...], ...]:
    return msgspec.convert(_data("destructive.toml")["commands"], tuple[tuple[str, ...], ...])


def _data(name: str) -> dict[str, object]:
    return tomllib.loads(resources.files("tcoder.tools").joinpath(name).read_text(encoding="utf-8"))


def always_rule(call: PolicyCall) -> str:
    """The rule that "always" adds: this program with any arguments, or this very path; empty when none would be
    narrow enough to be understood."""
    if call.kind == "edit":
        return f"allow {call.tool} {call.paths[0]}" if call.paths else ""
    from tcoder.tools.bash_syntax import parse  # late: see above

    parsed = parse(call.command)
    if parsed.problem or len(parsed.commands) != 1 or destroys(parsed.commands[0].words):
        return ""
    return f"allow shell {parsed.commands[0].words[0]} *"


def question(question_id: str, call: PolicyCall, verdict: Verdict, facts: PolicyFacts) -> Question:
    """What a person is asked: exactly what runs, with every character visible."""
    action = call.command or ", ".join(call.paths)
    return Question(
        id=question_id,
        tool=call.tool,
        action=visible(action),
        reason=verdict.reason,
        cwd=facts.root,
        writes=call.paths if call.kind == "edit" else (),
        network=facts.network,
        sandboxed=facts.sandboxed,
        always=always_rule(call),
    )


def visible(text: str) -> str:
    """Text with control characters, direction marks and long blanks made visible, cut with its length said."""
    out: list[str] = []
    blanks = 0
    for character in text:
        if character == " ":
            blanks += 1
            continue
        out.append(" " * blanks if blanks <= 8 else f" ⟨{blanks} blanks⟩ ")
        blanks = 0
        hidden = (ord(character) < 32 and character != "\n") or not (character.isprintable() or character == "\n")
        out.append(f"⟨U+{ord(character):04X}⟩" if hidden else character)
    shown = "".join(out)
    if len(shown) > MAX_SHOWN:
        return f"{shown[:MAX_SHOWN]}… ({len(text)} characters in all)"
    return shown
