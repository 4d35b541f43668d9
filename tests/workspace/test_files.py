"""Reading and writing below a root: what is refused, what is kept, what happens when somebody else writes too."""

import contextlib
import errno
import os
import resource
import signal
import socket
import stat
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tcoder.protocol.edits import DeleteFile, Edit, MoveFile, Replace, WriteFile
from tcoder.protocol.errors import WorkspaceError
from tcoder.workspace.files import atomic, paths
from tcoder.workspace.files.files import WorkspaceFiles, digest_of
from tcoder.workspace.files.text import FileText, decode_text, encode_text
from tcoder.workspace.patching.engine import apply_edits


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "app"
    folder.mkdir()
    (tmp_path / "app-evil").mkdir()
    (tmp_path / "outside.txt").write_text("outside\n")
    return folder


def do(root: Path, *edits: Edit, meanwhile: Callable[[], None] = lambda: None) -> None:
    """Read, patch and write as the edit tools do; `meanwhile` happens between reading and writing."""
    files = WorkspaceFiles(root)
    read: dict[str, str] = {}

    def contents(path: str) -> FileText | None:
        file = files.read_if_there(path)
        if file is not None:
            read[file.path] = file.digest
        return file

    result = apply_edits(edits, contents)
    meanwhile()
    files.commit_writes(result, read)


OUTSIDE = (
    "../x", "a/../../x", "/etc/hosts", "~/x", "~", "file:///etc/hosts", "%2e%2e/x", "a\0b", "", ".", "..",
    "{root}-evil/x", "name ", "name.", "d/",
)  # fmt: skip
PROTECTED = (
    ".git/config", ".GIT/config", "sub/.git/hooks/pre-commit", ".git", ".gi\u200dt/x", "\uff0egit/x", ".git./x",
    ".git /x", "git~1/config", ".git::$INDEX_ALLOCATION/x", ".tcoder/config.toml", "x/.TCODER/y",
)  # fmt: skip


@pytest.mark.parametrize("path", [*OUTSIDE, *PROTECTED])
def test_paths_that_are_refused(root: Path, path: str) -> None:
    (root / "d").mkdir()
    before = sorted(str(place) for place in root.parent.rglob("*"))
    with pytest.raises(WorkspaceError):
        do(root, WriteFile(path.replace("{root}", str(root)), "pwned\n"))
    assert sorted(str(place) for place in root.parent.rglob("*")) == before


@pytest.mark.parametrize(
    "path", ["a b.txt", 'q"uote', "-x", "line\nbreak", "ümlaut", "u\u0308mlaut", "CON", "~tilde", "%41"]
)
def test_names_that_are_fine(root: Path, path: str) -> None:
    do(root, WriteFile(path, "1\n"))
    do(root, Replace(path, "1", "2"))
    assert (root / path).read_text() == "2\n"
    assert os.listdir(root) == [path]


def test_absolute_paths_below_the_root_are_relative(root: Path) -> None:
    files = WorkspaceFiles(root)
    (root / "a").write_text("x")
    assert files.resolve(f"{root}/sub/../a") == "a"
    assert files.read(f"{root}/a").path == "a"


def test_a_name_that_is_not_utf8_can_be_written_down_and_used(root: Path) -> None:
    raw = os.fsencode(root) + b"/caf\xe9.txt"
    Path(os.fsdecode(raw)).write_text("x\n")
    name = WorkspaceFiles(root).listing()[0].name
    assert name == '"caf\\351.txt"'
    do(root, Replace(name, "x", "y"))
    assert Path(os.fsdecode(raw)).read_text() == "y\n"
    assert paths.quote(paths.unquote(name)) == name


@pytest.mark.parametrize("link", ["../outside.txt", "/etc", "loop", "chain", "missing"])
def test_links_that_lead_outside_are_not_followed(root: Path, link: str) -> None:
    (root / "chain").symlink_to("there")
    (root / "there").symlink_to("../outside.txt")
    (root / "loop").symlink_to("loop")
    (root / "link").symlink_to(link)
    (root / "folder").symlink_to("..")
    for path in ("link", "folder/outside.txt", "folder/app-evil/x"):
        with pytest.raises(WorkspaceError):
            do(root, WriteFile(path, "pwned"))
        with pytest.raises(WorkspaceError):
            do(root, DeleteFile(path))
    assert (root.parent / "outside.txt").read_text() == "outside\n"
    assert not list((root.parent / "app-evil").iterdir())


def test_links_that_stay_inside_are_written_through(root: Path) -> None:
    (root / "real").mkdir()
    (root / "real" / "a.txt").write_text("1\n")
    (root / "link.txt").symlink_to("real/a.txt")
    (root / "dir").symlink_to("real")
    do(root, Replace("link.txt", "1", "2"), WriteFile("dir/new.txt", "n"))
    assert (root / "link.txt").is_symlink()
    assert (root / "real" / "a.txt").read_text() == "2\n"
    assert (root / "real" / "new.txt").read_text() == "n"


def test_one_file_under_two_names_in_a_patch(root: Path) -> None:
    (root / "a.txt").write_text("1 2\n")
    (root / "link.txt").symlink_to("a.txt")
    do(root, Replace("link.txt", "1", "x"), Replace("./a.txt", "2", "y"))
    assert (root / "a.txt").read_text() == "x y\n"


def test_the_walk_that_stands_in_for_openat2(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paths, "_SYS_OPENAT2", 100_000)  # no such call
    (root / "d").mkdir()
    (root / "d" / "a.txt").write_text("1\n")
    (root / "out").symlink_to("..")
    do(root, Replace("d/a.txt", "1", "2"))
    assert (root / "d" / "a.txt").read_text() == "2\n"
    for path in ("out/outside.txt", "../outside.txt"):
        with pytest.raises(WorkspaceError):
            do(root, WriteFile(path, "pwned"))
    assert (root.parent / "outside.txt").read_text() == "outside\n"


def test_what_is_no_file_is_refused_at_once(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    os.mkfifo(root / "pipe")
    (root / "folder").mkdir()
    listener = socket.socket(socket.AF_UNIX)
    monkeypatch.chdir(root)  # a socket's name is short
    listener.bind("socket")
    (root / "null").symlink_to("/dev/zero")
    (root / "self").symlink_to("/proc/self/environ")
    start = time.monotonic()
    for name in ("pipe", "folder", "socket", "null", "self"):
        with pytest.raises(WorkspaceError):
            WorkspaceFiles(root).read(name)
    listener.close()
    assert time.monotonic() - start < 1


def test_proc_is_no_project() -> None:
    with pytest.raises(WorkspaceError):
        WorkspaceFiles(Path("/")).read("proc/self/environ")


def test_size_limit(root: Path) -> None:
    (root / "big").write_bytes(b"x" * 101)
    assert WorkspaceFiles(root).read("big", limit=101).text == "x" * 101
    with pytest.raises(WorkspaceError, match="101 bytes"):
        WorkspaceFiles(root).read("big", limit=100)


def test_attributes_are_kept(root: Path) -> None:
    place = root / "a.sh"
    place.write_text("1\n")
    os.setxattr(place, "user.note", b"kept")
    place.chmod(0o2755)
    (root / "readonly").write_text("1\n")
    (root / "readonly").chmod(0o444)
    do(root, Replace("a.sh", "1", "2"), Replace("readonly", "1", "2"))
    assert stat.S_IMODE(place.stat().st_mode) == 0o2755
    assert os.getxattr(place, "user.note") == b"kept"
    assert stat.S_IMODE((root / "readonly").stat().st_mode) == 0o444
    assert (root / "readonly").read_text() == "2\n"


def test_access_lists_are_kept(root: Path) -> None:  # R44
    place = root / "a.sh"
    place.write_text("1\n")
    name, nobody = "system.posix_acl_access", 0xFFFFFFFF
    # Owner rw, user 1234 r, group r, mask r, others nothing: tag, permissions and id of each.
    entries = ((0x01, 6, nobody), (0x02, 4, 1234), (0x04, 4, nobody), (0x10, 4, nobody), (0x20, 0, nobody))
    granted = struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *entry) for entry in entries)
    try:
        os.setxattr(place, name, granted)
    except OSError as error:
        assert error.errno == errno.ENOTSUP  # a file system without access lists has none to lose
        return
    do(root, Replace("a.sh", "1", "2"))
    assert (place.read_text(), os.getxattr(place, name)) == ("2\n", granted)


def test_hard_links_inside_stay_one_file(root: Path) -> None:
    (root / "a").write_text("1\n")
    (root / "d").mkdir()
    os.link(root / "a", root / "d" / "b")
    do(root, Replace("a", "1", "2"))
    assert (root / "d" / "b").read_text() == "2\n"
    assert (root / "a").stat().st_ino == (root / "d" / "b").stat().st_ino


def test_a_hard_link_to_outside_is_refused(root: Path) -> None:
    os.link(root.parent / "outside.txt", root / "a")
    with pytest.raises(WorkspaceError, match="outside the workspace"):
        do(root, WriteFile("a", "pwned"))
    assert (root.parent / "outside.txt").read_text() == "outside\n"


@pytest.mark.parametrize("target", ["a.txt", "./a.txt", "d/../a.txt", "{root}/a.txt"])
def test_a_move_onto_itself_keeps_the_file(root: Path, target: str) -> None:
    (root / "d").mkdir()
    (root / "a.txt").write_text("1\n")
    do(root, MoveFile("a.txt", target.replace("{root}", str(root))), WriteFile("b.txt", "b"))
    assert (root / "a.txt").read_text() == "1\n"


def test_moving_keeps_the_mode(root: Path) -> None:
    (root / "a").write_text("1\n")
    (root / "a").chmod(0o750)
    do(root, MoveFile("a", "d/e/b"))
    assert stat.S_IMODE((root / "d/e/b").stat().st_mode) == 0o750
    assert not (root / "a").exists()


def test_all_files_or_none(root: Path) -> None:
    (root / "a").write_text("1\n")
    (root / "z").write_text("1\n")
    with pytest.raises(WorkspaceError, match="z was changed"):
        do(
            root, Replace("a", "1", "2"), WriteFile("m/new", "n"), Replace("z", "1", "2"),
            meanwhile=lambda: (root / "z").write_text("user\n") and None,
        )  # fmt: skip
    assert (root / "a").read_text() == "1\n"
    assert not (root / "m" / "new").exists()
    assert (root / "z").read_text() == "user\n"


def test_a_failure_at_the_last_swap_puts_the_first_back(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in "abc":
        (root / name).write_text("1\n")
    rename = atomic._Staged._rename

    def fails_at_c(staged: atomic._Staged, source: str, target: str, flags: int) -> None:
        if staged.change.path == "c":
            raise OSError(28, "No space left on device")
        rename(staged, source, target, flags)

    monkeypatch.setattr(atomic._Staged, "_rename", fails_at_c)
    with pytest.raises(WorkspaceError, match="disk is full"):
        do(root, Replace("a", "1", "2"), DeleteFile("b"), Replace("c", "1", "2"), WriteFile("aa", "new"))
    assert {place.name: place.read_text() for place in root.iterdir()} == {"a": "1\n", "b": "1\n", "c": "1\n"}


def same_size_same_time(place: Path) -> None:
    status = place.stat()
    place.write_text("9\n")
    os.utime(place, ns=(status.st_atime_ns, status.st_mtime_ns))


@pytest.mark.parametrize(
    ("edit", "meanwhile"),
    [
        (Replace("a", "1", "2"), lambda place: place.write_text("user\n")),
        (Replace("a", "1", "2"), same_size_same_time),
        (Replace("a", "1", "2"), lambda place: place.unlink()),
        (DeleteFile("a"), lambda place: place.write_text("user\n")),
        (WriteFile("new", "x"), lambda place: (place.parent / "new").write_text("user\n")),
        (MoveFile("a", "new"), lambda place: (place.parent / "new").write_text("user\n")),
    ],
)  # R53 and R56
def test_what_the_user_saved_meanwhile_wins(root: Path, edit: Edit, meanwhile: Callable[[Path], object]) -> None:
    place = root / "a"
    place.write_text("1\n")
    after: dict[str, str] = {}

    def user() -> None:
        meanwhile(place)
        after.update({one.name: one.read_text() for one in root.iterdir()})

    with pytest.raises(WorkspaceError):
        do(root, edit, meanwhile=user)
    assert {one.name: one.read_text() for one in root.iterdir()} == after


def test_a_save_at_the_very_last_moment_is_put_back(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = root / "a"
    place.write_text("1\n")
    rename = atomic._Staged._rename

    def late(staged: atomic._Staged, source: str, target: str, flags: int) -> None:
        place.write_text("user\n")
        rename(staged, source, target, flags)

    monkeypatch.setattr(atomic._Staged, "_rename", late)
    with pytest.raises(WorkspaceError, match="meanwhile"):
        do(root, Replace("a", "1", "2"))
    assert place.read_text() == "user\n"
    assert os.listdir(root) == ["a"]


def test_leftovers_of_a_killed_tcoder_are_removed(root: Path) -> None:
    dead = root / ".tcoder-4194303-abc.tmp"
    alive = root / f".tcoder-{os.getpid()}-abc.tmp"
    for place in (dead, alive):
        place.write_text("half")
    do(root, WriteFile("a", "1"))
    assert not dead.exists()
    assert alive.exists()
    assert [one.name for one in WorkspaceFiles(root).listing()] == ["a"]


TEXTS = {
    "lf": b"a\nb\nc\n",
    "crlf": b"a\r\nb\r\nc\r\n",
    "cr": b"a\rb\rc\r",
    "mixed": b"a\r\nb\nc\r",
    "no final newline": b"a\nb\nc",
    "utf-8 with mark": b"\xef\xbb\xbfa\nb\nc\n",
    "utf-16 little": "\ufeffa\nb\nc\n".encode("utf-16-le"),
    "utf-16 big, crlf": "\ufeffa\r\nb\r\nc\r\n".encode("utf-16-be"),
    "utf-32": "\ufeffa\nb\nc\n".encode("utf-32-le"),
    "latin-1": b"\xe9a\nb\nc\xff\n",
    "nul": b"a\0\nb\nc\0\n",
    "form feed and others": "a\x0c\x1c\x85\u2028\u2029x\nb\nc\n".encode(),
    "tabs": b"\ta \nb\n\t c\t\n",
    "half a surrogate": b"a\nb\n\xed\xa0\x80c\n",
}


@pytest.mark.parametrize("name", TEXTS)  # R43
def test_bytes_outside_the_hunk_never_change(root: Path, name: str) -> None:
    data = TEXTS[name]
    place = root / "f"
    place.write_bytes(data)
    file = WorkspaceFiles(root).read("f")
    assert file.encode(file.text) == data
    assert file.digest == digest_of(data)
    do(root, Replace("f", "b", "changed"))
    text, encoding = decode_text(data)
    assert place.read_bytes() == encode_text(text.replace("b", "changed"), encoding, "f")
    do(root, Replace("f", "changed", "b"))
    assert place.read_bytes() == data


def test_a_character_that_the_encoding_lacks(root: Path) -> None:
    (root / "f").write_bytes(b"\xe9 b\n")
    with pytest.raises(WorkspaceError, match="latin-1"):
        do(root, Replace("f", "b", "€"))
    assert (root / "f").read_bytes() == b"\xe9 b\n"


def test_a_folder_that_turns_into_a_link_and_back_while_edits_run(root: Path) -> None:  # A23
    outside = root.parent / "app-evil"
    (root / "real").mkdir()
    (root / "d").symlink_to("real")
    stop = threading.Event()

    def flip() -> None:
        while not stop.is_set():
            for target in (str(outside), "real"):
                (root / "next").symlink_to(target)
                (root / "next").rename(root / "d")

    thread = threading.Thread(target=flip)
    thread.start()
    try:
        for number in range(300):
            with contextlib.suppress(WorkspaceError):
                do(root, WriteFile("d/x.txt", f"{number}\n"))
    finally:
        stop.set()
        thread.join()
    assert list(outside.iterdir()) == []
    assert sorted(os.listdir(root / "real")) in ([], ["x.txt"])


def test_a_full_disk_leaves_the_old_file(root: Path) -> None:  # R21
    (root / "a").write_text("1\n")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, before[1]))
    try:
        with pytest.raises(WorkspaceError, match="nothing was changed"):
            do(root, WriteFile("b", "b\n"), WriteFile("a", "x" * 10_000))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)
    assert {place.name: place.read_text() for place in root.iterdir()} == {"a": "1\n"}


def test_a_folder_that_may_not_be_written(root: Path) -> None:  # R22
    (root / "d").mkdir()
    (root / "d" / "a").write_text("1\n")
    script = (
        "import os, pathlib, sys\n"
        "from tcoder.protocol.errors import WorkspaceError\n"
        "from tcoder.workspace.files.atomic import Change\n"
        "from tcoder.workspace.files.files import WorkspaceFiles, digest_of\n"
        "files = WorkspaceFiles(pathlib.Path('.'))\n"
        "if os.getuid() == 0:\n"
        "    os.setgroups([]); os.setgid(65534); os.setuid(65534)\n"
        "try:\n"
        "    files.commit([Change('d/a', digest_of(b'1\\n'), b'2\\n')])\n"
        "except WorkspaceError as error:\n"
        "    print(error)\n"
    )
    (root / "d").chmod(0o555)
    done = subprocess.run([sys.executable, "-c", script], cwd=root, capture_output=True, text=True)
    assert "d/a may not be written: Permission denied" in done.stdout, done.stderr
    assert (root / "d" / "a").read_text() == "1\n"
    assert os.listdir(root / "d") == ["a"]
