"""Line mode in a real terminal: commit and roll back with the choices that a person makes."""

from typing import Any

from support.desk import FIX, Desk, git
from support.person import working


def test_commit_and_rewind(desk: Desk, serve: Any) -> None:
    calc = desk.root / "calc.py"
    server = serve({"calls": [FIX]}, {"text": "Done."})
    options = ("--base-url", server.url, "-m", "scripted", "--approval", "auto", "--no-tests", "--plain")
    with working(desk, *options, ready="line mode") as person:
        person.sees("\n>")
        person.say("mend add")
        person.sees("Done.", "done")
        fixed = calc.read_text()
        person.say("/rewind")
        person.sees("number to go back to")
        person.say("1")
        person.sees("1 files  2 files and conversation")
        person.say("1")
        person.wait(lambda: calc.read_text() != fixed)
        person.say("/undo")
        person.wait(lambda: calc.read_text() == fixed)
        person.say("/commit Add, do not subtract")
        person.sees("1 accept  2 leave out")
        person.say("1")
        person.sees("1 accepted hunk", "`commit` commits")
        person.say("")
        person.sees("nothing is committed")
        assert git(desk.root, "rev-list", "--count", "HEAD").strip() == "1"
        person.say("/commit Add, do not subtract")
        person.wait(lambda: person.output.count(b"`commit` commits, other text") == 2)
        person.say("commit")
        person.sees("committed", "Add, do not subtract (1 file)")
        marks = [person.output.count(f"\x1b]133;{letter}\x07".encode()) for letter in "ABCD"]
        assert all(marks)
    assert git(desk.root, "log", "-1", "--format=%s").strip() == "Add, do not subtract"
