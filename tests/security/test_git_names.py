"""Names and patches that git or a shell could take for more than data. A46 to A49."""

import json

import pytest
from support.desk import git
from support.ground import Ground, Played

NAMES = ("--output=pwn", "-x", "$(touch pwn)", "`touch pwn`", ":(glob)*", "a\nb", "\u3000", "--upload-pack=touch pwn")
BRANCH = "refs/heads/--output=pwn"
PATCHES = {
    "A48 outside": "--- a/../../x\n+++ b/../../x\n@@ -0,0 +1 @@\n+evil\n",
    "A48 hook": "diff --git a/.git/hooks/pre-commit b/.git/hooks/pre-commit\nnew file mode 100755\n--- /dev/null\n"
    "+++ b/.git/hooks/pre-commit\n@@ -0,0 +1 @@\n+evil\n",
    "A48 rename to outside": "diff --git a/calc.py b/../x\nsimilarity index 100%\n"
    "rename from calc.py\nrename to ../x\n",
    "A48 through a new link": "diff --git a/l b/l\nnew file mode 120000\n--- /dev/null\n+++ b/l\n@@ -0,0 +1 @@\n+..\n"
    "--- /dev/null\n+++ b/l/x\n@@ -0,0 +1 @@\n+evil\n",
    "A48 half good": "*** Begin Patch\n*** Add File: good\n+good\n*** Add File: ../x\n+evil\n*** End Patch",
    "A48 settings": "*** Begin Patch\n*** Add File: .tcoder/config.toml\n+approval = 'auto'\n*** End Patch",
}


@pytest.fixture(scope="module")
def named(ground: Ground) -> Ground:
    root = ground.root
    for name in NAMES:
        (root / name).write_text("1\n")
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "--output=pwn")
    git(root, "update-ref", BRANCH, "HEAD")
    git(root, "update-ref", "refs/tags/--output=pwn", "HEAD")
    git(root, "symbolic-ref", "HEAD", BRANCH)
    with (root / ".git" / "config").open("a") as file:
        file.write('[remote "--upload-pack=touch pwn"]\n\turl = ext::sh -c touch% pwn\n\tfetch = +refs/*:refs/*\n')
    return ground


@pytest.fixture(scope="module")
def played(named: Ground) -> Played:
    calls = [("write", {"path": name, "content": "2\n"}) for name in NAMES]
    looks = [("search", {"pattern": "--pre=./calc.py"}), ("search", {"pattern": "2", "path": "--output=pwn"})]
    asks = [("shell", {"command": f"git add ../../{named.outside.name}/victim.txt"})]
    return named.play([*calls, *looks, *asks], task="change them")


def pwned(ground: Ground) -> bool:
    return any((folder / "pwn").exists() for folder in (ground.root, ground.top))


def test_a46_files_branches_tags_and_remotes_are_data(named: Ground, played: Played) -> None:
    root = named.root
    assert [answer for answer in played.answers[: len(NAMES)] if "modified" not in answer] == []
    assert "no matches" in played.answers[-3] and "--output=pwn" in played.answers[-2]
    shown = json.loads(named.run("timeline", "--json").out)
    assert sum(len(row["files"]) for row in shown if row["kind"] == "patch") == len(NAMES)
    assert "+2" in named.run("diff").out
    for _ in NAMES:
        assert named.run("undo").code == 0
    assert {name: (root / name).read_text() for name in NAMES} == dict.fromkeys(NAMES, "1\n")
    assert git(root, "status", "--porcelain") == "" and git(root, "symbolic-ref", "HEAD") == f"{BRANCH}\n"
    assert not pwned(named)


@pytest.mark.parametrize("word", ["--output=pwn", "-x", "$(touch pwn)", "../x"])
def test_a46_ids_are_data(named: Ground, played: Played, word: str) -> None:
    for arguments in (("undo", "--", word), ("sessions", "show", "--", word)):
        ended = named.run(*arguments)
        assert ended.code == 2 and "Traceback" not in ended.err, ended
    assert not pwned(named)


@pytest.mark.parametrize("case", PATCHES)
def test_a48_patches_that_lead_astray_are_refused_whole(named: Ground, case: str) -> None:
    before = {str(path): path.lstat().st_mtime_ns for path in named.top.rglob("*") if named.own not in path.parents}
    ended = named.run("apply", "-", "--json", stdin=PATCHES[case])
    assert ended.code == 2 and ended.result["applied"] is False and ended.result["error"], ended
    after = {str(path): path.lstat().st_mtime_ns for path in named.top.rglob("*") if named.own not in path.parents}
    assert after == before


def test_a49_nothing_outside_is_added(named: Ground, played: Played) -> None:
    assert "exit 0" not in played.answers[-1]
    assert "victim" not in git(named.root, "ls-files", "-z")
