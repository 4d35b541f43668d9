"""What past commits say, and how they are read from git."""

import subprocess
from pathlib import Path

from tcoder.index import past
from tcoder.index.history import History
from tcoder.index.past import Commit
from tcoder.index.query import parse
from tcoder.index.terms import meaningful, terms_of


def commit(message: str, *files: str) -> Commit:
    terms = meaningful(terms_of(message))
    return Commit(0, message, {term: terms.count(term) for term in terms}, files)


COMMITS = (
    commit("Fix hue percentage parsing", "color.py", "test_color.py"),
    commit("Speed up the parser", "parser.py"),
    commit("Add hue wheel", "wheel.py", "color.py"),
    commit("Rename everything"),
)


def test_files_of_similar_commits_score() -> None:
    echo = History(COMMITS).echo(parse("hue percentages are parsed wrong").terms)
    assert echo.messages["color.py"] > echo.messages["wheel.py"] > 0
    assert max(echo.fixes, key=echo.fixes.__getitem__) == "color.py"
    assert echo.similar[0].commit.subject == "Fix hue percentage parsing"


def test_nothing_is_known_without_commits() -> None:
    echo = History().echo({"hue": 1.0})
    assert (echo.messages, echo.fixes, echo.similar) == ({}, {}, ())


def git(root: Path, *arguments: str) -> None:
    subprocess.run(
        ["git", "-c", "user.name=a", "-c", "user.email=a@b", *arguments], cwd=root, check=True, capture_output=True
    )


def test_reading_git(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    name = "odd\nname é.py"
    for number, message in enumerate(["First thing", "Second\n\nBody says hue \x01\x02 %H", "Third"]):
        (tmp_path / name).write_text(str(number))
        (tmp_path / f"f{number}.py").write_text("x")
        git(tmp_path, "add", "-A")
        git(tmp_path, "commit", "-q", "-m", message)
    head = past.head(tmp_path)
    hashes = past.ancestors(tmp_path, head)
    found = past.read(tmp_path, hashes)
    assert [found[sha].subject for sha in hashes] == ["Third", "Second", "First thing"]
    assert found[hashes[1]].files == ("f1.py", name)
    assert "hue" in found[hashes[1]].terms
    assert past.decode(past.encode(found[hashes[0]])) == found[hashes[0]]
    git(tmp_path, "checkout", "-q", "HEAD~1")
    assert past.ancestors(tmp_path, past.head(tmp_path)) == hashes[1:]


def test_no_git_no_history(tmp_path: Path) -> None:
    assert past.head(tmp_path) == ""
    assert past.ancestors(tmp_path, "HEAD") == []
