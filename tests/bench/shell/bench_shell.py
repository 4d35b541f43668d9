"""What the shell and the sandbox cost: `python tests/bench/shell/bench_shell.py [--sessions 200]`.

Prints one line for each figure with its aim: start in the sandbox, `true` through the tool beyond bash itself, memory
of our process per shell, cancelling a flood, and processes, mounts and folders left after many sessions.
"""

import argparse
import asyncio
import os
import resource
import statistics
import subprocess
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from tcoder.workspace.sandbox.sandbox import Sandbox, probe
from tcoder.workspace.shell.processes import descendants
from tcoder.workspace.shell.shell import Shell


def milliseconds(samples: list[float]) -> str:
    ordered = sorted(samples)
    return f"median {1000 * statistics.median(ordered):6.1f} ms, p95 {1000 * ordered[int(0.95 * len(ordered))]:6.1f} ms"


async def timed(action: Callable[[], Awaitable[object]]) -> float:
    began = time.perf_counter()
    await action()
    return time.perf_counter() - began


def resident() -> int:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize()


async def first_shell() -> int:
    """How much our process grows by the first shell, pexpect's import included."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        sandbox = Sandbox(root)
        before = resident()
        shell = Shell(root, sandbox=sandbox, spill_dir=root / "spill")
        await shell.run("true", timeout_s=20)
        grown = resident() - before
        await shell.close()
    return grown


async def main(sessions: int) -> None:
    grown = await first_shell()
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "work"
        root.mkdir()
        verdict = Path(folder) / "verdict.json"
        print(f"probe, first      {1000 * await timed(lambda: asyncio.to_thread(probe, cache=verdict)):6.1f} ms")
        print(f"probe, kept       {1000 * await timed(lambda: asyncio.to_thread(probe, cache=verdict)):6.1f} ms")

        def open_shell(contained: bool = True) -> Shell:
            return Shell(root, sandbox=Sandbox(root) if contained else None, spill_dir=Path(folder) / "spill")

        for name, contained in (("sandbox", True), ("no sandbox", False)):
            starts: list[float] = []
            for _ in range(20):
                shell = open_shell(contained)
                starts.append(await timed(lambda: shell.run("true", timeout_s=20)))  # noqa: B023 awaited here
                await shell.close()
            print(f"start, {name:10} {milliseconds(starts)}   (aim: 80 ms in the sandbox)")

        bare = [await timed(lambda: asyncio.to_thread(subprocess.run, ["bash", "-c", "true"])) for _ in range(60)]
        print(f"bash -c true      {milliseconds(bare)}")
        before = resident()
        shell = open_shell()
        await shell.run("true", timeout_s=20)
        for name in ("true", "/bin/true"):
            samples = [await timed(lambda: shell.run(name, timeout_s=20)) for _ in range(60)]  # noqa: B023 awaited here
            print(f"{name:17} {milliseconds(samples)}   (aim: 5 ms beyond bash itself)")
        print(f"memory per shell  {grown / 1e6:6.1f} MB   (aim: 10 MB; the first, which imports pexpect)")
        flood = asyncio.ensure_future(shell.run("yes", timeout_s=60, on_output=lambda _: None))
        await asyncio.sleep(1)
        flood.cancel()
        began = time.perf_counter()
        await asyncio.wait([flood])
        print(f"cancel a flood    {1000 * (time.perf_counter() - began):6.1f} ms   (aim: 1000 ms)")
        gigabyte = await timed(lambda: shell.run("head -c 1000000000 /dev/zero | tr '\\0' x", timeout_s=300))
        print(f"a line of 1 GB    {gigabyte:6.1f} s, memory grew {(resident() - before) / 1e6:.1f} MB")
        await shell.close()

        mounts = Path("/proc/self/mounts").read_text()
        for _ in range(sessions):
            shell = open_shell()
            await shell.run("sleep 99 & touch ~/.cache/x", timeout_s=20)
            await shell.close()
        left = [one for one in descendants(os.getpid()) if one.state not in "ZX"]
        folders = list(Path(tempfile.gettempdir()).glob(f"tcoder-shell-{os.getpid()}-*"))
        same = mounts == Path("/proc/self/mounts").read_text()
        print(f"after {sessions} sessions: {len(left)} processes, {len(folders)} folders, mounts unchanged: {same}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--sessions", type=int, default=200)
    asyncio.run(main(parser.parse_args().sessions))
