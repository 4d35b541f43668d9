"""Tries a text of one file against some tests and puts the file back, whatever happens."""

import time

from tcoder.agent.turn import Turn
from tcoder.protocol.checks import CheckReport
from tcoder.protocol.edits import WriteFile
from tcoder.tools.edit import apply
from tcoder.workspace import checks

START_S, SLOWER, MOST_S = 8.0, 6.0, 120.0


class Trial:
    """A quick run of a few tests by id. It is not recorded: only a full run says anything about the tree."""

    def __init__(self, turn: Turn, ids: tuple[str, ...], baseline: CheckReport) -> None:
        assert turn.env.checks is not None
        self._turn = turn
        self._ids = ids
        self._command = turn.env.checks
        took = sum(test.duration_s for test in baseline.tests if test.id in set(ids))
        self._timeout_s = min(MOST_S, START_S + baseline.duration_s + took * SLOWER)

    async def run(self) -> CheckReport:
        """Run the tests on the tree as it is."""
        self._turn.check_budget(tell_model=False)
        began = time.monotonic()
        try:
            return await checks.run(
                self._command,
                self._turn.env.runner,
                select=self._ids,
                timeout_s=self._timeout_s,
                root=self._turn.env.root,
            )
        finally:
            self._turn.tools_s += time.monotonic() - began

    async def run_with(self, path: str, old: str, new: str) -> CheckReport:
        """Run the tests with `new` in the place of `old`, which is back before this returns or raises."""
        apply(self._turn.tools, (WriteFile(path, new),))
        try:
            return await self.run()
        finally:
            apply(self._turn.tools, (WriteFile(path, old),))
