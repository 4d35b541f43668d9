"""Who may do what: rules, verdicts and the question that is put to a person."""

from typing import Literal

from msgspec import Struct

Approval = Literal["ask", "edits", "auto", "plan"]
Decision = Literal["allow", "ask", "deny"]
Answer = Literal["once", "session", "project", "deny"]


class Rule(Struct, frozen=True):
    """`tool` names a tool or `*`. `match` is a glob over the path or, for shell, a pattern over the words of one
    command, in which `*` alone stands for any number of words: `pytest *`. `matches` and `misses` are examples that are
    checked when the rule is loaded. A rule whose `source` begins with `project` may only restrict."""

    decision: Decision
    tool: str
    match: str = "*"
    matches: tuple[str, ...] = ()
    misses: tuple[str, ...] = ()
    source: str = "built-in"


class CommandPart(Struct, frozen=True):
    """One simple command of a compound one, with its own verdict."""

    text: str
    decision: Decision
    reason: str
    rule: str = ""


class Verdict(Struct, frozen=True):
    """`clean` = a command was let pass for what its words say: it has to run without what earlier ones exported.
    `network` = the question is whether it may run with the network, which is off."""

    decision: Decision
    reason: str
    rule: str = ""
    parts: tuple[CommandPart, ...] = ()
    clean: bool = False
    network: bool = False


class Question(Struct, frozen=True):
    """What a person is asked: exactly what runs, where, what it may touch, and the rule that "always" would add (the
    pattern of a shell rule, the whole text of another). `targets` say where paths that are symlinks really lead."""

    id: str
    tool: str
    action: str
    reason: str
    cwd: str = ""
    writes: tuple[str, ...] = ()
    network: bool = False
    sandboxed: bool = True
    always: str = ""
    targets: tuple[str, ...] = ()
