"""What a person is asked."""

import pytest

from tcoder.tools.policy.judge import PolicyCall, PolicyFacts, judge, question, visible

FACTS = PolicyFacts(sandboxed=True, root="/w", cwd="/w/src")


def test_a_question_about_a_command() -> None:
    call = PolicyCall("shell", "shell", command="pytest -q\n| tail")
    asked = question("q1", call, judge(call, "ask", (), FACTS), FACTS, writes=("/w", "/tmp"))
    assert (asked.id, asked.tool, asked.action) == ("q1", "shell", "pytest -q\n| tail")
    assert (asked.cwd, asked.writes, asked.sandboxed, asked.network) == ("/w/src", ("/w", "/tmp"), True, False)
    assert asked.reason


def test_a_question_about_an_edit_names_each_path_and_the_whole_rule() -> None:
    call = PolicyCall("edit", "edit", ("a\x1b[2K.py",))
    asked = question("q", call, judge(call, "ask", (), FACTS), FACTS)
    assert asked.action == "a⟨U+001B⟩[2K.py"
    assert asked.writes == ("a⟨U+001B⟩[2K.py",)
    plain = PolicyCall("edit", "edit", ("a.py",))
    assert question("q", plain, judge(plain, "ask", (), FACTS), FACTS).always == "allow edit a.py"


def test_a_question_about_the_tests_shows_the_command_that_runs() -> None:
    call = PolicyCall("test", "shell", runs="make check\nonly tests/a\x1b.py")
    asked = question("q", call, judge(call, "ask", (), FACTS), FACTS)
    assert (asked.action, asked.always) == ("make check\nonly tests/a⟨U+001B⟩.py", "allow test *")


def test_without_a_sandbox_the_network_is_open() -> None:
    facts = PolicyFacts(sandboxed=False, root="/w")
    call = PolicyCall("shell", "shell", command="make")
    asked = question("q", call, judge(call, "ask", (), facts), facts)
    assert asked.network and not asked.sandboxed


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("ls -la", "ls -la"),
        ("a" + " " * 8 + "b", "a        b"),
        ("a" + " " * 9 + "b", "a ⟨9 blanks⟩ b"),
        ("a" + " " * 9, "a ⟨9 blanks⟩ "),
        ("a\nb", "a\nb"),
        ("a\n\n\n\nb", "a\n⟨4 line breaks⟩\nb"),
        ("a\n \n\t\n \nb", "a\n⟨4 line breaks⟩\nb"),
        ("a\tb", "a⟨tab⟩b"),
        ("a\rb", "a⟨U+000D⟩b"),
        ("a\x9b31mb", "a⟨U+009B⟩31mb"),
        ("a\u202eb", "a⟨U+202E⟩b"),
        ("a\u200bb", "a⟨U+200B⟩b"),
        ("a\u00a0b", "a⟨U+00A0⟩b"),
        ("a\u2800b", "a⟨U+2800⟩b"),
        ("a\U000e0041b", "a⟨U+E0041⟩b"),
        ("a\ud800b", "a⟨U+D800⟩b"),
        ("naïve 中文", "naïve 中文"),
        ("x" * 50_000, "x" * 50_000),
    ],
)
def test_every_character_is_visible(text: str, shown: str) -> None:
    assert visible(text) == shown
