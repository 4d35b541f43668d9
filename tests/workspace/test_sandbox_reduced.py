"""The sandboxes that are less than bubblewrap: Landlock for real, macOS's profile as text."""

import subprocess
import sys
from pathlib import Path

from tcoder.workspace.sandbox import landlock as sandbox_landlock
from tcoder.workspace.sandbox import seatbelt as sandbox_seatbelt

PROJECT = Path(__file__).parents[2]
RESTRICTED = """
import os, sys
from pathlib import Path
from tcoder.workspace.sandbox.landlock import restrict
restrict([Path(sys.argv[1])], network=sys.argv[2] == "on")
os.execv("/bin/bash", ["bash", "-c", sys.argv[3]])
"""


def restricted(folder: Path, command: str, network: str = "off") -> subprocess.CompletedProcess[str]:
    line = [sys.executable, "-c", RESTRICTED, folder, network, command]
    return subprocess.run(
        line, capture_output=True, text=True, timeout=30, check=False, env={"PYTHONPATH": str(PROJECT)}, cwd=folder
    )


def test_landlock_writes_only_where_it_may(tmp_path: Path) -> None:
    assert sandbox_landlock.abi() >= 4, "this kernel has no Landlock with network rules"
    inside, outside = tmp_path / "in", tmp_path / "out"
    inside.mkdir()
    outside.mkdir()
    (outside / "file").write_text("real")
    done = restricted(inside, "echo x > y && mkdir -p d/e && mv y d/e && cat ../out/file && echo z > /dev/null")
    assert (done.returncode, done.stdout) == (0, "real"), done.stderr
    for command in (
        "echo x > ../out/new",
        "echo x >> ../out/file",
        "rm ../out/file",
        "mkdir ../out/d",
        "ln ../out/file l",
    ):
        assert restricted(inside, command).returncode != 0, command
    assert [path.name for path in outside.iterdir()] == ["file"]


def test_landlock_refuses_tcp_unless_a_person_allowed_it(tmp_path: Path) -> None:
    import socket

    with socket.create_server(("127.0.0.1", 0)) as server:
        connect = f"exec 3<>/dev/tcp/127.0.0.1/{server.getsockname()[1]}"
        assert "Permission denied" in restricted(tmp_path, connect).stderr
        assert restricted(tmp_path, connect, network="on").returncode == 0


def test_older_kernels_decide_on_less() -> None:
    rights = [sandbox_landlock.handled_rights(version) for version in (1, 2, 3, 4)]
    assert [files.bit_count() for files, _ in rights] == [10, 11, 12, 12]
    assert [bool(sockets) for _, sockets in rights] == [False, False, False, True]


def test_the_profile_for_macos() -> None:
    root, home = Path('/Users/me/a "b"'), Path("/Users/me")
    text = sandbox_seatbelt.profile(root, home=home, temporary=Path("/private/tmp/x"))
    lines = text.splitlines()
    assert lines[:2] == ["(version 1)", "(deny default)"]
    assert r'(allow file-write* (subpath "/Users/me/a \"b\""))' in lines
    assert '(deny file-read* file-write* (subpath "/Users/me/.ssh"))' in lines
    assert lines.index("(allow file-read*)") < lines.index('(deny file-read* file-write* (subpath "/Users/me/.ssh"))')
    allowed = lines.index(r'(allow file-write* (subpath "/Users/me/a \"b\""))')
    assert allowed < lines.index(r'(deny file-write* (subpath "/Users/me/a \"b\"/.git"))')
    assert not any("network*)" in line for line in lines)
    assert text.count("(") == text.count(")") or "(.*/)?" in text
    assert "(allow network*)" in sandbox_seatbelt.profile(root, home=home, temporary=root, network=True)
    assert sandbox_seatbelt.command(["true"], text)[:2] == ["/usr/bin/sandbox-exec", "-p"]
    assert sandbox_seatbelt.TESTED is False
