"""A command that a person let have the network, and what is said when one misses it."""

import socket
import sys
from pathlib import Path

from tcoder.workspace.sandbox.sandbox import Sandbox
from tcoder.workspace.shell.shell import Shell


async def test_one_command_gets_the_network_and_no_other(tmp_path: Path) -> None:
    root = tmp_path / "work"
    root.mkdir()
    shell = Shell(root, sandbox=Sandbox(root), spill_dir=tmp_path / "spill")
    assert shell.lends_network
    with socket.create_server(("127.0.0.1", 0)) as server:
        connect = (
            f"exec 3<>/dev/tcp/127.0.0.1/{server.getsockname()[1]} && echo $V in ${{PWD##*/}} && touch here /etc/no"
        )
        try:
            # what was exported meanwhile must not decide what a yes runs
            await shell.run("mkdir d; cd d; export V=one", timeout_s=10)
            assert (await shell.run(connect, timeout_s=10)).exit_code == 1
            lent = await shell.run_with_network(connect, timeout_s=10)
            assert lent.output.startswith("in d\n") and "Read-only file system" in lent.output
            assert (root / "d/here").exists()
            assert (await shell.run(connect, timeout_s=10)).exit_code == 1
        finally:
            await shell.close()


async def test_who_misses_the_network_is_told(tmp_path: Path) -> None:
    root = tmp_path / "work"
    root.mkdir()
    shell = Shell(root, sandbox=Sandbox(root), spill_dir=tmp_path / "spill")
    try:
        pip = await shell.run(f"{sys.executable} -m pip --retries 0 install nothing-like-this", timeout_s=50)
        assert pip.exit_code != 0 and "--network on" in " ".join(pip.notices)
        assert (await shell.run("echo ENOTFOUND", timeout_s=10)).notices == ()
    finally:
        await shell.close()
