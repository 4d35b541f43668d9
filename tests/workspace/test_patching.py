"""The patch engine: where an edit matches, what becomes of the text, and what is said when it does not."""

import pytest

from tcoder.protocol.edits import DeleteFile, Edit, InsertLines, MoveFile, PatchHunk, Replace, UpdateFile, WriteFile
from tcoder.protocol.errors import PatchError
from tcoder.workspace.files.text import FileText
from tcoder.workspace.patching.engine import PatchResult, apply_edits


def patch(files: dict[str, str | bytes], *edits: Edit) -> PatchResult:
    def contents(path: str) -> FileText | None:
        data = files.get(path)
        return None if data is None else FileText.of(path, data if isinstance(data, bytes) else data.encode())

    return apply_edits(edits, contents)


def text_after(text: str, *edits: Edit) -> tuple[str, str]:
    result = patch({"f": text}, *edits)
    new = result.writes[0].new
    assert new is not None
    return new.decode(), result.changes[0].matched_by


CODE = "def f():\n    if x:\n        return 1\n    return 2\n"

REPLACED = [
    # old text, search, replacement, result, pass
    ("a\nb\nc\n", "b\n", "B\n", "a\nB\nc\n", "exact"),
    ("a\nb\nc\n", "b", "B", "a\nB\nc\n", "exact"),
    ("x = a + b\n", "a + b", "b + a", "x = b + a\n", "exact"),
    ("a\nb", "b\n", "B\n", "a\nB", "exact"),
    ("a\nb \t\nc\n", "b\nc\n", "B\nc\n", "a\nB\nc\n", "trailing-space"),
    ("a\nb\nc\n", "b   \nc", "B\nC", "a\nB\nC\n", "trailing-space"),
    (CODE, "if x:\n    return 1\n", "if y:\n    return 3\n", CODE.replace("x:", "y:").replace("1", "3"), "indentation"),
    ("\tif x:\n\t\ty\n", "if x:\n\ty\n", "if z:\n\ty\n", "\tif z:\n\t\ty\n", "indentation"),
    ("  a\n\n  b\n", "a\n\nb\n", "a\n\n\nc\n", "  a\n\n\n  c\n", "indentation"),
    ("a\n", "        a\n", "        b\n", "b\n", "indentation"),
    ("say “hi”…\n", 'say "hi"...\n', 'say "ho"\n', 'say "ho"\n', "unicode"),
    ("a\u00a0b – c\n", "a b - c\n", "x\n", "x\n", "unicode"),
    ("caf\u00e9\n", "cafe\u0301\n", "tea\n", "tea\n", "unicode"),
    ("a\r\nb\r\nc\r\n", "a\nb\n", "x\ny\nz\n", "x\r\ny\r\nz\r\nc\r\n", "exact"),
    ("a\r\nb\r\n", "b", "x\ny", "a\r\nx\r\ny\r\n", "exact"),
    ("one\r\ntwo end\r\n", "e\ntwo", "e\n2", "one\r\n2 end\r\n", "exact"),
    ("a\nb\nc\n", "a\r\nb\r\n", "x\r\ny\r\n", "x\ny\nc\n", "exact"),
    ("a\r\nb\nc\r\n", "a\nb\n", "x\ny\n", "x\r\ny\r\nc\r\n", "exact"),
    ("a\x0cb\u2028c\nd\n", "d", "e", "a\x0cb\u2028c\ne\n", "exact"),
    ("a\rb\rc\r", "b\n", "x\ny\n", "a\rx\ry\rc\r", "exact"),
    ("a\nb\nc\n", "b\n", "", "a\nc\n", "exact"),
]


@pytest.mark.parametrize(("text", "old", "new", "result", "by"), REPLACED)
def test_search_and_replace(text: str, old: str, new: str, result: str, by: str) -> None:
    assert text_after(text, Replace("f", old, new)) == (result, by)


@pytest.mark.parametrize(
    ("text", "old", "said"),
    [
        ("a\nb\na\n", "a\n", "2 times"),
        ("aaa\n", "aa", "2 times"),
        ("  a\n    a\n", "a \n", "2 times"),
        ("a \nb\na\t\n", "a\n\n", "nearest|not found"),
        ("def load(path):\n    return 1\n", "def load(file):\n", "1\tdef load"),
        ("", "y", "not found"),
        ("abc\n", "", "empty"),
        ("abc\n", "abc", "changes nothing"),
        ("def alpha():\n    return 1\n", "def alpha():\n    return 2\n", "return 1"),
    ],
)
def test_what_does_not_match_is_refused(text: str, old: str, said: str) -> None:
    new = old if said == "changes nothing" else "x"
    with pytest.raises(PatchError, match=said):
        patch({"f": text}, Replace("f", old, new))


def test_a_similar_block_is_never_hit() -> None:
    text = "def load():\n    a()\n    b()\n\ndef save():\n    a()\n    c()\n"
    with pytest.raises(PatchError):
        patch({"f": text}, Replace("f", "def save():\n    a()\n    b()\n", "x\n"))


def test_everywhere() -> None:
    assert text_after("a\nb\na\n", Replace("f", "a", "x", everywhere=True)) == ("x\nb\nx\n", "exact")
    assert text_after("aaaa\n", Replace("f", "aa", "b", everywhere=True)) == ("bb\n", "exact")
    assert text_after(" a\nb\n  a\n", Replace("f", "a \n", "x\n", everywhere=True)) == (" x\nb\n  x\n", "indentation")
    with pytest.raises(PatchError):
        patch({"f": "a\n"}, Replace("f", "b", "x", everywhere=True))


@pytest.mark.parametrize(
    ("text", "line", "new", "result"),
    [
        ("a\nb\n", 0, "x", "x\na\nb\n"),
        ("a\nb\n", 1, "x\ny\n", "a\nx\ny\nb\n"),
        ("a\nb", 2, "x", "a\nb\nx"),
        ("a\r\nb\r\n", 2, "x\n", "a\r\nb\r\nx\r\n"),
        ("", 0, "x\n", "x\n"),
    ],
)
def test_insert(text: str, line: int, new: str, result: str) -> None:
    assert text_after(text, InsertLines("f", line, new)) == (result, "line-number")


def test_insert_after_a_line_that_is_not_there() -> None:
    with pytest.raises(PatchError, match="2 lines"):
        patch({"f": "a\nb\n"}, InsertLines("f", 3, "x"))


@pytest.mark.parametrize(
    ("text", "hunks", "result"),
    [
        ("a\nb\nc\n", [PatchHunk((" a", "-b", "+B"))], "a\nB\nc\n"),
        ("a\nx\nb\nx\n", [PatchHunk(("-x", "+y"), line=4)], "a\nx\nb\ny\n"),
        ("x\nx\nx\n", [PatchHunk(("-x", "+y"), line=1), PatchHunk(("-x", "+z"), line=3)], "y\nx\nz\n"),
        ("f\nx\ng\nx\n", [PatchHunk(("-x", "+y"), anchor="g")], "f\nx\ng\ny\n"),
        ("class A\n f\n x\nclass B\n f\n x\n", [PatchHunk(("- x", "+ y"), anchor="class B\nf")],
         "class A\n f\n x\nclass B\n f\n y\n"),
        ("x\na\nx\n", [PatchHunk(("-x", "+y"), at_end=True)], "x\na\ny\n"),
        ("a\n", [PatchHunk(("+z",))], "a\nz\n"),
        ("a\n\nb\n", [PatchHunk(("a", "", "-b", "+c"))], None),
        ("a\n\nb\n", [PatchHunk((" a", "", "-b", "+c"))], "a\n\nc\n"),
        ("a\nb", [PatchHunk(("-b", "+c"))], "a\nc"),
        ("a\nb", [PatchHunk(("-b", "+b"), old_unended=True)], "a\nb\n"),
        ("a\nb\n", [PatchHunk(("-b", "+b"), new_unended=True)], "a\nb"),
        ("a\nb", [PatchHunk(("-b",), old_unended=True)], "a\n"),
        ("a\r\nb\r\n", [PatchHunk((" a", "-b", "+c"))], "a\r\nc\r\n"),
        ("a\r\nb\r\n", [PatchHunk((" a\r", "-b\r", "+b"))], "a\r\nb\n"),
    ],
)  # fmt: skip
def test_hunks(text: str, hunks: list[PatchHunk], result: str | None) -> None:
    if result is None:
        with pytest.raises(PatchError):
            patch({"f": text}, UpdateFile("f", tuple(hunks)))
    else:
        assert text_after(text, UpdateFile("f", tuple(hunks)))[0] == result


def test_a_hunk_in_two_places_without_a_number_is_refused() -> None:
    with pytest.raises(PatchError, match="2 times"):
        patch({"f": "x\na\nx\n"}, UpdateFile("f", (PatchHunk(("-x", "+y")),)))


def test_several_edits_of_several_files() -> None:
    result = patch(
        {"a": "1\n2\n", "b": "b\n", "c": "c\n"},
        Replace("a", "1", "x"), Replace("a", "2", "y"), Replace("a", "x", "z"),
        MoveFile("b", "d/b"), Replace("d/b", "b", "moved"), DeleteFile("c"), WriteFile("new", "n\n", executable=True),
    )  # fmt: skip
    assert {write.path: (write.new, write.mode) for write in result.writes} == {
        "a": (b"z\ny\n", None),
        "b": (None, None), "d/b": (b"moved\n", 0o644), "c": (None, None), "new": (b"n\n", 0o755),
    }  # fmt: skip
    assert [(change.path, change.change, change.old_path) for change in result.changes] == [
        ("a", "modified", ""), ("c", "deleted", ""), ("d/b", "renamed", "b"), ("new", "added", ""),
    ]  # fmt: skip


def test_swapping_two_files() -> None:
    result = patch({"a": "A", "b": "B"}, MoveFile("a", "t"), MoveFile("b", "a"), MoveFile("t", "b"))
    assert {write.path: write.new for write in result.writes} == {"a": b"B", "b": b"A"}


@pytest.mark.parametrize(
    "edits",
    [
        (),
        (Replace("missing", "a", "b"),),
        (DeleteFile("missing"),),
        (MoveFile("a", "b"),),
        (MoveFile("missing", "x"),),
        (WriteFile("a", "a\n"),),
        (Replace("a", "a", "x"), Replace("b", "nowhere", "y")),
        (DeleteFile("a"), Replace("a", "a", "b")),
    ],
)
def test_patches_that_are_refused_as_a_whole(edits: tuple[Edit, ...]) -> None:
    with pytest.raises(PatchError):
        patch({"a": "a\n", "b": "b\n"}, *edits)


def test_only_the_mode() -> None:
    result = patch({"a": "a\n"}, UpdateFile("a", (), executable=True))
    assert [(write.new, write.mode) for write in result.writes] == [(b"a\n", 0o755)]
    assert result.changes[0].change == "mode"


def test_a_new_file_by_an_empty_search() -> None:
    assert patch({}, Replace("new", "", "x\n")).changes[0].matched_by == "created"


def test_whole_file_keeps_crlf() -> None:
    assert patch({"a": "a\r\nb\r\n"}, WriteFile("a", "x\ny\n")).writes[0].new == b"x\r\ny\r\n"


def test_the_diff_that_is_shown() -> None:
    text = "".join(f"{number}\n" for number in range(1, 400))
    result = patch({"f": text}, Replace("f", "200\n", "changed\n"))
    assert result.diff == (
        "--- a/f\n+++ b/f\n@@ -197,7 +197,7 @@\n 197\n 198\n 199\n-200\n+changed\n 201\n 202\n 203\n"
    )
    assert (result.changes[0].insertions, result.changes[0].deletions) == (1, 1)
    assert patch({"f": "a"}, WriteFile("f", "b")).diff.count("\\ No newline") == 2
