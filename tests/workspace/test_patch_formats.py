"""Every format in which a patch may come, and that git agrees about unified diffs."""

import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.repository import git

from tcoder.protocol.errors import PatchError
from tcoder.workspace.files.text import FileText
from tcoder.workspace.patching.engine import apply_edits, unified
from tcoder.workspace.patching.formats import parse

FILES = {
    "a.py": "import os\n\n\ndef f():\n    return 1\n\n\ndef g():\n    return 1\n",
    "b.txt": "one\ntwo\nthree\n",
    "crlf.txt": "one\r\ntwo\r\n",
    "my file.txt": "x\n",
}
A = FILES["a.py"]


def applied(text: str, files: dict[str, str] = FILES) -> dict[str, str | None]:
    def contents(path: str) -> FileText | None:
        return FileText.of(path, files[path].encode()) if path in files else None

    result = apply_edits(parse(text), contents)
    return {write.path: write.new.decode() if write.new is not None else None for write in result.writes}


GOOD = {
    "begin patch, update": (
        "*** Begin Patch\n*** Update File: a.py\n@@ def g():\n-    return 1\n+    return 2\n*** End Patch\n",
        {"a.py": A[:-2] + "2\n"},
    ),
    "begin patch, in prose and a fence": (
        "Sure:\n```\n*** Begin Patch\n*** Update File: b.txt\n@@\n one\n-two\n+2\n*** End Patch\n```\nDone.",
        {"b.txt": "one\n2\nthree\n"},
    ),
    "begin patch, everything": (
        "*** Begin Patch\n*** Add File: new/x.py\n+a\n+\n+b\n*** Delete File: b.txt\n*** Update File: a.py\n"
        "*** Move to: c.py\n@@\n-import os\n+import sys\n*** End Patch",
        {"new/x.py": "a\n\nb\n", "b.txt": None, "a.py": None, "c.py": A.replace("os", "sys")},
    ),
    "begin patch, end of file": (
        "*** Begin Patch\n*** Update File: a.py\n@@\n-    return 1\n+    return 9\n*** End of File\n*** End Patch",
        {"a.py": A[:-2] + "9\n"},
    ),
    "begin patch, only a move": (
        "*** Begin Patch\n*** Update File: b.txt\n*** Move to: d.txt\n*** End Patch",
        {"b.txt": None, "d.txt": FILES["b.txt"]},
    ),
    "begin patch with crlf": (
        "*** Begin Patch\r\n*** Update File: b.txt\r\n@@\r\n-two\r\n+2\r\n*** End Patch\r\n",
        {"b.txt": "one\n2\nthree\n"},
    ),
    "git diff": (
        "diff --git a/b.txt b/b.txt\nindex 1..2 100644\n--- a/b.txt\n+++ b/b.txt\n"
        "@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n",
        {"b.txt": "one\n2\nthree\n"},
    ),
    "plain diff": (
        "--- b.txt\t2026-01-01\n+++ b.txt\t2026-01-02\n@@ -2 +2 @@\n-two\n+2\n",
        {"b.txt": "one\n2\nthree\n"},
    ),
    "wrong numbers and counts": (
        "--- a/b.txt\n+++ b/b.txt\n@@ -77,9 +99,12 @@ nonsense\n one\n-two\n+2\n three\n",
        {"b.txt": "one\n2\nthree\n"},
    ),
    "no numbers at all": (
        "--- a/b.txt\n+++ b/b.txt\n@@\n one\n-two\n+2\n three\n\nThat is all.",
        {"b.txt": "one\n2\nthree\n"},
    ),
    "the number chooses": (
        "--- a/a.py\n+++ b/a.py\n@@ -9 +9 @@\n-    return 1\n+    return 2\n",
        {"a.py": A[:-2] + "2\n"},
    ),
    "blank context without its space": (
        "--- a/a.py\n+++ b/a.py\n@@ -1,4 +1,4 @@\n-import os\n+import re\n\n\n def f():\n",
        {"a.py": A.replace("os", "re")},
    ),
    "new and deleted file": (
        "diff --git a/n b/n\nnew file mode 100755\n--- /dev/null\n+++ b/n\n@@ -0,0 +1,2 @@\n+a\n+b\n"
        "\\ No newline at end of file\n"
        "diff --git a/b.txt b/b.txt\ndeleted file mode 100644\n--- a/b.txt\n+++ /dev/null\n"
        "@@ -1,3 +0,0 @@\n-one\n-two\n-three\n",
        {"n": "a\nb", "b.txt": None},
    ),
    "rename with edit": (
        "diff --git a/b.txt b/c.txt\nsimilarity index 60%\nrename from b.txt\nrename to c.txt\n"
        "--- a/b.txt\n+++ b/c.txt\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n",
        {"b.txt": None, "c.txt": "one\n2\nthree\n"},
    ),
    "rename alone": (
        "diff --git a/b.txt b/c.txt\nsimilarity index 100%\nrename from b.txt\nrename to c.txt\n",
        {"b.txt": None, "c.txt": FILES["b.txt"]},
    ),
    "two files, the second without git's line": (
        "--- a/b.txt\n+++ b/b.txt\n@@ -1 +1 @@\n-one\n+1\n"
        "--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-import os\n+import re\n",
        {"b.txt": "1\ntwo\nthree\n", "a.py": A.replace("os", "re")},
    ),
    "a removed line that looks like a header": (
        "--- a/s.sql\n+++ b/s.sql\n@@ -1,2 +1,2 @@\n--- note\n+++ other\n keep\n",
        {"s.sql": "++ other\nkeep\n"},
    ),
    "name with a space": (
        "diff --git a/my file.txt b/my file.txt\n--- a/my file.txt\t\n+++ b/my file.txt\t\n@@ -1 +1 @@\n-x\n+y\n",
        {"my file.txt": "y\n"},
    ),
    "crlf file, lf patch": (
        "--- a/crlf.txt\n+++ b/crlf.txt\n@@ -1,2 +1,3 @@\n one\n+more\n two\n",
        {"crlf.txt": "one\r\nmore\r\ntwo\r\n"},
    ),
    "a mailed patch": (
        "From: x\nSubject: y\n\n---\n b.txt | 2 +-\n\ndiff --git a/b.txt b/b.txt\n--- a/b.txt\n+++ b/b.txt\n"
        "@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n-- \n2.39.5\n",
        {"b.txt": "one\n2\nthree\n"},
    ),
    "search and replace": (
        "I change `b.txt`:\n\nb.txt\n<<<<<<< SEARCH\ntwo\n=======\n2\n2a\n>>>>>>> REPLACE\n",
        {"b.txt": "one\n2\n2a\nthree\n"},
    ),
    "search and replace, fenced, twice, then a new file": (
        "**b.txt**\n```text\n<<<<<<< SEARCH\none\n=======\n1\n>>>>>>> REPLACE\n```\n\n"
        "```text\n<<<<<<< SEARCH\ntwo\n=======\n2\n>>>>>>> REPLACE\n```\n"
        "And:\n### `src/n.py`:\n```python\n<<<<<<< SEARCH\n=======\nn\n>>>>>>> REPLACE\n```\n",
        {"b.txt": "1\n2\nthree\n", "src/n.py": "n\n"},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", GOOD)
def test_formats(name: str) -> None:
    text, result = GOOD[name]
    assert applied(text, FILES | {"s.sql": "-- note\nkeep\n"}) == result


BAD = {
    "prose": "I would change the second line.",
    "cut off": "*** Begin Patch\n*** Update File: b.txt\n@@\n-two\n+2\n",
    "empty": "*** Begin Patch\n*** End Patch",
    "strange line": "*** Begin Patch\n*** Update File: b.txt\nhello\n*** End Patch",
    "no plus": "*** Begin Patch\n*** Add File: n\nhello\n*** End Patch",
    "no path": "<<<<<<< SEARCH\na\n=======\nb\n>>>>>>> REPLACE\n",
    "no end": "b.txt\n<<<<<<< SEARCH\ntwo\n=======\nb\n",
    "two dividers": "b.txt\n<<<<<<< SEARCH\ntwo\n=======\nb\n=======\nc\n>>>>>>> REPLACE\n",
    "symlink": "diff --git a/l b/l\nnew file mode 120000\n--- /dev/null\n+++ b/l\n@@ -0,0 +1 @@\n+/etc/passwd\n",
    "submodule": "diff --git a/s b/s\nnew file mode 160000\n--- /dev/null\n+++ b/s\n@@ -0,0 +1 @@\n+Subproject\n",
    "binary": "diff --git a/x b/x\nindex 1..2 100644\nGIT binary patch\nliteral 3\nKcmZ\n\n",
    "copy": "diff --git a/b.txt b/c\nsimilarity index 100%\ncopy from b.txt\ncopy to c\n",
    "deleted with other content": "--- a/b.txt\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-other\n-content\n",
}


@pytest.mark.parametrize("name", BAD)
def test_what_is_no_patch_is_refused(name: str) -> None:
    with pytest.raises(PatchError):
        applied(BAD[name])


LINE = st.sampled_from(["a", "b", "", "  x", "\tq", "z ", "\x0c", "\u2028", "é", "-- a", "+b", "@@ -1 +1 @@"])
ENDING = st.sampled_from(["\n", "\n", "\n", "\r\n"])
TEXT = st.builds(
    lambda lines, last: "".join(line + ending for line, ending in lines) + last,
    st.lists(st.tuples(LINE, ENDING), max_size=12),
    st.sampled_from(["", "", "end"]),
)


def git_diff(old: str, new: str, context: int) -> str:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        for side, text in (("a", old), ("b", new)):
            (root / side).mkdir()
            (root / side / "f").write_bytes(text.encode())
        options = ("--no-index", "--no-color", "--src-prefix=", "--dst-prefix=", f"-U{context}")
        return git(root, "diff", *options, "a/f", "b/f", check=False)


def after(text: str, diff: str) -> str:
    result = apply_edits(parse(diff), lambda path: FileText.of(path, text.encode()) if path == "f" else None)
    new = result.writes[0].new
    assert new is not None
    return new.decode()


@settings(max_examples=60, deadline=None)
@given(TEXT, TEXT, st.integers(1, 4))
def test_git_and_the_engine_agree_both_ways(old: str, new: str, context: int) -> None:
    if old == new:
        return
    assert after(old, git_diff(old, new, context)) == new
    assert after(new, git_diff(new, old, context)) == old


@settings(max_examples=100, deadline=None)
@given(TEXT, TEXT)
def test_applying_our_own_diff_and_its_reverse_is_identity(old: str, new: str) -> None:
    if old == new:
        return
    there, back = unified("f", "f", old, new)[0], unified("f", "f", new, old)[0]
    assert after(old, there) == new
    assert after(after(old, there), back) == old
