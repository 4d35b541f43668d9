"""Where the sandbox does not hold: without a person nothing runs, with one every command is asked about."""

from pathlib import Path

import pytest

from tcoder.app.commands import doctor
from tcoder.app.options import Options
from tcoder.app.parts import open_shell
from tcoder.app.place import Place, find_place
from tcoder.protocol.errors import SandboxError
from tcoder.tools.policy.judge import PolicyCall, PolicyFacts, judge
from tcoder.workspace.sandbox import reduced, sandbox


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    root = tmp_path / "work"
    root.mkdir()
    monkeypatch.setenv("TCODER_HOME", str(tmp_path / "own"))
    monkeypatch.setattr(sandbox, "find_bubblewrap", lambda: None)
    return find_place(Options(path=str(root)))


def test_without_a_person_nothing_is_opened(place: Place, tmp_path: Path) -> None:
    with pytest.raises(SandboxError, match="does not hold here"):
        open_shell(place, tmp_path / "spill", interactive=False)


async def test_with_a_person_commands_are_held_back_by_landlock(place: Place, tmp_path: Path) -> None:
    opened = open_shell(place, tmp_path / "spill", interactive=True)
    assert (opened.mode, opened.wary) == ("reduced", True)
    assert "Every command is asked about" in opened.notice and "hides no secrets" in opened.notice
    try:
        inside = await opened.shell.run("echo x >file; echo y >$TMPDIR/z && cat file; sleep 0.1 & wait", timeout_s=20)
        assert (inside.exit_code, inside.output) == (0, "x\n")
        outside = await opened.shell.run(f"echo x >{tmp_path}/outside", timeout_s=20)
        assert outside.exit_code == 1 and "Permission denied" in outside.output
        left = await opened.shell.run("setsid nohup sleep 79 >/dev/null 2>&1 & cd /; export V=1", timeout_s=20)
        assert left.exit_code == 0
        assert (await opened.shell.run("echo $V $PWD", timeout_s=20)).output == "1 /\n"
    finally:
        await opened.shell.close()
    assert not (tmp_path / "outside").exists()


def test_where_there_is_nothing_at_all_it_says_so(
    place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reduced, "available", lambda: None)
    opened = open_shell(place, tmp_path / "spill", interactive=True)
    assert (opened.mode, opened.wary) == ("", True) and "and runs with reduced" not in opened.notice


def test_the_doctor_says_what_holds_and_what_does_not(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    found = {check.name: check for check in doctor.examine(place)}
    assert not found["sandbox"].ok and "reduced containment (Landlock" in found["sandbox"].detail
    assert "code 4" in found["sandbox"].detail and "processes" in found["limits"].detail
    monkeypatch.undo()
    held = {check.name: check for check in doctor.examine(place)}["sandbox"]
    assert held.ok and "bubblewrap holds" in held.detail


@pytest.mark.parametrize("command", ["ls", "git status", "pytest -q", "cd src", "echo x"])
@pytest.mark.parametrize("mode", ["ask", "edits", "auto"])
def test_every_command_is_asked_about(command: str, mode: str) -> None:
    facts = PolicyFacts(sandboxed=False, root="/w", cwd="/w", wary=True)
    verdict = judge(PolicyCall("shell", "shell", command=command), mode, (), facts)  # pyright: ignore[reportArgumentType]
    assert verdict.decision == "ask" and not verdict.clean
