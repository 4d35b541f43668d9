"""The sandbox's parts: what is found, hidden, protected, passed on, and swept up."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tcoder.workspace.sandbox import binary as sandbox_binary
from tcoder.workspace.sandbox import seccomp
from tcoder.workspace.sandbox.environment import command_environment, looks_secret
from tcoder.workspace.sandbox.paths import cache_folders, guarded, without_secrets
from tcoder.workspace.sandbox.private import PrivateFolder, sweep
from tcoder.workspace.sandbox.sandbox import Sandbox, probe
from tcoder.workspace.shell.processes import descendants, read_process

PROJECT = Path(__file__).parents[2]


def test_it_holds_here(tmp_path: Path) -> None:
    report = probe(cache=tmp_path / "verdict.json", fresh=True)
    assert (report.mode, report.holds) == ("bubblewrap", True), report


def test_the_verdict_is_kept_for_this_boot_user_and_binary(tmp_path: Path) -> None:
    cache = tmp_path / "verdict.json"
    first = probe(cache=cache, fresh=True)
    kept = cache.read_text()
    cache.write_text(kept.replace("no capabilities", "from the file"))
    assert "from the file" in probe(cache=cache).detail
    cache.write_text(kept.replace('"key": "', '"key": "other'))
    assert probe(cache=cache) == first
    cache.write_text("no json")
    assert probe(cache=cache) == first


def test_without_a_bubblewrap_it_does_not_hold(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tcoder.workspace.sandbox.sandbox.find_bubblewrap", lambda: None)
    report = probe(cache=tmp_path / "verdict.json")
    assert not report.holds and report.mode in ("none", "landlock") and "--sandbox off" in report.fix


@pytest.mark.parametrize(
    ("script", "complaint"),
    [
        ("echo 'bwrap: No permissions to create new namespace' >&2; exit 1", "No permissions to create new namespace"),
        ('while [ "$1" != -- ]; do shift; done; shift; exec "$@"', "kept"),
        ("exit 0", "the trial run ended with 0"),
    ],
)
def test_a_bubblewrap_that_does_not_contain_is_found_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, complaint: str
) -> None:
    false = tmp_path / "bwrap"
    false.write_text(f"#!/bin/bash\n{script}\n")
    false.chmod(0o755)
    binary = sandbox_binary.Bubblewrap(false, False, "x")
    monkeypatch.setattr("tcoder.workspace.sandbox.sandbox.find_bubblewrap", lambda: binary)
    report = probe(cache=tmp_path / "verdict.json")
    assert not report.holds
    assert complaint in report.detail or os.geteuid() != 0
    assert not (tmp_path / "verdict.json").exists() or not probe(cache=tmp_path / "verdict.json").holds


def test_a_system_bubblewrap_is_taken_when_it_is_new_enough(tmp_path: Path) -> None:
    own = tmp_path / "bwrap"
    for version, taken in (("0.7.9", False), ("0.8.0", True), ("0.11.2", True)):
        own.write_text(f"#!/bin/sh\necho bubblewrap {version}\n")
        own.chmod(0o755)
        found = sandbox_binary.find_bubblewrap(str(tmp_path))
        assert found is not None and (found.path == own) == taken
        assert found.overlays == (version != "0.8.0")


def test_a_carried_bubblewrap_with_another_hash_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    assert sandbox_binary.find_bubblewrap("/nowhere") is not None
    changed = {name: dict.fromkeys(pins, "0" * 64) for name, pins in sandbox_binary._PINNED.items()}
    monkeypatch.setattr(sandbox_binary, "_PINNED", changed)
    assert sandbox_binary.find_bubblewrap("/nowhere") is None


def test_the_shipped_filters_are_those_of_the_tables() -> None:
    for machine, table in seccomp.TABLES.items():
        assert seccomp.filter_file(machine).read_bytes() == seccomp.build(table)
        assert len(set(table.denied)) == len(table.denied)


ENVIRONMENT = [
    ("PATH", "/usr/bin", True),
    ("JAVA_HOME", "/opt/java", True),
    ("LC_ALL", "C", True),
    ("PIP_CACHE_DIR", "/c", True),
    ("PIP_INDEX_URL", "https://host/simple", False),
    ("PIP_EXTRA", "https://user:pw@host/simple", False),
    ("OPENAI_API_KEY", "x", False),
    ("UV_PUBLISH_TOKEN", "x", False),
    ("npm_config__authToken", "x", False),
    ("NODE_OPTIONS", "--max-old-space-size=1", True),
    ("NODE_OPTIONS", "sk-abcdefghijklmnopqrstuvwxyz", False),
    ("LD_PRELOAD", "/x.so", False),
    ("BASH_ENV", "/x", False),
    ("BASH_FUNC_ls%%", "() { :; }", False),
    ("SSH_AUTH_SOCK", "/run/agent", False),
    ("DBUS_SESSION_BUS_ADDRESS", "unix:path=/run/bus", False),
    ("TCODER_HOME", "/x", False),
    ("WHATEVER", "x", False),
]


@pytest.mark.parametrize(("name", "value", "passed"), ENVIRONMENT)
def test_the_environment_is_scrubbed(name: str, value: str, passed: bool) -> None:
    assert (command_environment({name: value}).get(name) == value) is passed


def test_a_person_can_pass_a_name() -> None:
    assert command_environment({"MY_KEY": "x"}, keep=["MY_KEY"])["MY_KEY"] == "x"
    assert looks_secret("MY_KEY", "x") and not looks_secret("EDITOR", "vi")


def test_credentials_are_taken_out_of_settings() -> None:
    text = "registry=https://u:p@host/npm\n//host/:_authToken=abc\n_password=x\nfund=false\n[global]\nusername = me\n"
    assert without_secrets(text) == "registry=https://host/npm\nfund=false\n[global]\n"


def test_guarded(tmp_path: Path) -> None:
    for folder in (".git/hooks", "sub/deep/.git", "node_modules/x/.git", ".vscode"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / ".git/HEAD").touch()
    (tmp_path / ".bashrc").touch()
    found = guarded(tmp_path)
    present, missing = found.present, found.missing
    assert {str(path.relative_to(tmp_path)) for path in present} == {".git", ".bashrc", "sub/deep/.git"}
    assert {path.name for path in missing} == {".tcoder", ".vscode", ".idea", ".envrc", ".mcp.json", ".gitmodules"}


def test_a_linked_work_tree_protects_where_it_points(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", tmp_path / "main"], check=True)
    git = ["git", "-C", str(tmp_path / "main"), "-c", "user.name=n", "-c", "user.email=e"]
    subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", "x"], check=True)
    subprocess.run([*git, "worktree", "add", "-q", str(tmp_path / "tree")], check=True, capture_output=True)
    present = guarded(tmp_path / "tree").present
    assert present == (tmp_path / "tree/.git", tmp_path / "main/.git/worktrees/tree", tmp_path / "main/.git")


def test_caches_are_listed_once_outermost_first(tmp_path: Path) -> None:
    for folder in (".cache/uv", ".cargo/registry", "elsewhere", "go/pkg"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / ".npm").symlink_to("/nowhere")
    environment = {
        "UV_CACHE_DIR": str(tmp_path / ".cache/uv"),
        "GOPATH": str(tmp_path / "elsewhere"),
        "CARGO_HOME": "x",
    }
    found = [path.name for path in cache_folders(tmp_path, environment)]
    assert sorted(found) == [".cache", ".cargo", "elsewhere", "go"]


def test_stand_ins_go_and_what_was_put_into_them_stays(tmp_path: Path) -> None:
    place, work = tmp_path / "place", tmp_path / "work"
    (work / ".idea").mkdir(parents=True)  # empty, and the person's own
    place.mkdir()
    first, second = PrivateFolder(place), PrivateFolder(place)
    first.remember_stand_ins([work / ".tcoder", work / ".git", work / ".idea"])
    (work / ".tcoder").mkdir()
    (work / ".git").mkdir()
    second.remember_stand_ins([work / ".tcoder", work / ".idea"])
    (work / ".git/HEAD").touch()
    first.close()
    # the second session still needs one
    assert sorted(path.name for path in work.iterdir()) == [".git", ".idea", ".tcoder"]
    second.close()
    assert sorted(path.name for path in work.iterdir()) == [".git", ".idea"]
    assert list(place.iterdir()) == []


def test_what_killed_sessions_left_is_swept_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "work/.tcoder").mkdir(parents=True)
    gone = tmp_path / "tcoder-shell-999999999-5-abc"
    gone.mkdir()
    (gone / "stood-in").write_bytes(os.fsencode(tmp_path / "work/.tcoder") + b"\0")
    (gone / "layer/0/work/work").mkdir(parents=True)
    (gone / "layer/0/work/work").chmod(0)
    alive = PrivateFolder(tmp_path)
    (tmp_path / "tcoder-shell-notes").mkdir()
    (tmp_path / "tcoder-shell-999999998-5-link").symlink_to(tmp_path / "work")
    sweep(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {
        "work", "tcoder-shell-notes", "tcoder-shell-999999998-5-link", alive.path.name,
    }  # fmt: skip
    assert list((tmp_path / "work").iterdir()) == []


def test_a_folder_that_somebody_else_swept_leaves_its_parent_as_it_is(tmp_path: Path) -> None:
    place = tmp_path / "shared"
    place.mkdir(mode=0o755)
    place.chmod(0o1777)
    private = PrivateFolder(place)
    private.path.rename(place / "gone")
    private.close()
    assert place.stat().st_mode & 0o7777 == 0o1777


KILLED = """
import asyncio, sys
from pathlib import Path
from tcoder.workspace.sandbox.sandbox import Sandbox
from tcoder.workspace.shell.shell import Shell

async def main(root):
    shell = Shell(root, sandbox=Sandbox(root), spill_dir=root / "spill")
    await shell.run("setsid nohup sleep 81 >/dev/null 2>&1 & (trap '' HUP TERM; sleep 82 &)", timeout_s=20)
    await shell.jobs.start("sleep 83")
    print("ready", flush=True)
    await shell.run("sleep 84", timeout_s=60)

asyncio.run(main(Path(sys.argv[1])))
"""


def test_nothing_survives_a_kill_of_the_parent_and_the_next_start_tidies(tmp_path: Path) -> None:
    root, place = tmp_path / "work", tmp_path / "place"
    root.mkdir()
    place.mkdir()
    environment = {**os.environ, "TMPDIR": str(place), "PYTHONPATH": str(PROJECT)}
    parent = subprocess.Popen([sys.executable, "-c", KILLED, root], stdout=subprocess.PIPE, env=environment)
    assert parent.stdout is not None and parent.stdout.readline() == b"ready\n"
    children = descendants(parent.pid)
    assert len(children) >= 6
    parent.send_signal(signal.SIGKILL)
    parent.wait()
    parent.stdout.close()

    def living() -> list[int]:
        now = [(one, read_process(one.pid)) for one in children]
        return [one.pid for one, then in now if then and then.started == one.started and then.state not in "ZX"]

    for _ in range(200):
        if not living():
            break
        signal.sigtimedwait([], 0.02)
    assert living() == []
    assert len(list(place.iterdir())) == 1
    sweep(place)
    assert list(place.iterdir()) == []
    assert not (root / ".tcoder").exists()


def test_the_writable_folders_never_come_from_a_command(tmp_path: Path) -> None:
    """What the sandbox opens is said when it is made; a launch has no argument that widens it."""
    box = Sandbox(tmp_path, overlay="none")
    private = PrivateFolder()
    try:
        launch = box.launch(["true"], environment={}, private=private, own_terminal=False)
        launch.close()
        binds = [launch.argv[at + 1] for at, word in enumerate(launch.argv) if word == "--bind"]
    finally:
        private.close()
    assert [path for path in binds if not path.startswith(str(private.path))] == [str(tmp_path)]
    assert "--new-session" in launch.argv and "--unshare-net" in launch.argv
