"""Runs command lines in the sandbox's shell as whoever starts it: `run_contained.py ROOT HOME SPILL`, a JSON list of
command lines on stdin, a JSON list of [exit code, output] on stdout."""

import asyncio
import json
import os
import sys
from pathlib import Path

from tcoder.workspace.sandbox.environment import command_environment
from tcoder.workspace.sandbox.sandbox import Sandbox, probe
from tcoder.workspace.shell.shell import Shell


async def main(root: Path, home: Path, spill: Path, commands: list[str]) -> list[list[object]]:
    report = probe(cache=spill / "verdict.json", fresh=True)
    if not report.holds:
        raise SystemExit(f"the sandbox does not hold: {report.detail}")
    sandbox = Sandbox(root, home=home, overlay=report.overlay)
    environment = command_environment({**os.environ, "HOME": str(home)})
    shell = Shell(root, sandbox=sandbox, spill_dir=spill, environment=environment)
    try:
        results = [await shell.run(command, timeout_s=20) for command in commands]
        return [[result.exit_code, result.output] for result in results]
    finally:
        await shell.close()


if __name__ == "__main__":
    folders = [Path(argument) for argument in sys.argv[1:4]]
    print(json.dumps(asyncio.run(main(*folders, json.load(sys.stdin)))))
