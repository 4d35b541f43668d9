"""Jobs that a person let outlive the session, limits on disk and memory, and commands that see a clean environment."""

import tempfile
from pathlib import Path

import pytest

from tcoder.workspace.sandbox.private import sweep
from tcoder.workspace.sandbox.sandbox import Sandbox
from tcoder.workspace.shell.limits import Limits
from tcoder.workspace.shell.processes import read_process
from tcoder.workspace.shell.shell import Shell


def opened(tmp_path: Path, limits: Limits | None = None) -> Shell:
    root = tmp_path / "work"
    root.mkdir(exist_ok=True)
    return Shell(root, sandbox=Sandbox(root), spill_dir=tmp_path / "spill", limits=limits)


async def test_a_kept_job_outlives_the_shell_and_is_swept_when_it_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "place"
    place.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(place))
    shell = opened(tmp_path)
    await shell.run("mkdir d; cd d; export V=here", timeout_s=10)
    job = await shell.jobs.start("echo $V in ${PWD##*/}; touch /etc/no; echo up; exec sleep 77", keep=True)
    other = await shell.jobs.start("sleep 78")
    assert await shell.jobs.wait_for(job.number, line="up", timeout_s=10) == "ready"
    assert shell.jobs.read(job.number).startswith("here in d\ntouch: cannot touch '/etc/no'")
    assert [one.running for one in shell.jobs.list()] == [True, True]
    await shell.close()
    kept = read_process(job.pid)
    assert kept is not None and kept.state not in "ZX"
    assert other.pid != job.pid
    sweep(place)
    assert len(list(place.iterdir())) == 1, "the folder of a job that runs stays"
    assert (await shell.jobs.stop(job.number)).running is False
    sweep(place)
    assert list(place.iterdir()) == []


async def test_a_kept_job_can_be_stopped_and_tells_its_status(tmp_path: Path) -> None:
    shell = opened(tmp_path)
    try:
        short = await shell.jobs.start("echo x; exit 5", keep=True)
        assert await shell.jobs.wait_for(short.number, timeout_s=10) == "ended"
        assert shell.jobs.list()[0].exit_code == 5
        server = await shell.jobs.start("exec python3 -m http.server 8125", keep=True)
        assert await shell.jobs.wait_for(server.number, port=8125, timeout_s=20) == "ready"
        assert (await shell.jobs.stop(server.number)).running is False
    finally:
        await shell.close()


async def test_a_clean_command_sees_nothing_that_was_exported(tmp_path: Path) -> None:
    shell = opened(tmp_path)
    try:
        await shell.run("mkdir bin d; printf '#!/bin/sh\\necho poisoned\\n' >bin/ls; chmod +x bin/ls", timeout_s=10)
        await shell.run("export PATH=$PWD/bin:$PATH PAGER=evil; cd d", timeout_s=10)
        assert (await shell.run("ls", timeout_s=10)).output == "poisoned\n"
        clean = await shell.run("ls; echo ${PAGER} ${PWD##*/}; export Q=1", timeout_s=10, clean=True)
        assert clean.output == "cat d\n"
        assert (await shell.run("ls; echo $PAGER [$Q] ${PWD##*/}", timeout_s=10)).output == "poisoned\nevil [] d\n"
    finally:
        await shell.close()


async def test_a70_a_bomb_is_ended_by_the_limit_on_the_disk(tmp_path: Path) -> None:
    shell = opened(tmp_path, Limits(disk_bytes=64 << 20))
    make = "import gzip; gzip.open('b.gz', 'wb', 9).write(b'\\0' * 50_000_000)"
    try:
        assert (await shell.run(f'python3 -c "{make}" && stat -c %s b.gz', timeout_s=30)).exit_code == 0
        spread = "for i in $(seq 400); do gzip -dc b.gz >out$i; sync out$i; done"
        result = await shell.run(spread, timeout_s=50)
        assert "64 MiB are allowed" in " ".join(result.notices) and "of the disk" in " ".join(result.notices)
        assert (await shell.run("rm -f out*; echo next", timeout_s=20)).output == "next\n"
    finally:
        await shell.close()


async def test_a70_a_file_that_grows_too_large_is_named(tmp_path: Path) -> None:
    shell = opened(tmp_path, Limits(file_bytes=1 << 20))
    try:
        result = await shell.run("exec head -c 5000000 /dev/zero >big", timeout_s=20)
        assert (result.exit_code, result.notices) == (153, ("it was ended by the limit on files: 1 MiB each",))
    finally:
        await shell.close()


async def test_a70_archives_that_reach_outside_stay_inside(tmp_path: Path) -> None:
    """What leads out of the workspace meets the sandbox: tar, zip, links, devices and set-user-id bits."""
    pack = """
import io, tarfile, zipfile
def add(tar, name, **fields):
    info = tarfile.TarInfo(name); [setattr(info, key, value) for key, value in fields.items()]
    info.size = 0 if info.type != tarfile.REGTYPE else 3
    tar.addfile(info, io.BytesIO(b"bad"))
with tarfile.open("evil.tar", "w") as tar:
    add(tar, "../outside/up"); add(tar, "OUT/absolute")
    add(tar, "link", type=tarfile.SYMTYPE, linkname="OUT"); add(tar, "link/through")
    add(tar, "device", type=tarfile.CHRTYPE, devmajor=1, devminor=3); add(tar, "suid", mode=0o4755)
with zipfile.ZipFile("evil.zip", "w") as archive:
    archive.writestr("../outside/zip", "bad")
"""
    outside = tmp_path / "outside"
    outside.mkdir()
    shell = opened(tmp_path)
    try:
        (tmp_path / "work/pack.py").write_text(pack.replace("OUT", str(outside)))
        await shell.run("python3 pack.py", timeout_s=20)
        await shell.run("tar -xPf evil.tar; python3 -m zipfile -e evil.zip .", timeout_s=20)
        await shell.run('python3 -c \'import tarfile; tarfile.open("evil.tar").extractall(".")\'', timeout_s=20)
        assert list(outside.iterdir()) == []
        assert "device" not in (await shell.run("find . -type c", timeout_s=10)).output
        run = await shell.run("grep -E 'NoNewPrivs|CapEff' /proc/self/status", timeout_s=10)
        assert "NoNewPrivs:\t1" in run.output and "0000000000000000" in run.output
    finally:
        await shell.close()


def test_without_a_group_the_limits_are_those_of_ulimit() -> None:
    limits = Limits(file_bytes=1 << 20, processes=10, memory_bytes=1 << 30)
    assert limits.commands() == "ulimit -c 0; ulimit -f 1024; ulimit -u 20; ulimit -d 1048576;"
    assert limits.commands({"pids", "memory"}) == "ulimit -c 0; ulimit -f 1024;"


async def test_memory_is_bounded_by_ulimit_where_no_group_can_be_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tcoder.workspace.shell import process

    monkeypatch.setattr(process, "open_group", lambda *_: None)
    shell = opened(tmp_path, Limits(memory_bytes=200 << 20))
    try:
        hungry = await shell.run("python3 -c 'x = bytearray(1 << 30)'", timeout_s=20)
        assert hungry.output.rstrip().endswith("MemoryError") and hungry.exit_code == 1
        assert (await shell.run("node -e 'console.log(1)'", timeout_s=20)).output == "1\n", "reserved is not used"
    finally:
        await shell.close()
