"""One bash for the session, in the sandbox: what it carries, how it ends, and that the next command works."""

import asyncio
import subprocess
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tcoder.protocol.errors import ToolError
from tcoder.workspace.sandbox.sandbox import Sandbox
from tcoder.workspace.shell.limits import Limits
from tcoder.workspace.shell.processes import descendants
from tcoder.workspace.shell.shell import Shell


@pytest.fixture
async def shell(tmp_path: Path) -> AsyncIterator[Shell]:
    root = tmp_path / "work"
    root.mkdir()
    opened = Shell(root, sandbox=Sandbox(root), spill_dir=tmp_path / "spill")
    yield opened
    await opened.close()


ENDINGS = [
    ("true", 0, ""),
    ("exit 3", 3, ""),
    ("exec true", 0, ""),
    ("exec sh -c 'exit 7'", 7, ""),
    ("set -e; false; echo no", 1, ""),
    ("kill -9 $BASHPID", 137, ""),
    ("kill 0", 143, ""),
    ("trap '' INT TERM; echo t", 0, "t\n"),
    ("exec >/dev/null 2>&1; echo lost", 0, ""),
    ("exec </dev/null; cat", 0, ""),
    ("stty raw -echo; echo r", 0, "r\n"),
    ("PROMPT_COMMAND='echo p'; PS1=x; alias ls=false; set -u; umask 077; shopt -s nullglob; echo o", 0, "o\n"),
    ("ls() { false; }; builtin() { false; }; printf() { false; }; echo f", 0, "f\n"),
    ("printf 'no newline'", 0, "no newline"),
    ("printf '\\0\\0'", 0, ""),
    ("printf '\\xff\\xfe'", 0, "\ufffd\ufffd"),
    ("printf '1%%\\r2%%\\r3%%'", 0, "3%"),
    ("echo $'\\x03\\x04\\x1a' | od -An -tx1", 0, " 03 04 1a 0a\n"),
    ("# only a comment", 0, ""),
    ("echo a \\", 0, "a \\\n"),
    ("echo '!history'", 0, "!history\n"),
    ("echo\t\ttabs", 0, "tabs\n"),
    ("yes | head -1", 0, "y\n"),
    ("nope", 127, "bash: line 1: nope: command not found\n"),
    ("true\nfalse\nnope", 127, "bash: line 3: nope: command not found\n"),
    ("(exit 4)", 4, ""),
    ("false | true", 0, ""),
]


async def test_the_status_is_right_and_the_next_command_works(shell: Shell) -> None:
    for command, status, printed in ENDINGS:
        result = await shell.run(command, timeout_s=10)
        assert (result.command, result.exit_code, result.output) == (command, status, printed)
        after = await shell.run("echo next; ls; umask; (exit 5)", timeout_s=10)
        assert (command, after.exit_code, after.output) == (command, 5, "next\n0022\n")


async def test_without_descriptors_the_status_is_still_told(shell: Shell) -> None:
    result = await shell.run("ulimit -n 3; echo u; exit 6", timeout_s=10)
    assert result.exit_code == 6 and result.output.startswith("u\n")
    assert (await shell.run("echo next", timeout_s=5)).output == "next\n"


async def test_syntax_errors_are_quick(shell: Shell) -> None:
    for command in ("echo 'unmatched", 'echo "$(', "if true", "echo ${"):
        result = await shell.run(command, timeout_s=5)
        assert result.exit_code not in (0, None)
        assert "bash: " in result.output
        assert (await shell.run("echo next", timeout_s=5)).output == "next\n"


async def test_an_endless_here_document_is_taken_as_it_is(shell: Shell) -> None:
    result = await shell.run("cat <<EOF\ntext", timeout_s=5)
    assert result.exit_code == 0 and result.output.endswith("text\n")


async def test_a_command_of_200_kb(shell: Shell) -> None:
    result = await shell.run(f"x={'a' * 200_000}; echo ${{#x}}", timeout_s=20)
    assert result.output == "200000\n"


async def test_folder_and_exported_variables_are_carried_and_nothing_else(shell: Shell) -> None:
    await shell.run(
        "mkdir -p 'a b' && cd 'a b' && export V=$'x \"y\"\\n\\'z\\' $HOME \\\\ ü\\x01' && W=local", timeout_s=5
    )
    result = await shell.run('echo "$PWD|$V|$W"', timeout_s=5)
    assert result.output == f"{shell.cwd}|x \"y\"\n'z' $HOME \\ ü|\n"
    assert shell.cwd.name == "a b" and result.cwd == str(shell.cwd)
    await shell.run("unset V; cd ..", timeout_s=5)
    assert (await shell.run('echo "[${V-unset}]" "${PWD##*/}"', timeout_s=5)).output == "[unset] work\n"


async def test_a_folder_given_holds_for_one_command(shell: Shell) -> None:
    await shell.run("mkdir sub", timeout_s=5)
    assert (await shell.run("echo ${PWD##*/}", timeout_s=5, cwd="sub")).output == "sub\n"
    assert (await shell.run("echo ${PWD##*/}", timeout_s=5)).output == "work\n"
    for wrong in ("..", "/etc", "missing"):
        with pytest.raises(ToolError):
            await shell.run("pwd", timeout_s=5, cwd=wrong)


async def test_a_nul_byte_is_refused(shell: Shell) -> None:
    with pytest.raises(ToolError):
        await shell.run("echo a\0b", timeout_s=5)


async def test_r32_ending_the_shell_itself_is_reported_and_survived(shell: Shell) -> None:
    await shell.run("mkdir d; cd d; export KEPT=1", timeout_s=5)
    result = await shell.run("kill -9 $$", timeout_s=5)
    assert result.exit_code == 137
    assert "ended the shell" in result.notices[0]
    assert (await shell.run("echo $KEPT ${PWD##*/}", timeout_s=5)).output == "1 d\n"


FORGERIES = [
    r"printf 'end 0\0' ; printf '\x1eend 0\x1e'; echo '::exit 0'",
    r"for f in /proc/$$/fd/*; do printf 'end 0\0' >$f; done 2>/dev/null",
    r"for n in 3 4 5 6 7 8 9 10 11 12 13 14 15 20 63 255; do printf 'end 0\0' >&$n; done 2>/dev/null",
    r"python3 -c 'import os; [os.write(os.open(f\"/proc/{os.getppid()}/fd/{n}\", 1), b\"end 0\0\") for n in (7, 8)]'",
    r"for s in /tmp/tcoder-shell-*/channel/state; do printf '/etc\0declare -x PWNED=\"1\"\n\0' >$s; done",
]


async def test_r31_the_exit_status_cannot_be_forged(shell: Shell) -> None:
    for forgery in FORGERIES:
        result = await shell.run(f"({forgery}); exit 7", timeout_s=10)
        assert (forgery, result.exit_code) == (forgery, 7)
        assert (await shell.run("(exit 8)", timeout_s=10)).exit_code == 8


async def test_the_carrying_of_state_evaluates_nothing(shell: Shell) -> None:
    forged = r"""declare -x A="$(touch pwned)"'\n'declare -x B="\`touch pwned\`"; touch pwned"""
    await shell.run(
        f"for s in /tmp/tcoder-shell-*/channel/state; do printf '{forged}' >$s; done; declare() {{ touch bad; }}",
        timeout_s=5,
    )
    assert (await shell.run("ls", timeout_s=5)).output == ""


WAITING = [
    "cat",
    "read -r answer; echo got $answer",
    "read -rs -p 'Password: ' answer; echo got $answer",
    "python3 -c 'print(input(\"Proceed? [y/N] \"))'",
    "python3 -c 'import getpass; print(getpass.getpass())'",
    "python3 -c 'import threading; t = threading.Thread(target=lambda: print(input())); t.start(); t.join()'",
    "bash -i",
]


async def test_r27_waiting_for_input_is_seen_within_two_seconds_and_can_be_answered(tmp_path: Path) -> None:
    async def ask(command: str) -> None:
        shell = Shell(tmp_path, sandbox=Sandbox(tmp_path), spill_dir=tmp_path / "spill")
        try:
            await shell.run("true", timeout_s=20)
            began = time.monotonic()
            result = await shell.run(command, timeout_s=30)
            assert (command, result.awaiting_input, result.exit_code) == (command, True, None)
            assert time.monotonic() - began < 4  # two seconds of silence; six shells on a busy machine
            answered = await shell.send_input("echo hello\n" if command == "bash -i" else "hello\n", timeout_s=10)
            assert "hello" in answered.output
        finally:
            await shell.close()

    await asyncio.gather(*map(ask, WAITING))


async def test_an_answered_command_ends_with_its_own_status(shell: Shell) -> None:
    assert (await shell.run("read x; echo got $x; exit 6", timeout_s=20)).awaiting_input
    assert await shell.screen() == ""
    result = await shell.send_input("hello\n", timeout_s=10)
    assert (result.exit_code, result.output) == (6, "got hello\n")
    with pytest.raises(ToolError):
        await shell.send_input("more\n")


async def test_ctrl_c_can_be_typed(shell: Shell) -> None:
    assert (await shell.run("cat", timeout_s=20)).awaiting_input
    assert (await shell.send_input("\x03", timeout_s=10)).exit_code == 130


async def test_another_command_ends_the_one_that_waits(shell: Shell) -> None:
    assert (await shell.run("cat", timeout_s=20)).awaiting_input
    assert (await shell.run("echo next", timeout_s=10)).output == "next\n"
    assert "cat" not in (await shell.run("ps -eo comm", timeout_s=5)).output.split()


async def test_a_silent_command_that_works_is_left_alone(shell: Shell) -> None:
    result = await shell.run("sleep 2.6; echo done", timeout_s=20)
    assert (result.exit_code, result.output) == (0, "done\n")


async def test_r35_nothing_pages(shell: Shell) -> None:
    for pager in ("git log", "man ls", "less x", "systemctl"):
        result = await shell.run(f"{pager}; true", timeout_s=15)
        assert (pager, result.timed_out, result.awaiting_input) == (pager, False, False)


async def test_r28_a_command_returns_when_its_foreground_ends(shell: Shell) -> None:
    result = await shell.run("sleep 50 & echo started", timeout_s=10)
    assert (result.exit_code, result.output) == (0, "started\n")
    (job,) = shell.jobs.list()
    assert job.running and str(job.number) in result.notices[0]
    assert (await shell.jobs.stop(job.number)).running is False
    assert "sleep" not in (await shell.run("ps -eo comm", timeout_s=5)).output.split()


async def test_r28_a_background_flood_holds_nothing_up(shell: Shell) -> None:
    for _ in range(3):
        began = time.monotonic()
        result = await shell.run("yes & sleep 0.3", timeout_s=20)
        assert (result.exit_code, result.timed_out) == (0, False) and time.monotonic() - began < 10
    after = await shell.run("echo next; (exit 5)", timeout_s=10)
    assert after.exit_code == 5


async def test_what_was_typed_and_not_read_is_not_read_by_the_next_command(shell: Shell) -> None:
    assert (await shell.run("read x", timeout_s=20)).awaiting_input
    assert (await shell.send_input("one\ntwo\n", timeout_s=10)).exit_code == 0
    assert (await shell.run("read -t 0.2 line; echo got:$line", timeout_s=10)).output == "got:\n"


async def test_r37_a_timeout_ends_the_whole_tree(shell: Shell) -> None:
    kept = await shell.jobs.start("sleep 61")
    result = await shell.run(
        "trap '' TERM INT HUP; echo before; setsid nohup sleep 62 >/dev/null 2>&1 & (setsid sh -c 'sleep 63' &)\n"
        "sleep 64",
        timeout_s=1,
    )
    assert result.timed_out and result.exit_code is None
    assert result.output == "before\n"
    left = (await shell.run("ps -eo args | grep -x 'sleep 6[0-9]'", timeout_s=5)).output
    assert left == "sleep 61\n"
    assert [job.running for job in shell.jobs.list() if job.number == kept.number] == [True]


async def test_r38_cancelling_a_flood_is_quick_and_leaves_a_shell(shell: Shell) -> None:
    await shell.run("true", timeout_s=5)
    pieces: list[str] = []
    task = asyncio.ensure_future(shell.run("yes", timeout_s=60, on_output=pieces.append))
    while not pieces:
        await asyncio.sleep(0.01)
    began = time.monotonic()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert time.monotonic() - began < 1.5  # the aim is one second; the machine may be busy
    assert (await shell.run("echo next; ps -eo comm | grep -c yes", timeout_s=5)).output == "next\n0\n"


async def test_r29_output_without_end_keeps_head_and_tail(shell: Shell, tmp_path: Path) -> None:
    result = await shell.run(
        "echo first; head -c 30000000 /dev/zero | tr '\\0' x; echo; echo last; exit 9", timeout_s=50
    )
    assert result.exit_code == 9
    assert result.output.startswith("first\n") and result.output.endswith("last\n")
    assert len(result.output) < 17_000
    assert abs(result.omitted_bytes + len(result.output) - 30_000_012) < 100
    assert Path(result.spill).stat().st_size <= 8_000_000
    seen = await shell.run(f"head -c 6 {result.spill}", timeout_s=5)
    assert seen.output == "first\n"


async def test_output_is_seen_while_the_command_runs(shell: Shell) -> None:
    seen: list[str] = []
    task = asyncio.ensure_future(shell.run("echo one; read x; echo two", timeout_s=20, on_output=seen.append))
    async with asyncio.timeout(10):
        while "one" not in "".join(seen):
            await asyncio.sleep(0.01)
    assert not task.done() and (await task).awaiting_input


async def test_a76_limits_end_the_command_and_say_which(tmp_path: Path) -> None:
    limits = Limits(file_bytes=1 << 20, processes=40, memory_bytes=300 << 20)
    shell = Shell(tmp_path, sandbox=Sandbox(tmp_path), spill_dir=tmp_path / "spill", limits=limits)
    try:
        filled = await shell.run("yes > file; stat -c %s file", timeout_s=20)
        assert filled.output.endswith("1048576\n")
        forked = await shell.run("for i in $(seq 60); do sleep 30 & done; wait", timeout_s=3)
        assert forked.exit_code != 0 and ("40 are allowed" in " ".join(forked.notices) or "fork" in forked.output)
        bomb = await shell.run(":(){ :|:& };:; sleep 0.3", timeout_s=3)
        after = await shell.run("echo next", timeout_s=20)
        assert "40 are allowed" in " ".join((*bomb.notices, *after.notices)) or bomb.timed_out
        assert after.output.endswith("next\n") and after.exit_code == 0
        hungry = await shell.run(
            "python3 -c 'x = bytearray(1 << 30); import time; x[:] = b\"1\" * (1 << 30); time.sleep(9)'", timeout_s=20
        )
        assert "MiB of memory" in " ".join(hungry.notices)
        assert (await shell.run("echo next", timeout_s=5)).output == "next\n"
    finally:
        await shell.close()


async def test_a_fresh_run_knows_nothing_of_the_session(shell: Shell) -> None:
    await shell.run("mkdir d; cd d; export V=1; ls() { echo mine; }", timeout_s=5)
    assert (await shell.run_fresh("echo ${PWD##*/} [$V]; cd d; export V=2", timeout_s=10)).output == "work []\n"
    assert (await shell.run("echo ${PWD##*/} $V", timeout_s=5)).output == "d 1\n"


async def test_jobs_are_read_waited_for_and_stopped(shell: Shell) -> None:
    server = await shell.jobs.start("python3 -m http.server 8123")
    assert await shell.jobs.wait_for(server.number, port=8123, timeout_s=20) == "ready"
    assert (await shell.run("exec 3<>/dev/tcp/127.0.0.1/8123 && echo open", timeout_s=5)).output == "open\n"
    lines = await shell.jobs.start("echo one; sleep 0.2; echo two words; exit 4")
    assert await shell.jobs.wait_for(lines.number, line="two", timeout_s=10) == "ready"
    assert await shell.jobs.wait_for(lines.number, timeout_s=10) == "ended"
    assert shell.jobs.read(lines.number) == "one\ntwo words\n"
    assert shell.jobs.list()[1].exit_code == 4
    assert await shell.jobs.wait_for(server.number, line="never", timeout_s=0.2) == "timeout"
    assert (await shell.jobs.stop(server.number)).running is False
    with pytest.raises(ToolError):
        shell.jobs.read(99)


async def test_closing_ends_everything_and_leaves_no_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import os
    import tempfile

    place = tmp_path / "place"
    place.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(place))
    root = tmp_path / "work"
    root.mkdir()
    shell = Shell(root, sandbox=Sandbox(root), spill_dir=tmp_path / "spill")
    await shell.jobs.start("sleep 70")
    await shell.run("setsid nohup sleep 71 >/dev/null 2>&1 & touch kept ~/.cache/x", timeout_s=5)
    assert len(descendants(os.getpid())) >= 4
    await shell.close()
    assert [one for one in descendants(os.getpid()) if one.state != "Z"] == []
    assert list(place.iterdir()) == []
    assert sorted(path.name for path in root.iterdir()) == ["kept"]


async def test_without_a_sandbox_the_tree_is_ended_by_its_mark(tmp_path: Path) -> None:

    shell = Shell(tmp_path, sandbox=None, spill_dir=tmp_path / "spill")
    result = await shell.run("setsid nohup sleep 72 >/dev/null 2>&1 & sleep 73", timeout_s=1)
    assert result.timed_out
    assert (await shell.run("echo next; exit 3", timeout_s=5)).exit_code == 3
    await shell.run("setsid nohup sleep 74 >/dev/null 2>&1 &", timeout_s=5)
    await shell.close()
    running = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout.splitlines()
    assert not {"sleep 72", "sleep 73", "sleep 74"} & set(running)
