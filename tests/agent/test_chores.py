"""What a person does in a session without the model."""

import asyncio
from typing import Any

from support.desk import FIX, Desk, git
from support.live import live, turn, until

from tcoder.protocol.events import Notice
from tcoder.protocol.ops import CommitAccepted, JudgeHunks
from tcoder.protocol.queries import ReadReview, ReviewState


async def test_a_commit_while_the_sandbox_lives(desk: Desk, serve: Any) -> None:
    server = serve({"calls": [FIX, {"name": "shell", "arguments": {"command": "true"}}]}, {"text": "Fixed."})
    async with live(desk, server, interactive=True, sandbox="on", approval="auto") as session:
        await turn(session, "fix the sign in calc.py")
        assert (desk.root / ".mcp.json").is_dir()  # held by the sandbox
        review = await session.query(ReadReview())
        assert isinstance(review, ReviewState)
        ids = tuple(hunk.id for file in review.files for hunk in file.hunks)
        await session.submit(JudgeHunks(ids, "accepted"))
        while {hunk.state for file in review.files for hunk in file.hunks} != {"accepted"}:
            await asyncio.sleep(0.001)
            review = await session.query(ReadReview())
            assert isinstance(review, ReviewState)
        events = await until(session, Notice, CommitAccepted("Add, do not subtract"))
        assert isinstance(events[-1], Notice) and events[-1].text.startswith("committed"), events
    assert git(desk.root, "log", "-1", "--format=%s").strip() == "Add, do not subtract"
    assert not (desk.root / ".mcp.json").exists()


async def test_a_bug_in_what_a_person_asks_for_is_told(desk: Desk, serve: Any) -> None:
    async with live(desk, serve({"text": "x"})) as session:
        broken = CommitAccepted(None)  # pyright: ignore[reportArgumentType] # what no front end sends
        events = await until(session, Notice, broken)
    assert isinstance(events[-1], Notice) and events[-1].level == "error"
