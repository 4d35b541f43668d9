"""The question that is put to a person, and the rule that "always" would add."""

import re

from tcoder.protocol.permissions import Question, Rule, Verdict
from tcoder.tools.policy import commands, rules
from tcoder.tools.policy.commands_destructive import destroys
from tcoder.tools.policy.commands_plain import read_plain
from tcoder.tools.policy.commands_programs import plays
from tcoder.tools.policy.commands_read import SimpleCommand
from tcoder.tools.policy.commands_safe import read_paths
from tcoder.tools.policy.values import PolicyCall, PolicyFacts

MAX_BLANKS = 8
MAX_BREAKS = 3
_BLANKS = re.compile(rf" {{{MAX_BLANKS + 1},}}")
_BREAKS = re.compile(rf"\n(?:[ \t]*\n){{{MAX_BREAKS},}}")
# Letters that Unicode calls printable and that no font shows.
_INVISIBLE = frozenset("\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0\u034f")


def question(
    question_id: str, call: PolicyCall, verdict: Verdict, facts: PolicyFacts, writes: tuple[str, ...] = ()
) -> Question:
    """What a person is asked: exactly what runs, whole, with every character visible, where it really leads, and the
    rule that "always" would add. `writes` are the folders that a command may change."""
    typed = f"type at the program that waits: {call.typed}" if call.typed else ""
    action = call.command or typed or call.runs or "\n".join(call.paths) or call.tool
    always = None if verdict.network else always_rule(call)
    length = f" ({len(call.command)} characters)" if len(call.command) > 500 else ""
    return Question(
        id=question_id,
        tool=call.tool,
        action=visible(action),
        reason=visible(verdict.reason) + length,
        cwd=visible(facts.cwd or facts.root),
        writes=tuple(map(visible, call.paths if call.kind == "edit" else writes)),
        network=facts.network or verdict.network or not facts.sandboxed,
        sandboxed=facts.sandboxed,
        always="" if always is None else always.match if always.tool == rules.SHELL_TOOL else rules.describe(always),
        targets=tuple(f"{visible(path)} → {visible(real)}" for path, real in facts.targets),
    )


def always_rule(call: PolicyCall) -> Rule | None:
    """The narrowest rule that would let such a call pass from now on; None when there is none that a person could
    judge: destructive commands, command lines that are more than plain words, or that hold several unknown commands.

    A command is allowed with its very words, unless its program only checks or formats (then any arguments), or has
    subcommands (then that one)."""
    if call.kind != "shell":
        return (
            Rule("allow", call.tool, call.paths[0] if len(call.paths) == 1 else "*", source="person")
            if (len(call.paths) < 2)
            else None
        )
    if call.typed or call.keeps:
        return None
    if not call.command:
        return Rule("allow", call.tool, "*", source="person")
    parsed = commands.parse(call.command)
    asking = [one for one in parsed.commands if one.words[0] != "cd" and read_paths(one.words) is None]
    if parsed.problem or any(map(destroys, parsed.commands)) or len({one.words for one in asking}) != 1:
        return None
    pattern = _pattern(asking[0])
    return Rule("allow", call.tool, pattern, source="person") if pattern else None


def _pattern(command: SimpleCommand) -> str:
    words = command.words
    kept = words
    if plays(words[0], "checkers"):
        kept = words[:1]
    elif plays(words[0], "with_subcommands") and len(words) > 1 and re.fullmatch(r"[a-z][\w:-]*", words[1]):
        # what `go run` and `bundle exec` start is named by the words that follow: those were seen, others were not
        kept = words if words[1] in ("run", "exec") else words[:2]
    quoted = [_quoted(word) for word in kept]
    if "" in quoted:
        return ""
    return " ".join(quoted) if kept is words else f"{' '.join(quoted)} *"


def _quoted(word: str) -> str:
    """A word as a pattern that fits it alone; empty when there is none that a person could read."""
    if not word.isprintable() or any(character in word for character in "*?['\"") or not word:
        return ""
    return f'"{word}"' if " " in word else word


def rule_from(pattern: str, call: PolicyCall) -> Rule:
    """The rule that a person wrote or left as proposed, for calls like this one. Raises `UsageError` when it is empty
    or does not speak of the call that was asked about."""
    rule = Rule("allow", call.tool, pattern.strip().removeprefix(f"allow {call.tool} "), source="person")
    rules.check(rule, "this rule")
    if call.command:
        fits = any(rules.matches_words(rule, words) == "yes" for words in read_plain(call.command) or ())
    else:
        fits = rule.match == "*" or any(rules.matches_path(rule, path) for path in call.paths)
    if not fits:
        raise rules.no_match(rule, call.command or ", ".join(call.paths))
    return rule


def visible(text: str) -> str:
    """`text`, whole, with control and direction marks, odd blanks and invisible letters written out, and long runs of
    blanks or empty lines collapsed with their length said."""
    text = _BLANKS.sub(lambda run: f" ⟨{len(run.group())} blanks⟩ ", text)
    text = _BREAKS.sub(lambda run: f"\n⟨{run.group().count(chr(10))} line breaks⟩\n", text)
    if text.isascii() and text.isprintable():
        return text
    return "".join(map(_visible_character, text))


def _visible_character(character: str) -> str:
    if character == "\n" or (character.isprintable() and character not in _INVISIBLE):
        return character
    return "⟨tab⟩" if character == "\t" else f"⟨U+{ord(character):04X}⟩"
