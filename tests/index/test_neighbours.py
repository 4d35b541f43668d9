"""Files beside the best ones: changed with them, or in their folder."""

from tcoder.index.history import History
from tcoder.index.neighbours import MAX_TOGETHER, neighbours
from tcoder.index.past import Commit

ORDERED = [("src/a/one.py", 2.0), ("src/a/two.py", 1.0), ("src/b/three.py", 0.5)]


def commit(*files: str) -> Commit:
    return Commit(0, "", {}, files)


def test_what_was_changed_with_the_best_file_is_its_neighbour() -> None:
    history = History([commit("src/a/one.py", "src/c/other.py"), commit("src/a/one.py"), commit("src/d/alone.py")])
    together = neighbours(ORDERED, history)["together"]
    assert set(together) == {"src/c/other.py"}


def test_a_commit_of_very_many_files_says_nothing() -> None:
    files = [f"src/f{number}.py" for number in range(MAX_TOGETHER)]
    assert neighbours(ORDERED, History([commit("src/a/one.py", *files)]))["together"] == {}


def test_a_folder_counts_what_its_best_files_have() -> None:
    assert neighbours(ORDERED, History())["folder"] == {
        "src/a/one.py": 1.5,
        "src/a/two.py": 1.5,
        "src/b/three.py": 0.25,
    }


def test_without_source_files_there_are_no_neighbours() -> None:
    assert neighbours([("README.md", 1.0)], History()) == {"together": {}, "folder": {}}
