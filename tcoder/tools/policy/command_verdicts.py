"""What the policy says of a command line: each simple command by itself, the most restrictive speaks for all. Pure."""

from collections.abc import Iterable, Sequence
from functools import lru_cache

from tcoder.protocol.permissions import Approval, CommandPart, Rule, Verdict
from tcoder.tools.policy import commands, rules
from tcoder.tools.policy.calls import Judged, contained, fits_any, in_workspace, places, spellings
from tcoder.tools.policy.commands_destructive import destroys, destroys_anywhere
from tcoder.tools.policy.commands_escalating import escalating
from tcoder.tools.policy.commands_network import reaches_out
from tcoder.tools.policy.commands_programs import plays
from tcoder.tools.policy.commands_read import ParsedCommand, SimpleCommand
from tcoder.tools.policy.commands_safe import read_paths
from tcoder.tools.policy.paths import inside, is_guarded, is_protected, is_secret, is_system, locate, relative
from tcoder.tools.policy.values import PolicyCall, PolicyFacts

READABLE_WITHOUT_SANDBOX = ("/usr",)
MOST_FOLDERS = 8
WALKERS = frozenset({"rg", "ag", "ack", "tar", "zip", "rsync"})
WALKERS_BY_WORD = {
    "git": frozenset({"grep", "show", "archive", "checkout", "restore", "diff"}),
    "find": frozenset({"-exec", "-execdir", "-delete"}),
}
READING_TOOLS = frozenset({"read", "search", "outline", "*"})


def judge_command(call: PolicyCall, mode: Approval, held: Sequence[Rule], facts: PolicyFacts) -> Verdict:
    parsed = commands.parse(call.command)
    about = rules.for_tool(held, call.tool, rules.SHELL_TOOL)  # a command line is one, whatever tool runs it
    denies = [rule for rule in held if rule.decision == "deny"]
    written = _judge_written(parsed, facts)
    denied = _denied(parsed, held, about, facts) or (written if written and written.decision == "deny" else None)
    if denied:
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
    if doubt := written or _doubtful(parsed, about) or _may_touch_denied(parsed, held, facts):
        return Verdict("ask", doubt.reason, doubt.rule, parts)
    if not parts and not parsed.problem:
        return Verdict("ask", "it is empty")
    if facts.lends_network and any(map(reaches_out, parsed.commands)):
        why = "it installs or fetches something; the network is off, and a yes lets this command have it"
        return Verdict("ask", why, parts=parts, network=True)
    outside_rules = contained(mode, facts)
    worst = max(parts, key=_weight, default=CommandPart("", outside_rules.decision, outside_rules.reason))
    if worst.decision == "ask" or not parsed.problem:
        reason = f"{worst.reason}; {parsed.problem}" if parsed.problem else worst.reason
        by_words = outside_rules.decision != "allow" and all(part.rule.startswith("built-in") for part in parts)
        return Verdict(worst.decision, reason, worst.rule, parts, clean=worst.decision == "allow" and by_words)
    reason = outside_rules.reason if outside_rules.decision == "allow" else parsed.problem
    return Verdict(outside_rules.decision, reason, parts=parts)


def _weight(part: CommandPart) -> tuple[int, bool]:
    """The most restrictive part speaks for the whole; of those that are allowed, one that does more than read."""
    return rules.ORDER[part.decision], not part.rule.startswith("built-in")


def _plan_verdict(parts: tuple[CommandPart, ...], parsed: ParsedCommand) -> Verdict:
    if parsed.problem:
        return Verdict("deny", f"plan mode lets only plain reading commands pass; {parsed.problem}", parts=parts)
    other = next((part for part in parts if part.decision != "allow"), None)
    if other is not None or not parts:
        return Verdict("deny", "plan mode changes nothing and runs no project code", parts=parts)
    return Verdict("allow", "it only reads", parts[0].rule, parts, clean=True)


def _denied(
    parsed: ParsedCommand, held: Sequence[Rule], about: Sequence[Rule], facts: PolicyFacts
) -> CommandPart | None:
    """A rule that denies one of the commands, whatever starts it and wherever it stands, or a path that it names, in
    whichever folder of the line it may run."""
    for command in parsed.commands:
        for rule in about:
            if rule.decision == "deny" and "yes" in _speaks_of(rule, command):
                return CommandPart(command.text, "deny", f"a rule of {rule.source}", rules.describe(rule))
    folders = _folders(parsed, facts)
    for rule in _about_paths(held):
        for word in _words_about_paths(rule, parsed):
            for folder in folders:
                if rules.matches_path(rule, *spellings(word, facts, folder)):
                    return CommandPart(word, "deny", f"a rule of {rule.source}", rules.describe(rule))
    return None


def _about_paths(held: Sequence[Rule]) -> Iterable[Rule]:
    return (rule for rule in held if rule.decision == "deny" and rule.tool != rules.SHELL_TOOL and rule.match != "*")


def _folders(parsed: ParsedCommand, facts: PolicyFacts) -> tuple[str, ...]:
    """The folders in which commands of a line may run: where it begins, and where each `cd` leads from any of them."""
    folders = [facts.cwd] if facts.cwd else [""]
    for command in parsed.commands:
        if command.words[:1] in (("cd",), ("pushd",)) and len(command.words) == 2:
            folders += [locate(command.words[1], facts.root, folder) for folder in tuple(folders)]
            folders = list(dict.fromkeys(folders))[:MOST_FOLDERS]
    return tuple(dict.fromkeys(("", *folders)))


def _may_touch_denied(parsed: ParsedCommand, held: Sequence[Rule], facts: PolicyFacts) -> CommandPart | None:
    """A command that may touch a path which a rule denies without naming it: by words that bash expands, or by going
    through a folder that holds it."""
    for rule in _about_paths(held):
        parent = rule.match.split("*", 1)[0].rpartition("/")[0]
        for command in parsed.commands:
            for one in commands.started_by(command):
                writes = plays(one.program, "writers")
                if not writes and (rule.tool not in READING_TOOLS or one.program == "cd"):
                    continue
                if one.unknown and len(one.words) > 1:
                    why = "it may name what a rule denies"
                elif _goes_through(one, parent, facts, parsed):
                    why = "it goes through a folder that holds what a rule denies"
                else:
                    continue
                return CommandPart(command.text, "ask", why, rules.describe(rule))
    return None


def _goes_through(command: SimpleCommand, parent: str, facts: PolicyFacts, parsed: ParsedCommand) -> bool:
    """Whether a program that reads or changes whole folders is given one that holds `parent`."""
    words = command.words[1:]
    recursive = (
        command.program in WALKERS
        or not WALKERS_BY_WORD.get(command.program, frozenset()).isdisjoint(words)
        or (
            command.program in ("grep", "egrep", "fgrep", "cp", "rm", "chmod", "chown", "ls", "diff", "sed")
            and any(word.startswith("-") and not word.startswith("--") and set(word) & set("rR") for word in words)
        )
    )
    if not recursive:
        return False
    held = locate(parent or ".", facts.root)
    named = [word for word in words if not word.startswith("-")]
    if len(named) < 2:
        named.append(".")  # a pattern alone is looked for here
    folders = _folders(parsed, facts)
    return any(inside(held, locate(word, facts.root, folder)) for word in named for folder in folders)


def _judge_written(parsed: ParsedCommand, facts: PolicyFacts) -> CommandPart | None:
    """The strictest word on files that the command plainly changes: what an edit would be refused or asked about, so
    is a command. git is not meant: it keeps its own folder."""
    named: list[tuple[str, str]] = [(target, target) for target in parsed.redirects]
    for command in parsed.commands:
        for one in commands.started_by(command):
            named += [(word, command.text) for word in _written(one)]
    judged: list[CommandPart] = []
    folders = _folders(parsed, facts)
    for word, text in named:
        for placed in dict.fromkeys(
            place for folder in folders[-MOST_FOLDERS:] for place in places(word, facts, folder)
        ):
            seen = relative(placed, facts.root)
            if is_protected(seen) or fits_any(facts.protected, seen, placed):
                return CommandPart(text, "deny", f"{seen} decides what runs and what may: a person changes it")
            if is_guarded(seen):
                judged.append(CommandPart(text, "ask", f"other programs run what {seen} says"))
            elif is_secret(seen):
                judged.append(CommandPart(text, "ask", f"{seen} may hold keys or passwords"))
    return judged[0] if judged else None


def _written(command: SimpleCommand) -> Iterable[str]:
    """The words of a command that name what it changes."""
    program, arguments = command.program, command.words[1:]
    if not plays(program, "writers") or program == "git":
        return
    if program in ("sed", "perl") and not any(one.startswith(("-i", "--in", "-pi", "-ni")) for one in arguments):
        return
    for at, argument in enumerate(arguments):
        if argument.startswith(("of=", "--target")):
            yield argument.partition("=")[2]
        elif argument.startswith("-t") and plays(program, "copiers"):
            yield argument[2:] or "".join(arguments[at + 1 : at + 2])
    if program != "dd":
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
            if rule.decision == "deny" and any(map(_may_run_anything, commands.started_by(command))):
                why = "it may run what is denied under another name"
                return CommandPart(command.text, "ask", why, rules.describe(rule))
            found = _speaks_of(rule, command)
            if "perhaps" in found or (rule.decision == "ask" and "yes" in found):
                return CommandPart(command.text, "ask", f"a rule of {rule.source}", rules.describe(rule))
    return None


def _may_run_anything(command: SimpleCommand) -> bool:
    """A shell whose script is its input or is put together by another, a builtin that gives names a new meaning."""
    program = command.program
    if plays(program, "redefiners"):
        return True
    if plays(program, "shells"):
        return bool(command.unknown) or all(one.startswith(("-", "/dev/")) for one in command.words[1:])
    return plays(program, "evaluators") and bool(command.unknown)


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
) -> Judged:
    """One simple command by itself. `folders` are those in which it may run."""
    speaking = [
        rule
        for rule in about
        if (_allows(rule, command, facts, folders) if rule.decision == "allow" else "yes" in _speaks_of(rule, command))
    ]
    by_rule = rules.strictest(speaking)
    if by_rule is not None and by_rule.decision == "deny":
        return Judged("deny", f"a rule of {by_rule.source}", rules.describe(by_rule))
    if what := destroys(command):
        return Judged("ask", f"it destroys work or sends it out: {what}")
    if by_rule is not None and (mode != "plan" or by_rule.decision == "ask"):
        return Judged(by_rule.decision, f"a rule of {by_rule.source}", rules.describe(by_rule))
    if command.unknown:
        return contained(mode, facts)
    safe = _judge_reading(command, facts, folders)
    whole = contained(mode, facts)
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


def _judge_reading(command: SimpleCommand, facts: PolicyFacts, folders: tuple[str, ...]) -> Judged | None:
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
            for placed in places(path, facts, folder):
                if is_secret(placed or path):
                    return Judged("ask", f"{path} may hold keys or passwords", firm=True)
                if is_system(placed):
                    return Judged("ask", f"{placed} belongs to the system: processes, devices")
                if not placed or (not facts.sandboxed and not _readable(placed, facts)):
                    return Judged("ask", f"{placed or path} lies outside the workspace")
    return Judged("allow", "it only reads", f"built-in {words[0]}")


def _judge_entering(words: tuple[str, ...], facts: PolicyFacts, folders: tuple[str, ...]) -> Judged:
    if len(words) != 2 or words[1].startswith("-"):
        return Judged("ask", "it changes the folder of later commands")
    for folder in folders or ("",):
        for placed in places(words[1], facts, folder):
            if not placed or (facts.root and not in_workspace(placed, facts)):
                return Judged("ask", "it leaves the workspace")
    return Judged("allow", "it enters a folder of the workspace", "built-in cd")


def _readable(placed: str, facts: PolicyFacts) -> bool:
    if not placed.startswith("/"):
        return True
    return not facts.root or in_workspace(placed, facts) or any(inside(placed, one) for one in READABLE_WITHOUT_SANDBOX)
