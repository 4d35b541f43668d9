"""The words of paths stay what the tree holds, and answer as a look at every path would."""

from tcoder.index.pathwords import PathWords

PATHS = ("src/config/types.py", "src/config/loader.py", "src/hue.py", "tests/test_hue.py")


def test_paths_with_words_of_a_question_are_scored_and_rare_words_count_more() -> None:
    whole, stems = PathWords(PATHS).scores(["hue", "config", "type"])
    assert set(whole) == set(PATHS)
    assert whole["src/config/types.py"] > whole["src/config/loader.py"]
    assert stems["src/hue.py"] > stems["tests/test_hue.py"] > 0
    assert "src/config/loader.py" not in stems


def test_what_was_removed_is_gone_and_can_come_back() -> None:
    words, fresh = PathWords(PATHS), PathWords(PATHS[1:])
    words.remove(PATHS[0])
    asked = ["config", "type", "hue"]
    assert words.scores(asked) == fresh.scores(asked)
    assert words.named("types.py") == []
    words.add(PATHS[0])
    assert words.scores(asked) == PathWords(PATHS).scores(asked)
    assert words.named("types.py") == [PATHS[0]]


def test_a_word_of_most_paths_says_nothing() -> None:
    words = PathWords(f"src/part{number}.py" for number in range(300))
    assert words.scores(["src"]) == ({}, {})
