"""How a project is tested, and what its tests say."""

from tcoder.workspace.checks.finding import find
from tcoder.workspace.checks.running import run

__all__ = ["find", "run"]
