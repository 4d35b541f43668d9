"""The review in a real terminal: judge, edit, split, undo, commit; stale files and the person's own changes."""

from typing import Any

from support.desk import FIX, Desk, git
from support.person import working

RENAME = {"name": "edit", "arguments": {"path": "test_calc.py", "old": "def test_add():", "new": "def test_adding():"}}
BOTH = {
    "name": "edit",
    "arguments": {
        "path": "calc.py",
        "old": "def add(a, b):\n    return a - b",
        "new": "def add(a: int, b: int):\n    return a + b",
    },
}


def to(server: Any) -> tuple[str, ...]:
    return ("--base-url", server.url, "-m", "scripted", "--approval", "auto", "--no-tests")


def test_what_was_accepted_is_committed_on_its_own_key(desk: Desk, serve: Any) -> None:
    server = serve({"calls": [FIX, RENAME]}, {"text": "Done."})
    with working(desk, *to(server)) as person:
        person.say("mend add")
        person.sees("Done.", "ready")
        person.say("/commit Add, do not subtract")
        person.sees("calc.py", "hunk 1/1", "a accept")
        person.press("a")
        person.sees("✓ calc.py")
        person.press("c")
        person.sees("1 accepted hunk", "1 left out", "Add, do not subtract", "C commits")
        person.press("enter")
        person.read_for(0.5)
        assert git(desk.root, "rev-list", "--count", "HEAD").strip() == "1"
        person.press("C")
        person.wait(lambda: git(desk.root, "rev-list", "--count", "HEAD").strip() == "2")
        person.sees("committed", "1 hunk left out")
    assert git(desk.root, "show", "--name-only", "--format=%s", "HEAD").split("\n")[:3] == [
        "Add, do not subtract", "", "calc.py",
    ]  # fmt: skip
    assert git(desk.root, "diff", "--name-only").split() == ["test_calc.py"]


def test_split_reject_with_a_reason_and_undo(desk: Desk, serve: Any) -> None:
    calc = desk.root / "calc.py"
    server = serve({"calls": [BOTH]}, {"text": "Done."}, {"text": "I see."})
    with working(desk, *to(server)) as person:
        person.say("mend add")
        person.sees("Done.", "ready")
        changed = calc.read_text()
        person.say("/diff")
        person.sees("hunk 1/1", "def add(a: int, b: int)")
        person.press("s")
        person.sees("hunk 1/2", "hunk 2/2")
        person.press("k", "x")
        person.wait(lambda: "def add(a, b):" in calc.read_text())
        assert "return a + b" in calc.read_text()
        person.sees("hunk 1/1")
        person.press("u")
        person.wait(lambda: calc.read_text() == changed)
        person.sees("a: int")
        person.press("r", *"keep it", "enter")
        person.wait(lambda: "a: int" not in calc.read_text())
        person.press("esc")
        person.sees("ready")
        person.say("and now?")
        person.sees("I see.")
    assert "keep it" in str(server.requests[-1].body["messages"])


def test_edit_in_the_editor_stale_files_and_own_changes(desk: Desk, serve: Any) -> None:
    editor = desk.root.parent / "editor"
    editor.write_text("#!/bin/sh\nsed -i 's/a + b/b + a/' \"$1\"\n")
    editor.chmod(0o755)
    calc, mine = desk.root / "calc.py", desk.root / "mine.txt"
    server = serve({"calls": [FIX]}, {"text": "Done."})
    with working(desk, *to(server), VISUAL=str(editor)) as person:
        person.say("mend add")
        person.sees("Done.", "ready")
        mine.write_text("my own\n")
        person.say("/diff")
        person.sees("hunk 1/1", "return a + b", "mine.txt")
        person.press("e")
        person.wait(lambda: "return b + a" in calc.read_text())
        person.sees("return b + a", "a accept")
        person.press("a")
        person.sees("✓ calc.py")
        calc.write_text(calc.read_text().replace("b + a", "b + a + 0"))
        person.press("c", "C")
        person.sees("nothing is accepted")
        assert git(desk.root, "rev-list", "--count", "HEAD").strip() == "1"
        person.press("K")
        person.sees("▸· calc.py", "b + a + 0")
        person.press("J", "x")
        person.sees("your own changes")
        person.press("esc")
        person.sees("ready")
    assert mine.read_text() == "my own\n" and "b + a + 0" in calc.read_text()
