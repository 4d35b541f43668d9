"""Decisions of a review survive whatever looks at it meanwhile."""

import asyncio
from pathlib import Path

from support import repository

from tcoder.agent.reviewing import Reviewer
from tcoder.protocol.edits import Cause
from tcoder.workspace.ledger.ledger import Ledger


async def test_a_look_that_began_before_a_decision_does_not_undo_it(tmp_path: Path) -> None:
    root = repository.make(tmp_path / "r", {"a.txt": "one\n"})
    ledger = await Ledger.open(root, tmp_path / "state", "s")

    async def opened() -> Ledger:
        return ledger

    try:
        since = (await ledger.checkpoint(Cause("checkpoint", "before"))).id
        (root / "a.txt").write_text("two\n")
        reviewer = Reviewer(opened, None, trusted=lambda: False)
        (hunk,) = (await reviewer.look(since)).hunks
        looks = [asyncio.create_task(reviewer.look(since)) for _ in range(3)]
        await reviewer.judge(since, (hunk.id,), "accepted")
        looks.append(asyncio.create_task(reviewer.look(since)))
        await asyncio.gather(*looks)
        assert [of.state for of in (await reviewer.look(since)).hunks] == ["accepted"]
    finally:
        await ledger.close()
