"""A run of the tests that is cancelled, early or late, leaves nothing behind, not even without a sandbox."""

import asyncio
import sys
from pathlib import Path

import pytest

from tcoder.protocol.checks import CheckCommand
from tcoder.workspace import checks
from tcoder.workspace.shell.shell import Shell

COMMAND = CheckCommand(f"{sys.executable} -m pytest -q -p no:cacheprovider", "pytest")


@pytest.mark.parametrize("late", [False, True])
async def test_a_cancelled_run_leaves_no_folder(tmp_path: Path, late: bool) -> None:
    root, temporary = tmp_path / "work", tmp_path / "temporary"
    root.mkdir()
    temporary.mkdir()
    (root / "test_slow.py").write_text(
        "import time\nfrom pathlib import Path\n\n\ndef test_slow():\n    Path('began').touch()\n    time.sleep(60)\n"
    )
    shell = Shell(root, sandbox=None, spill_dir=tmp_path / "spill")
    await shell.run(f"export TMPDIR={temporary}", timeout_s=10)
    running = asyncio.create_task(checks.run(COMMAND, shell, timeout_s=50, root=root))
    while not ((root / "began").exists() if late else list(temporary.glob("checks.*"))):
        await asyncio.sleep(0.001)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert list(temporary.glob("checks.*")) == []
    await shell.close()
