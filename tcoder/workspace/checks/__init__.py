"""How a project is tested, and what its tests say."""

from tcoder.workspace.checks.finding import find
from tcoder.workspace.checks.related import related
from tcoder.workspace.checks.running import run
from tcoder.workspace.checks.spectrum import trace

__all__ = ["find", "related", "run", "trace"]
