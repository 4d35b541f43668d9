"""All figures of models and context in one go, about a minute: run it while nothing else runs.

    python tests/bench/context/figures.py

Not in it, since they take minutes: `cache_share.py --local` (the embedded engine's own counts) and `resume.py --large`
(a journal of 900 MB).
"""

import os
import subprocess
import sys
from pathlib import Path

BENCH = Path(__file__).parents[1]
PARTS = (
    ("models/client_cost.py",),
    ("context/long_session.py",),
    ("context/resume.py",),
    ("context/interrupt.py",),
    ("context/cache_share.py",),
    ("loop/steps.py", "mix", "read"),
)

if __name__ == "__main__":
    print(f"load {os.getloadavg()[0]:.2f} at the beginning", flush=True)
    for script, *arguments in PARTS:
        print(f"\n-- {' '.join((script, *arguments))}", flush=True)
        subprocess.run([sys.executable, str(BENCH / script), *arguments], check=True)
    print(f"\nload {os.getloadavg()[0]:.2f} at the end")
