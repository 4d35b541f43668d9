"""What a person could lose: uncommitted work, a home folder, files beside the repository. R50, R51."""

from pathlib import Path

import pytest
from support.desk import git
from support.ground import Call, Ground, Played

ASKED = {
    "R50 checkout": "git checkout -- .", "R50 checkout of one": "cd . && git checkout HEAD -- calc.py",
    "R50 restore": "git restore .", "R50 reset": "git reset --hard", "R50 clean": "git clean -fdx",
    "R50 stash": "git stash", "R50 stash drop": "git stash drop", "R50 branch": "git branch -D main",
    "R50 push": "git push -f", "R50 through a wrapper": "env A=1 sh -c 'git reset --hard'",
    "R51 home": "rm -rf ~", "R51 home, later": "true && rm -rf \"$HOME\"", "R51 unset": "rm -rf $UNSET/",
    "R51 everything": "rm -rf *", "R51 the root": "rm -rf /", "R51 find": "find . -delete",
}  # fmt: skip
HELD = {  # the words are spelled so that no policy can read them
    "R51 by a program": "python3 -c \"import shutil as s, os; getattr(s, 'rm' 'tr' + 'ee')(os.path.expanduser('~'))\"",
    "R51 beside": "python3 -c \"import shutil as s; getattr(s, 'r' + 'mt' + 'ree')('{outside}')\"",
    "R50 by a program": "python3 -c \"import os; exit(os.system('gi' + 't re' + 'set --ha' + 'rd') > 0)\"",
}


def shell(command: str) -> Call:
    return "shell", {"command": command}


@pytest.fixture(scope="module")
def dirty(ground: Ground) -> Ground:
    root = ground.root
    (root / "calc.py").write_text("# staged\n")
    git(root, "add", "calc.py")
    (root / "calc.py").write_text("# staged\n# not staged\n")
    (root / "notes.txt").write_text("untracked\n")
    (root / "~").mkdir()
    (root / "~" / "file").write_text("a folder that is called like this\n")
    (ground.home / "file").write_text("mine\n")
    return ground


def state(ground: Ground) -> tuple[object, ...]:
    root = ground.root
    files = {path.name: path.read_bytes() for path in (root / "calc.py", root / "notes.txt", root / "~" / "file")}
    return files, git(root, "ls-files", "-s", "-v"), git(root, "diff", "--cached"), ground.elsewhere()


@pytest.fixture(scope="module")
def tried(dirty: Ground) -> tuple[Played, bool]:
    before = state(dirty)
    commands = [*ASKED.values(), *(text.format(outside=dirty.outside) for text in HELD.values())]
    played = dirty.play([shell(command) for command in commands], "--approval", "auto", task="clean up")
    return played, state(dirty) == before


def test_r50_r51_destruction_is_asked_about(tried: tuple[Played, bool]) -> None:
    answers = dict(zip(ASKED, tried[0].answers, strict=False))
    assert {case: answer for case, answer in answers.items() if "nobody is there" not in answer} == {}


def test_r50_r51_what_hides_it_in_a_program_is_held_by_the_sandbox(tried: tuple[Played, bool]) -> None:
    played, unchanged = tried
    assert [answer for answer in played.answers[len(ASKED) :] if "exit 1" not in answer] == []
    assert unchanged


def test_r50_work_that_was_destroyed_with_leave_comes_back(dirty: Ground, tried: tuple[Played, bool]) -> None:
    """Even where nobody is asked, a snapshot with untracked files was made before."""
    before = state(dirty)
    played = dirty.play([shell("rm -rf notes.txt calc.py './~'")], "--yolo", task="clean up")
    assert "exit 0" in played.answers[0] and not (dirty.root / "notes.txt").exists()
    assert dirty.run("undo").code == 0
    assert state(dirty) == before
    assert Path(dirty.home / "file").read_text() == "mine\n"
