"""Which files the index looks at."""

import os
import subprocess
from pathlib import Path

import pytest

from tcoder.index import Index, listing
from tcoder.index.languages import language_of, role_of


def write(root: Path, *names: str) -> None:
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("x = 1\n")


@pytest.fixture(params=["git", "plain"])
def root(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    if request.param == "git":
        subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    return tmp_path


def test_ignored_files_are_left_out(root: Path) -> None:
    write(root, "a.py", "sub/b.go", "out/c.py", "secret/d.py", "node_modules/e.js", "picture.png", "odd\nname.py")
    (root / ".gitignore").write_text("out/\nnode_modules/\n")
    (root / ".tcoderignore").write_text("secret/\n")
    assert sorted(listing.list_files(root).files) == ["a.py", "odd\nname.py", "sub/b.go"]


def test_folders_that_tools_fill_are_left_out_even_if_nobody_ignores_them(root: Path) -> None:
    inside = [".venv/lib/a.py", "web/node_modules/x/b.js", "my-env/pyvenv.cfg", "my-env/lib/c.py", ".tox/py/d.py"]
    write(root, "a.py", "web/e.js", "my-env.py", *inside)
    assert sorted(listing.list_files(root).files) == ["a.py", "my-env.py", "web/e.js"]
    filled = [name for name in inside if listing.is_filled(root, name)]
    assert filled == inside and not listing.is_filled(root, "web/e.js")


def test_an_environment_at_the_root_hides_nothing_of_the_project(root: Path) -> None:
    write(root, "pyvenv.cfg", "a.py", "lib/python3/site-packages/b.py")
    assert sorted(listing.list_files(root).files) == ["a.py", "pyvenv.cfg"]


async def test_an_environment_made_meanwhile_is_not_taken_in(
    root: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    write(root, "a.py")
    index = Index.open(root, tmp_path_factory.mktemp("cache"))
    try:
        assert (await index.build()).files == 1
        write(root, "b.py", "env/pyvenv.cfg", "env/lib/c.py", "node_modules/d.js")
        await index.changed(["b.py", "env/lib/c.py", "node_modules/d.js"])
        assert (await index.build()).files == 2
        assert [hit.path for hit in (await index.search("x = 1", path="env/lib")).hits] == ["env/lib/c.py"]
        assert [symbol.name for symbol in await index.symbols("env/lib/c.py")] == ["x"]
    finally:
        await index.close()


def test_what_git_tracks_in_such_a_folder_is_part_of_the_project(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    write(tmp_path, "fixtures/node_modules/a.js", "fixtures/node_modules/b.js")
    subprocess.run(["git", "-C", str(tmp_path), "add", "fixtures/node_modules/a.js"], check=True)
    assert sorted(listing.list_files(tmp_path).files) == ["fixtures/node_modules/a.js"]


def test_links_and_foreign_names(root: Path) -> None:
    write(root, "a.py")
    (root / "loop").symlink_to(root)
    (root / "link.py").symlink_to("/etc/passwd")
    os.mkfifo(root / "pipe.py")
    Path(os.fsdecode(bytes(root) + b"/caf\xe9.py")).write_text("x")
    assert sorted(listing.list_files(root).files) == ["a.py"]


def test_long_names_and_deep_folders(root: Path) -> None:
    write(root, "n" * 250 + ".py", "/".join(["d"] * 60) + "/deep.py")
    assert "n" * 250 + ".py" in listing.list_files(root).files


def test_home_and_the_root_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    (tmp_path / "home").mkdir()
    write(tmp_path / "home", "a.py")
    assert listing.list_files(tmp_path / "home").problem == "a home folder"
    assert listing.list_files(tmp_path).problem == "a home folder"
    assert listing.list_files(Path("/")).problem == "the root of the file system"


def test_a_repository_runs_nothing(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    write(tmp_path, "a.py")
    for key, value in {"core.fsmonitor": f"touch {tmp_path}/ran; true", "core.hooksPath": str(tmp_path)}.items():
        subprocess.run(["git", "-C", str(tmp_path), "config", key, value], check=True)
    assert sorted(listing.list_files(tmp_path).files) == ["a.py"]
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    ("path", "language", "role"),
    [
        ("a/b.py", "python", "source"),
        ("tests/b.py", "python", "test"),
        ("src/b.test.ts", "typescript", "test"),
        ("src/main/java/x/OpenSslTest.java", "java", "test"),
        ("pkg/a_test.go", "go", "test"),
        ("docs/a.py", "python", "docs"),
        ("README.md", "markdown", "docs"),
        ("package-lock.json", "json", "generated"),
        ("dist/app.js", "javascript", "generated"),
        ("api/x.pb.go", "go", "generated"),
        ("vendor/x/y.go", "go", "vendored"),
        ("conf/app.yaml", "yaml", "data"),
        ("Makefile", "text", "data"),
        ("photo.png", "", "data"),
        (".env", "", "data"),
    ],
)
def test_language_and_role(path: str, language: str, role: str) -> None:
    assert (language_of(path), role_of(path)) == (language, role)


def test_sparse_checkouts_and_submodules(tmp_path: Path) -> None:
    inner, outer = tmp_path / "inner", tmp_path / "outer"
    identity = ["-c", "user.name=a", "-c", "user.email=a@b.invalid", "-c", "protocol.file.allow=always"]

    def git(root: Path, *arguments: str) -> None:
        subprocess.run(["git", "-C", str(root), *identity, *arguments], check=True, capture_output=True)

    for root in (inner, outer):
        root.mkdir()
        git(root, "init", "-q")
        write(root, "a.py", "far/b.py")
        git(root, "add", ".")
        git(root, "commit", "-qm", "x")
    git(outer, "submodule", "add", str(inner), "sub")
    git(outer, "commit", "-qm", "y")
    git(outer, "sparse-checkout", "set", "--no-cone", "/*", "!/far/")
    # what is not checked out is not there; a submodule is a repository of its own
    assert sorted(listing.list_files(outer).files) == ["a.py"]


def test_many_files_in_one_folder_are_listed_or_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, *(f"many/f{n}.py" for n in range(300)))
    assert len(listing.list_files(tmp_path).files) == 300
    monkeypatch.setattr(listing, "MAX_FILES", 200)
    assert listing.list_files(tmp_path).problem == "more than 200 source files"
    monkeypatch.setattr(listing, "MAX_ENTRIES", 200)
    assert listing.list_files(tmp_path).problem == "more than 200 files"
