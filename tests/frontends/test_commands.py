"""What a line of the prompt means, and its completions."""

import pytest

from tcoder.frontends.actions import ACTIONS, BY_ID
from tcoder.frontends.commands import (
    Do,
    Meaning,
    Nothing,
    Say,
    Shell,
    Unknown,
    complete,
    fuzzy,
    meaning,
    mention,
    names,
)
from tcoder.protocol.queries import UserCommand

USER = (UserCommand("fix-lint", "fix the linter", "run the linter and fix $ARGUMENTS", ".tcoder/commands/fix-lint.md"),)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", Nothing()),
        ("   ", Nothing()),
        ("hello", Say("hello")),
        ("/fast", Do("variant.fast")),
        ("/fast do it", Do("variant.fast", "do it")),
        ("/variant fast", Do("variant.fast")),
        ("/variant standard do it", Do("variant.standard", "do it")),
        ("/variant auto off", Do("variant.auto", "off")),
        ("/variant", Do("variant.explain")),
        ("/variant why", Do("variant.explain", "why")),
        ("/variant save", Do("variant.explain", "save")),
        ("/variant quit", Do("variant.explain", "quit")),
        ("/exit", Do("session.quit")),
        ("exit", Do("session.quit")),
        ("quit", Do("session.quit")),
        (":q", Do("session.quit")),
        ("exit the loop early", Say("exit the loop early")),
        ("!ls -l", Shell("ls -l", True)),
        ("!!ls", Shell("ls", False)),
        ("!", Nothing()),
        ("//literal", Say("/literal")),
        ("/etc/hosts looks wrong", Say("/etc/hosts looks wrong")),
        ("/fix-lint src", Say("run the linter and fix src")),
        ("/fsat", Unknown("fsat", ("fast", "status", "std"))),
        ("/zzzzzz", Unknown("zzzzzz", ())),
    ],
)
def test_meaning(text: str, expected: Meaning) -> None:
    assert meaning(text, USER) == expected


def test_no_name_means_two_things() -> None:
    all_names = [name for action in ACTIONS if action.slash for name in (action.slash, *action.aliases)]
    assert len(all_names) == len(set(all_names)) == len(names())
    assert len(BY_ID) == len(ACTIONS)


@pytest.mark.parametrize(
    ("before", "first"),
    [
        ("/fa", "/fast"),
        ("/unq", "/unqueue"),
        ("/effort h", "high"),
        ("/theme mo", "mono"),
        ("/fix", "/fix-lint"),
        ("hello /fa", None),
        ("//fa", None),
        ("/effort high", "xhigh"),
    ],
)
def test_completion(before: str, first: str | None) -> None:
    found = complete(before, USER)
    assert (found[0].label if found else None) == first


def test_a_completion_replaces_what_was_typed() -> None:
    candidate = complete("/effort me")[0]
    assert "/effort me"[: candidate.start] + candidate.text == "/effort medium"


@pytest.mark.parametrize(
    ("before", "found"),
    [
        ("see @src/re", (4, "src/re")),
        ("@", (0, "")),
        ("a@b.c", None),
        ("(@x", (1, "x")),
        ("@a b", None),
        ("none", None),
    ],
)
def test_mention(before: str, found: tuple[int, str] | None) -> None:
    assert mention(before) == found


@pytest.mark.parametrize(
    ("wanted", "text", "fits"), [("", "x", True), ("ckp", "checkpoint", True), ("pkc", "checkpoint", False)]
)
def test_fuzzy(wanted: str, text: str, fits: bool) -> None:
    assert (fuzzy(wanted, text) is not None) is fits


def test_a_whole_word_beats_scattered_letters() -> None:
    whole, scattered = fuzzy("plan", "plan"), fuzzy("plan", "p-l-a-n")
    assert whole is not None and scattered is not None and whole < scattered
