"""A person at work in the real interface: the loop, steering, the slider, approvals."""

import json
from typing import Any

from support.desk import FIX, Desk, git
from support.person import working

WRONG = {"name": "edit", "arguments": {"path": "calc.py", "old": "return a - b", "new": "return a * b"}}
RIGHT = {"name": "edit", "arguments": {"path": "calc.py", "old": "return a * b", "new": "return a + b"}}
LOOK = {"name": "search", "arguments": {"pattern": "def add"}}
TEST = {"name": "test", "arguments": {}}


def to(server: Any) -> tuple[str, ...]:
    return ("--base-url", server.url, "-m", "scripted")


def test_from_the_first_key_to_the_proof(desk: Desk, serve: Any) -> None:
    """Typed before there is a prompt; located, changed, tested, changed again; attempts and checkpoints in the dock."""
    server = serve({"calls": [LOOK]}, {"calls": [WRONG]}, {"calls": [TEST]}, {"calls": [RIGHT]}, {"text": "Added."})
    with working(desk, *to(server), "--approval", "auto", ready="starting") as person:
        person.write(b"make the failing test pass")
        person.sees("make the failing test pass", "ready")
        person.press("enter")
        person.sees("calc.py  +1 −1", "Added.", "verified", seconds=40)
        person.sees("Checkpoints", "before the turn")
        person.press("alt+p")
        person.misses("─ Checkpoints")
        person.resize(80, 24)
        person.read_for(0.3)
    assert "return a + b" in (desk.root / "calc.py").read_text()
    assert git(desk.root, "status", "--porcelain").strip() == "M calc.py"


def test_steer_queue_take_back_and_stop(desk: Desk, serve: Any) -> None:
    server = serve({"text": "word " * 4000, "delay": 0.02}, {"text": "Then so."})
    with working(desk, *to(server)) as person:
        person.say("tell me much")
        person.sees("word word")
        person.say("shorter please")
        person.sees('steers: "shorter please"')
        person.write(b"and another thing")
        person.press("alt+enter")
        person.sees('queued: "and another thing"')
        person.press("alt+up")
        person.misses("queued:")
        person.sees("│ and another thing")
        person.press("esc")
        person.sees("interrupted", seconds=3)


def test_the_slider_by_key_mouse_and_command(desk: Desk, serve: Any) -> None:
    server = serve({"text": "Hello."})
    (desk.home / "config").mkdir(parents=True)
    (desk.home / "config" / "config.toml").write_text('[variants.fast]\nmodel = "scripted-small"\n')
    with working(desk, *to(server)) as person:
        person.sees("━━━━○ std")
        person.press("f2")
        person.sees("●━━━━ std ▸¹")
        person.press("f2")
        person.sees("━━━━○ std ▸ ")
        person.click("fast ━")
        person.sees("●━━━━ std ▸ ")
        person.say("/std")
        person.sees("━━━━○ std ▸ ")
        person.say("/auto")
        person.sees("auto │")
        person.say("hello there")
        person.sees("Hello.", "model call")
        person.say("/why")
        person.sees("automatic", "first token", "$ per turn")
        person.say("/variant save")
        person.sees("sessions begin with auto")
    assert (desk.home / "config" / "config.toml").read_text().startswith('variant = "auto"')


def test_a_stray_or_pasted_key_approves_nothing(desk: Desk, serve: Any) -> None:
    command = "touch made.txt && echo made"
    server = serve({"calls": [{"name": "shell", "arguments": {"command": command}}]}, {"text": "Good."})
    with working(desk, *to(server), "--no-tests") as person:
        person.say("make it")
        person.sees(command, "asked because", "1 once")
        person.write(b"1")  # at once: it was meant for the prompt
        person.paste("1\r2\r")
        person.read_for(0.5)
        assert "1 once" in person.screen and not (desk.root / "made.txt").exists()
        person.read_for(1.6)
        person.sees("Tab answers")  # a draft keeps its keys
        person.press("tab")
        person.read_for(0.8)
        person.press("enter")
        person.sees("Enter answers nothing")
        assert not (desk.root / "made.txt").exists()
        person.press("4", *"not now", "enter")
        person.sees("declined", "Good.")
    assert not (desk.root / "made.txt").exists()
    assert "not now" in json.dumps(server.requests[-1].body)


def test_the_rule_of_always_is_edited_kept_and_shown(desk: Desk, serve: Any) -> None:
    ask = {"calls": [{"name": "shell", "arguments": {"command": "touch made.txt"}}]}
    again = {"calls": [{"name": "shell", "arguments": {"command": "touch other.txt"}}]}
    server = serve(ask, again, {"text": "Good."})
    with working(desk, *to(server), "--no-tests") as person:
        person.say("make it")
        person.sees("2 always `touch made.txt`")
        person.read_for(1.6)
        person.press("e", *(["\x7f"] * len("made.txt")), "*", "enter")
        person.sees("always `touch *`")
        person.press("2")
        person.sees("Good.")
        assert (desk.root / "made.txt").exists() and (desk.root / "other.txt").exists()
        person.say("/permissions")
        person.sees("touch *")


def test_a_review_that_is_left_changes_nothing(desk: Desk, serve: Any) -> None:
    looks = (("ls-files", "-s"), ("diff", "--cached"), ("rev-parse", "HEAD"), ("stash", "list"))
    server = serve({"calls": [FIX]}, {"text": "Done."})
    with working(desk, *to(server), "--approval", "auto") as person:
        person.say("make the failing test pass")
        person.sees("verified", seconds=40)
        before = [git(desk.root, *look) for look in looks]
        person.say("/diff")
        person.sees("hunk 1/1", "return a + b", "a accept")
        person.press("v")
        person.sees("return a - b                 ", "│ + ")
        person.press("v", "a", "c")
        person.sees("1 accepted hunk", "C commits")
        person.press("enter", "esc", "esc")
        person.sees("ready")
        assert [git(desk.root, *look) for look in looks] == before
        person.say("/commit mend add")
        person.sees("hunk 1/1")
        person.press("a")
        person.sees("✓ hunk 1/1")
        person.press("c")
        person.sees("mend add", "C commits")


def test_timeline_back_and_back_again_then_rename_and_export(desk: Desk, serve: Any) -> None:
    server = serve({"calls": [FIX]}, {"text": "Done."})
    calc = desk.root / "calc.py"
    with working(desk, *to(server), "--approval", "auto") as person:
        person.say("make the failing test pass")
        person.sees("verified", seconds=40)
        fixed = calc.read_text()
        person.say("/rewind")
        person.sees("Timeline", "before the turn")
        person.press("up", "up", "up", "b")
        person.sees("b again to roll the files back")
        person.press("b")
        person.wait(lambda: calc.read_text() != fixed)
        person.sees("ready")
        person.say("/rewind")
        person.sees("Timeline")
        person.press("b", "b")
        person.wait(lambda: calc.read_text() == fixed)
        person.say("/rename the sign")
        person.sees("tcoder  the sign")
        person.say("/export talk.md")
        person.sees("written to talk.md")
        person.say("/resume")
        person.sees("the sign", "turn")
    assert "make the failing test pass" in (desk.root / "talk.md").read_text()


def test_a_question_about_the_tests_shows_what_runs(desk: Desk, serve: Any) -> None:
    call = {"name": "test", "arguments": {"select": ["test_calc.py::test_add"]}}
    with working(desk, *to(serve({"calls": [call]}, {"text": "Good."})), "--test-cmd", "python -m pytest -q") as person:
        person.say("run the test")
        person.sees("▲ test  python -m pytest -q", "only test_calc.py::test_add", "asked because", "allow test *")
        person.allows()
        person.sees("Good.", "1 failed")
