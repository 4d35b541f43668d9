"""A command that a person let have the network, and what is said when one misses it."""

import socket
import sys
from pathlib import Path

from tcoder.workspace.sandbox.paths import listening_sockets
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


async def test_a_service_of_the_host_is_not_reached_over_its_socket(tmp_path: Path) -> None:
    root = tmp_path / "work"
    root.mkdir()
    connect = 'python3 -c \'import socket; socket.socket(socket.AF_UNIX).connect("dev.sock"); print("reached")\''
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(root / "dev.sock"))
        server.listen()
        assert root / "dev.sock" in listening_sockets()
        shell = Shell(root, sandbox=Sandbox(root), spill_dir=tmp_path / "spill")
        try:
            result = await shell.run(connect, timeout_s=10)
            assert result.exit_code == 1 and "reached" not in result.output
            own = 'a = socket.socket(1); a.bind("own.sock"); a.listen(); socket.socket(1).connect("own.sock")'
            own = f"python3 -c 'import socket; {own}'"
            assert (await shell.run(own, timeout_s=10)).exit_code == 0
        finally:
            await shell.close()


def test_who_listens_is_read_off_the_kernels_table(tmp_path: Path) -> None:
    table = tmp_path / "unix"
    table.write_text(
        "Num       RefCount Protocol Flags    Type St Inode Path\n"
        "ffff: 00000002 00000000 00010000 0001 01 1 /home/me/a b.sock\n"
        "ffff: 00000002 00000000 00000000 0001 03 2 /home/me/connected\n"
        "ffff: 00000002 00000000 00010000 0001 01 3 @abstract\n"
        "ffff: 00000002 00000000 00010000 0001 01 4\n"
    )
    assert listening_sockets(table) == [Path("/home/me/a b.sock")]
    assert listening_sockets(tmp_path / "none") == []
