"""Kill and fail every write, fsync, rename and unlink of an edit, a checkpoint, an undo and a commit, one at a time:

    python tests/bench/ledger/faults.py [ACTION …]

Prints for each action and system call how many points were hit and what was found wrong (0 torn files, 0 lost changes
is the aim). Needs strace; takes about a minute an action.
"""

import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from support.faults import ACTIONS, CALLS, Fault, prepare, problems, strike

MAX_POINTS = 200  # far more than any action has


def sweep(action: str, how: str, call: str) -> tuple[int, list[str]]:
    """Every point of one action and kind of call: how many were hit, and what went wrong."""
    wrong: list[str] = []
    for at in range(1, MAX_POINTS + 1):
        with tempfile.TemporaryDirectory(prefix="faults-") as folder:
            root = prepare(Path(folder), action)
            fault = Fault(action, how, call, at)
            struck = strike(root, fault)
            wrong += [f"{fault}: {problem}" for problem in problems(root, fault)]
        if not struck.hit:
            return at - 1, wrong
    raise SystemExit(f"{action} {how} {call}: more than {MAX_POINTS} points")


def main() -> None:
    points = faults = 0
    for action in sys.argv[1:] or ACTIONS:
        for how in ("kill", "ENOSPC"):
            for call in CALLS:
                hit, wrong = sweep(action, how, call)
                points, faults = points + hit, faults + len(wrong)
                print(f"{action:12} {how:7} {call:30} {hit:4} points, {len(wrong)} wrong", flush=True)
                for line in wrong:
                    print(f"    {line}")
    print(f"{points} points, {faults} wrong")


if __name__ == "__main__":
    main()
