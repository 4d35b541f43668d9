"""Puts `tests/` on the path, so that tests can import `support`."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
