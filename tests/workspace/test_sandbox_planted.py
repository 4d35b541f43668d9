"""What a workspace holds when the sandbox starts, and repositories that commands make in it."""

import os
import subprocess
from pathlib import Path

import pytest

from tcoder.workspace.sandbox import nested
from tcoder.workspace.sandbox.planted import find, set_aside
from tcoder.workspace.sandbox.sandbox import Sandbox
from tcoder.workspace.shell.shell import Shell

HOOK = "printf '#!/bin/sh\\ntouch PWNED\\n' >{0}/.git/hooks/pre-commit; chmod +x {0}/.git/hooks/pre-commit"
PLANTED = [
    ("git init -q plain", ""),
    ("git init -q a/b/hooked; " + HOOK.format("a/b/hooked"), "hooks: pre-commit"),
    ("git init -q monitor; git -C monitor config core.fsmonitor ./x", "settings: core.fsmonitor"),
    ("git init -q alias; git -C alias config alias.st '!x'", "settings: alias.st"),
    ("git init -q included; printf '[include]\\npath=../x\\n' >>included/.git/config", "settings: include.path"),
    ("git init -q --bare tests.data; git -C tests.data config core.pager x", "settings: core.pager"),
    ("mkdir pointer; echo 'gitdir: ../elsewhere' >pointer/.git", "it points to ../elsewhere"),
    ("mkdir link; ln -s /nowhere link/.git", "a link to /nowhere"),
    ("git init -q shared; echo ../../x >shared/.git/commondir", "it points to another folder (commondir)"),
    ("git init -q broken; echo '[[' >broken/.git/config", "its config cannot be read"),
]


@pytest.mark.parametrize(("command", "why"), PLANTED)
def test_a28_what_would_run_is_found(tmp_path: Path, command: str, why: str) -> None:
    subprocess.run(command, shell=True, cwd=tmp_path, check=True, executable="/bin/bash")
    assert [one.why for one in find(tmp_path, ())] == ([why] if why else [])
    for one in find(tmp_path, ()):
        assert set_aside(tmp_path, one).endswith(".set-aside")
    assert find(tmp_path, ()) == ()


def test_a28_setting_aside_follows_no_link(tmp_path: Path) -> None:
    root, outside = tmp_path / "root", tmp_path / "outside"
    root.mkdir()
    subprocess.run(["git", "init", "-q", outside], check=True)
    subprocess.run(["git", "init", "-q", root / "sub"], check=True)
    (root / "sub/.git/hooks/pre-push").touch()
    (planted,) = find(root, ())
    (root / "sub").rename(root / "old")
    (root / "sub").symlink_to(outside)
    assert set_aside(root, planted) == ""
    assert (outside / ".git/HEAD").exists()


async def test_a28_a_repository_made_by_a_command_is_set_aside_and_told(tmp_path: Path) -> None:
    root = tmp_path / "work"
    subprocess.run(["git", "init", "-q", root], check=True)
    shell = Shell(root, sandbox=Sandbox(root), spill_dir=tmp_path / "spill")
    await shell.run("git init -q good; git init -q src; " + HOOK.format("src"), timeout_s=10)
    told = await shell.close()
    assert [one for one in told if "src/.git" in one and "hooks: pre-commit" in one] == list(told) != []
    assert (root / "src/.git.set-aside/hooks/pre-commit").exists() and not (root / "src/.git").exists()
    assert (root / "good/.git/HEAD").exists()
    subprocess.run(["git", "-C", root / "src", "commit", "-q", "--allow-empty", "-m", "x"], check=False)
    assert not (root / "src/PWNED").exists()


async def test_a24_a_hard_link_to_outside_cannot_be_written_by_a_command(tmp_path: Path) -> None:
    root, outside = tmp_path / "work", tmp_path / "outside"
    (root / "src").mkdir(parents=True)
    outside.write_text("real")
    os.link(outside, root / "src/link")
    (root / "one").write_text("own")
    os.link(root / "one", root / "two")
    shell = Shell(root, sandbox=Sandbox(root), spill_dir=tmp_path / "spill")
    try:
        result = await shell.run("echo x >>src/link; rm -f src/link; mv src moved; echo x >>moved/link", timeout_s=10)
        assert "Read-only file system" in result.output
        assert outside.read_text() == "real"
        assert (await shell.run("echo more >>two; cat one", timeout_s=10)).output == "ownmore\n"
    finally:
        await shell.close()


async def test_what_was_not_looked_at_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nested, "MAX_FOLDERS", 5)
    for number in range(9):
        (tmp_path / f"work/{number}").mkdir(parents=True)
    root = tmp_path / "work"
    shell = Shell(root, sandbox=Sandbox(root), spill_dir=tmp_path / "spill")
    try:
        first = await shell.run("true", timeout_s=10)
        assert first.notices == ("only the first 5 folders were looked through for repositories to protect",)
        assert (await shell.run("true", timeout_s=10)).notices == ()
    finally:
        await shell.close()
