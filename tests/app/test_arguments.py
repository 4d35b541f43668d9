"""The command line as a table."""

import re
import shlex
from pathlib import Path

import pytest

from tcoder.app.arguments import parse
from tcoder.app.command_help import PAGES
from tcoder.app.options import COMMANDS, Options


def parsed(*argv: str) -> Options:
    options = parse(list(argv))
    assert isinstance(options, Options), options
    return options


@pytest.mark.parametrize(
    ("argv", "field", "value"),
    [
        (["--task", "-x is broken"], "task", "-x is broken"),
        (["-p", "--help"], "task", "--help"),
        (["--prompt=a=b"], "task", "a=b"),
        (["run", "fix it"], "task", "fix it"),
        (["run", "fix", "it", "--json"], "task", "fix it"),
        (["--json", "locate", "words here"], "command", "locate"),
        (["locate", "words here", "--json"], "output_format", "json"),
        (["locate", "words here"], "arguments", ("words here",)),
        (["policy", "check", "--json", "--", "ls", "--json"], "arguments", ("check", "ls", "--json")),
        (["commit", "-m", "why"], "message", "why"),
        (["-m", "openai/x", "--task", "t"], "model", "openai/x"),
        ([], "path", "."),
        (["src"], "path", "src"),
        (["-C", "src", "--task", "t"], "path", "src"),
        (["--task", "t", "src"], "path", "src"),
        (["undo", "p-3"], "arguments", ("p-3",)),
        (["-r"], "resume", ""),
        (["-r", "2026"], "resume", "2026"),
        (["--allowed-tools", "read,search", "--task", "t"], "allowed_tools", ("read", "search")),
        (["--add-dir", "a", "--add-dir", "b"], "add_dirs", ("a", "b")),
        (["--budget", "long", "--task", "t"], "budget", "long"),
        (["--max-time", "1.5"], "max_time", 1.5),
        (["--output-format", "stream-json", "--json"], "output_format", "stream-json"),
    ],
)
def test_words(argv: list[str], field: str, value: object) -> None:
    assert getattr(parsed(*argv), field) == value


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["--task"], "--task needs a text"),
        (["run"], "tcoder run needs a text"),
        (["--bogus"], "unknown flag --bogus"),
        (["frob", "nicate"], "unknown command 'frob'"),
        (["frob", "nicate"], "quote a task"),
        (["locat"], "did you mean `tcoder locate`?"),
        (["lcoate", "where"], "did you mean `tcoder locate`?"),
        (["sesions"], "did you mean `tcoder sessions`?"),
        (["Review"], "did you mean `tcoder review`?"),
        (["fix the bug"], "quote a task: tcoder --task"),
        (["--modle", "x"], "did you mean --model?"),
        (["--max-trun=3"], "did you mean --max-turns?"),
        (["--max-turns", "0"], "not a positive whole number"),
        (["--max-turns", "-3"], "max-turns"),
        (["--max-cost", "cheap"], "not an amount of US dollars"),
        (["--max-cost", "nan"], "must not be negative"),
        (["--max-time", "-1"], "max-time"),
        (["--budget", "huge"], "invalid choice"),
        (["--approval", "never"], "invalid choice"),
    ],
)
def test_wrong_usage_is_one_sentence_and_code_2(
    argv: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert parse(argv) == 2
    out = capsys.readouterr()
    assert message in out.err
    assert out.err.count("\n") == 1 and out.out == ""


def test_wrong_usage_in_json_mode_is_an_object_on_stdout(capsys: pytest.CaptureFixture[str]) -> None:
    assert parse(["--json", "--bogus"]) == 2
    out = capsys.readouterr()
    assert out.out.startswith('{"error":{"kind":"usage"') and out.err == ""


def test_help_answers_and_names_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert parse(["--help"]) == 0
    text = capsys.readouterr().out
    for word in ("locate", "apply", "timeline", "policy check", "--yolo", "exit codes"):
        assert word in text


@pytest.mark.parametrize("command", COMMANDS)
def test_each_command_has_a_short_help_of_its_own(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    told: list[str] = []
    for argv in ([command, "--help"], ["--json", command, "-h"], ["help", command]):
        assert parse(argv) == 0
        told.append(capsys.readouterr().out)
    text = told[0]
    assert set(told) == {text} and text.startswith(f"usage: tcoder {command}")
    assert text.count(f"\n  tcoder {command}") == 2 and len(text.splitlines()) < 25
    assert max(map(len, text.splitlines())) <= 120


@pytest.mark.parametrize("command", COMMANDS)
def test_the_examples_of_a_command_are_right(command: str) -> None:
    for line, _ in PAGES[command].examples:
        words = shlex.split(re.sub(r" [<>]\S+", "", line.replace("$(cat trace.txt)", "trace")))
        options = parsed(*words)
        assert options.command == command or (command == "run" and options.task)


def test_help_is_no_flag_of_a_checked_command_or_a_task() -> None:
    assert parsed("policy", "check", "--", "ls", "--help").arguments == ("check", "ls", "--help")
    assert parsed("--task", "--help", "-C", "locate").task == "--help"


def test_a_folder_may_be_called_like_a_mistyped_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "locat").mkdir()
    monkeypatch.chdir(tmp_path)
    assert parsed("locat").path == "locat"


def test_flags_become_settings_only_when_said() -> None:
    assert parsed("--task", "t").settings() == {"budget": {}, "checks": {}}
    said = parsed("--task", "t", "--yolo", "--test-cmd", "make check", "--max-turns", "3").settings()
    assert said["approval"] == "auto"
    assert said["checks"] == {"test": "make check"}
    assert said["budget"] == {"max_turns": 3}
