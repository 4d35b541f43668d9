"""Starting where one should not: a home folder, and a repository that looks like tcoder itself. A37, R48."""

import os
import pty
import select
import subprocess
import sys
import time
from pathlib import Path

import pytest
from support.ground import PASSED, PROGRAM


def environment(home: Path) -> dict[str, str]:
    return {"PATH": os.environ["PATH"], "HOME": str(home), "TCODER_HOME": str(home / "own"), "TERM": "dumb", **PASSED}


@pytest.mark.parametrize(
    "line", [[PROGRAM, "--version"], [PROGRAM, "config"], [sys.executable, "-P", "-m", "tcoder", "config"]]
)
def test_a37_a_repository_that_is_called_tcoder_is_not_imported(tmp_path: Path, line: list[str]) -> None:
    repository = tmp_path / "repo"
    (repository / "tcoder").mkdir(parents=True)
    for name in ("tcoder/__init__.py", "tcoder/__main__.py", "tcoder/cli.py", "msgspec.py", "sitecustomize.py"):
        (repository / name).write_text("open('PWNED', 'w').close()\n")
    done = subprocess.run(line, cwd=repository, env=environment(tmp_path), capture_output=True, check=False, timeout=40)
    assert done.returncode == 0, done.stderr
    assert not (repository / "PWNED").exists()


@pytest.mark.parametrize(("answer", "opened"), [("n\n", False), ("\n", False), ("y\n", True)])
def test_r48_a_home_folder_is_asked_about(tmp_path: Path, answer: str, opened: bool) -> None:
    """On a terminal, before anything in it is read; a yes goes on to the interface."""
    master, slave = pty.openpty()
    process = subprocess.Popen(
        [PROGRAM, "--plain"], cwd=tmp_path, env=environment(tmp_path), stdin=slave, stdout=slave, stderr=slave,
        start_new_session=True,
    )  # fmt: skip
    os.close(slave)
    seen = b""
    sent = False
    limit = time.monotonic() + 30
    while time.monotonic() < limit:
        if not select.select([master], [], [], 0.2)[0]:
            if process.poll() is not None:
                break
            continue
        try:
            seen += os.read(master, 65536)
        except OSError:
            break
        if b"[y/N]" in seen and not sent:
            sent = True
            os.write(master, answer.encode())
        if opened and b"line mode" in seen:
            os.write(master, b"/quit\n")
    code = process.wait(timeout=20)
    os.close(master)
    assert b"This is your home folder" in seen
    assert (b"line mode" in seen) is opened
    assert code == (0 if opened else 2)


def test_r48_without_a_terminal_a_home_folder_is_refused(tmp_path: Path) -> None:
    done = subprocess.run(
        [PROGRAM, "--plain"], cwd=tmp_path, env=environment(tmp_path), stdin=subprocess.DEVNULL, capture_output=True,
        check=False, timeout=40,
    )  # fmt: skip
    assert done.returncode == 2 and b"home folder" in done.stderr
