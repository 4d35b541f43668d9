"""Killed or out of space at a system call: every file is old or new, nothing of the user's is lost. A few points of
each action; `tests/bench/ledger/faults.py` goes through all."""

from pathlib import Path

import pytest
from support import faults
from support.faults import Fault

POINTS = [
    Fault("edit", "kill", "renameat2", 1),
    Fault("edit", "kill", "renameat2", 2),
    Fault("edit", "kill", "fsync", 2),
    Fault("edit", "ENOSPC", "renameat2", 2),
    Fault("edit", "EIO", "fsync", 1),
    Fault("checkpoint", "kill", "rename", 2),
    Fault("checkpoint", "ENOSPC", "write", 2),
    Fault("undo", "kill", "renameat2", 2),
    Fault("undo", "ENOSPC", "write", 3),
    Fault("undo", "ENOSPC", "fsync", 2),
    Fault("commit", "kill", "rename", 1),
    Fault("commit", "kill", "rename", 2),
    Fault("commit", "ENOSPC", "rename", 1),
    Fault("commit", "ENOSPC", "write", 9),
]


@pytest.mark.skipif(not faults.available(), reason="strace is not installed")  # R18, R21
@pytest.mark.parametrize("fault", POINTS, ids=lambda fault: f"{fault.action}-{fault.how}-{fault.call}-{fault.at}")
def test_nothing_is_torn_and_nothing_lost(tmp_path: Path, fault: Fault) -> None:
    root = faults.prepare(tmp_path, fault.action)
    assert faults.strike(root, fault).hit, "the fault never came"
    assert faults.problems(root, fault) == []


@pytest.mark.skipif(not faults.available(), reason="strace is not installed")
@pytest.mark.parametrize("action", faults.ACTIONS)
def test_without_a_fault_each_action_goes_through(tmp_path: Path, action: str) -> None:
    """So that the test above is about the faults."""
    root = faults.prepare(tmp_path, action)
    assert faults.strike(root, Fault(action, "kill", "fsync", 10_000)) == faults.Struck(0, hit=False)
    if action == "edit":
        assert (root / "a.txt").read_text() == faults.NEW
    if action == "undo":
        assert (root / "a.txt").read_text() == faults.OLD
