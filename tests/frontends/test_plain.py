"""Line mode: what is printed for what is typed; questions that only a number answers; ends."""

import os
import signal

import pytest
from prompt_toolkit.completion import CompleteEvent
from prompt_toolkit.document import Document

from tcoder.frontends import plain
from tcoder.frontends.plain.reading import SlashCompleter
from tcoder.frontends.startup import Startup
from tcoder.protocol.handles import Connect, SessionHandle
from tcoder.protocol.ops import (
    Close,
    CommitAccepted,
    Decide,
    Interrupt,
    JudgeHunks,
    Rollback,
    RunShell,
    SetVariant,
    Submit,
)
from tcoder.protocol.queries import SessionChoice
from tests.support.open_story import open_story
from tests.support.scripted_session import ScriptedSession
from tests.support.terminal import Terminal, show_story

STARTUP = Startup("/src/app", "0.1.0", colour=False)


class Lines:
    """Gives prepared lines; `asked` are the prompts. `meanwhile` is typed while something runs."""

    def __init__(self, *lines: str, meanwhile: tuple[str, ...] = ()) -> None:
        self._lines = list(lines)
        self._meanwhile = list(meanwhile)
        self.asked: list[str] = []

    async def unasked(self) -> str | None:
        return self._meanwhile.pop(0) if self._meanwhile else None

    async def line(self, prompt: str, *, answer: bool = False, secret: bool = False) -> str | None:
        self.asked.append(prompt)
        return self._lines.pop(0) if self._lines else None


async def run(story: str, *lines: str, meanwhile: tuple[str, ...] = ()) -> tuple[int, list[object], Lines]:
    sessions: list[SessionHandle] = []
    open_: Connect = open_story(story)

    async def connect(choice: SessionChoice = SessionChoice()) -> SessionHandle:  # noqa: B008  a frozen value
        sessions.append(await open_(choice))
        return sessions[-1]

    reader = Lines(*lines, meanwhile=meanwhile)
    code = await plain.run(connect, STARTUP, reader)
    ops: list[object] = []
    for session in sessions:
        assert isinstance(session, ScriptedSession)
        ops += session.ops
    return code, ops, reader


async def test_a_turn(capsys: pytest.CaptureFixture[str]) -> None:
    code, ops, _ = await run("fixed", "make it pass")
    out = capsys.readouterr().out
    assert (code, ops) == (0, [Submit("make it pass"), Close("quit")])
    for text in (
        "[read] tests/test_login.py",
        "[edit] src/retry.py  +2 −1",
        "+        log.debug",
        "- both tests pass",
        "✓ done",
    ):
        assert text in out
    assert out.count("Fixed: the delay") == 1 and "\x1b" not in out


async def test_only_a_number_answers(capsys: pytest.CaptureFixture[str]) -> None:
    _, ops, reader = await run("ask", "go", "", "yes", "7", "1")
    assert [op for op in ops if isinstance(op, Decide)] == [Decide("q1", "once")]
    assert reader.asked.count("1-4> ") == 4
    assert "rm -rf build && make" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("typed", "op"),
    [
        ("look at login too", Submit("look at login too", steer=True)),
        ("/stop", Interrupt()),
        ("/queue later", Submit("later")),
    ],
)
async def test_what_is_typed_while_a_turn_runs_steers_it(typed: str, op: object) -> None:
    _, ops, _ = await run("fixed", "go", meanwhile=(typed,))
    assert ops[1] == op


async def test_a_refusal_has_a_reason_and_the_end_of_input_refuses() -> None:
    _, ops, _ = await run("ask", "go", "4 no rm please")
    assert Decide("q1", "deny", note="no rm please") in ops
    _, ops, _ = await run("ask", "go")
    assert Decide("q1", "deny", note="nobody can be asked") in ops


async def test_commands(capsys: pytest.CaptureFixture[str]) -> None:
    _, ops, _ = await run(
        "fixed", "!ls", "/fast", "/nonsense", "/dock", "/context", "/checkpoints", "", "/new", "/help"
    )
    out = capsys.readouterr().out
    assert ops[:2] == [RunShell("ls"), SetVariant("fast")]
    for text in (
        "hello",
        "no command /nonsense",
        "needs a screen",
        "cache breakpoint",
        "before turn 1",
        "/effort LEVEL",
    ):
        assert text in out
    assert ops.count(Close("quit")) == 2  # the first session, and the new one


@pytest.mark.parametrize(
    ("answers", "expected"),
    [
        (("1", "q"), [JudgeHunks(("h1",), "accepted")]),
        (("1", "1", "1", ""), [JudgeHunks((name,), "accepted") for name in ("h1", "h3", "h4")]),
        (("2", "3 no", "2", "2", "yes", "Enter", ""), []),  # one's own hunk is not taken back
        (("3 no log", "q"), [JudgeHunks(("h1",), "rejected", "no log")]),
        (("4", "", ""), [JudgeHunks(("h1", "h4"), "accepted")]),
        (("4", "commit"), [JudgeHunks(("h1", "h4"), "accepted"), CommitAccepted("a subject")]),
        (("4", "another subject", "commit"), [JudgeHunks(("h1", "h4"), "accepted"), CommitAccepted("another subject")]),
    ],
)
async def test_a_commit_needs_its_word(answers: tuple[str, ...], expected: list[object]) -> None:
    _, ops, _ = await run("fixed", "/commit a subject", *answers)
    assert [op for op in ops if isinstance(op, JudgeHunks | CommitAccepted)] == expected


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (("/rewind", ""), []),
        (("/rewind", "9"), []),
        (("/rewind", "1", ""), []),
        (("/rewind", "1", "1"), [Rollback("k1")]),
        (("/rewind p1", "2"), [Rollback("p1", conversation=True)]),
    ],
)
async def test_going_back_needs_a_choice(lines: tuple[str, ...], expected: list[object]) -> None:
    _, ops, _ = await run("fixed", *lines)
    assert [op for op in ops if isinstance(op, Rollback)] == expected


async def test_foreign_text_is_only_text(capsys: pytest.CaptureFixture[str]) -> None:
    await run("evil", "go", "1", "/diff", "/transcript", "/plan", "/attempts")
    assert not {"\x1b", "\x07", "\x9b", "\u202e", "\r"} & set(capsys.readouterr().out)


def test_completion() -> None:
    found = list(SlashCompleter().get_completions(Document("/effort hi"), CompleteEvent()))
    assert [(of.text, of.start_position) for of in found] == [("high", -2), ("xhigh", -2)]


def test_ctrl_c_stops_a_turn_and_sigterm_ends_with_its_code() -> None:
    terminal = Terminal([*show_story("stream", "--plain", "--pause", "50")], environment={"TERM": "dumb"})
    terminal.wait_for("line mode")
    terminal.write(b"go\n")
    terminal.wait_for("brown fox")
    terminal.write(b"\x03")
    terminal.wait_for("interrupted")
    os.kill(terminal.pid, signal.SIGTERM)
    terminal.read_for(3.0)
    assert terminal.exit_code() == 143
