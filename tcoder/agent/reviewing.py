"""The review of a session: what changed since it began, what a person decided about it, and the commit of that.

Decisions are kept beside the session, so that `tcoder review` and the interface see the same ones.
"""

import asyncio
import os
from collections.abc import Awaitable, Callable
from pathlib import Path

import msgspec

from tcoder.agent.state import SessionState
from tcoder.agent.stored import title_of
from tcoder.protocol import queries
from tcoder.protocol.edits import Patch
from tcoder.protocol.errors import WorkspaceError
from tcoder.protocol.review import Committed, Hunk, Review
from tcoder.workspace.ledger.ledger import Ledger
from tcoder.workspace.review import commit
from tcoder.workspace.review import load as review_load
from tcoder.workspace.review import model as review

SUBJECT_LENGTH = 72


class Reviewer:
    """One review, loaded fresh at each look and given the earlier decisions. `file` keeps them, None = in memory.
    `trusted` says whether the repository's own hooks and programs may run at a commit; it is asked at each."""

    def __init__(
        self, ledger: Callable[[], Awaitable[Ledger]], file: Path | None, *, trusted: Callable[[], bool]
    ) -> None:
        self._ledger = ledger
        self._file = file
        self._trusted = trusted
        self._review = self._read()

    async def look(self, since: str) -> Review:
        """Everything that changed since the checkpoint `since`, with what was decided before."""
        known = self._review if self._review and self._review.since == since else None
        fresh = await review_load.load(await self._ledger(), since, known.base if known else "")
        # Read again: something may have been decided while the files were read.
        before = self._review if self._review and self._review.since == since else None
        self._keep(review.carry_over(before, fresh) if before else fresh)
        return fresh if self._review is None else self._review

    async def judge(self, since: str, ids: tuple[str, ...], verdict: str, reason: str = "") -> Patch | None:
        """Accept, reject or reopen hunks; `all` means every hunk that is open. What is rejected is taken out of the
        work tree, as a patch that can be undone. Raises `WorkspaceError`."""
        current = await self.look(since)
        chosen = tuple(hunk.id for hunk in current.hunks if hunk.state == "open") if ids == ("all",) else ids
        if verdict == "rejected":
            chosen = tuple(one for one in chosen if ids != ("all",) or review.find(current, one).origin == "agent")
            self._keep(review.reject(current, chosen, reason))
        elif verdict == "accepted":
            self._keep(review.accept(current, chosen))
        else:
            self._keep(review.reopen(current, chosen))
        return await self.settle() if verdict == "rejected" else None

    async def edit(self, since: str, hunk_id: str, text: str) -> Patch | None:
        """Give a hunk another new side, in the work tree too."""
        self._keep(review.edit(await self.look(since), hunk_id, text))
        return await self.settle()

    async def split(self, since: str, hunk_id: str) -> None:
        """Cut a hunk in two near its middle."""
        current = await self.look(since)
        hunk = review.find(current, hunk_id)
        self._keep(review.split(current, hunk_id, len(hunk.old) // 2, len(hunk.new) // 2))

    async def settle(self) -> Patch | None:
        """Bring the work tree to what was decided."""
        if self._review is None:
            return None
        return await review_load.settle(await self._ledger(), self._review)

    def rejections(self) -> str:
        """What the model is told about rejected hunks, empty when there are none."""
        return review.rejections(self._review) if self._review else ""

    async def commit(self, since: str, message: str, *, hooks: bool = True) -> Committed:
        """Commit the accepted hunks and nothing else, as the person's own git would; without `hooks` nothing of the
        repository's runs, nor is anything signed. Raises `WorkspaceError`, `GitError` when it cannot be tried, so also
        where the repository brings programs along and is not trusted."""
        current = await self.look(since)
        if hooks and not await asyncio.to_thread(self._trusted):
            await commit.refuse_programs((await self._ledger()).git.root)
        done = await commit.commit(await self._ledger(), current, message, trusted=hooks)
        if done.commit:
            fresh = await review_load.load(await self._ledger(), since, done.base)
            self._keep(review.carry_over(current, fresh))
        return done

    def _keep(self, kept: Review) -> None:
        self._review = kept
        if self._file is None:
            return
        temporary = self._file.with_suffix(".new")
        try:
            fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
            with os.fdopen(fd, "wb") as file:
                file.write(msgspec.json.encode(kept))
            temporary.replace(self._file)
        except OSError as error:
            raise WorkspaceError(f"the review cannot be kept in {self._file}: {error.strerror}") from error

    def _read(self) -> Review | None:
        if self._file is None:
            return None
        try:
            return msgspec.json.decode(self._file.read_bytes(), type=Review)
        except (OSError, msgspec.MsgspecError):
            return None  # no review yet, or one that an older tcoder wrote: decisions begin anew


def since_of(state: SessionState) -> str:
    """The checkpoint from which a session's changes are reviewed. Raises `WorkspaceError` when nothing was changed."""
    if not state.checkpoints:
        raise WorkspaceError("this session has changed nothing", "there is nothing to review")
    return state.checkpoints[0].id


def draft_message(state: SessionState) -> str:
    """A commit message by rule: what was asked, cut to the length of a subject; the body says what proves it."""
    subject = title_of(state)[:SUBJECT_LENGTH].rstrip(" .")
    outcome = state.outcome
    if outcome is None or not outcome.answer.strip():
        return subject
    return f"{subject}\n\n{outcome.answer.strip()}"


def as_state(current: Review, checks: str, message: str) -> queries.ReviewState:
    """A review as front ends show it."""
    files = tuple(
        queries.ReviewFile(
            path=file.path,
            change=file.change,
            hunks=tuple(_shown(hunk) for hunk in file.hunks if hunk.lines),
            note="" if any(hunk.lines for hunk in file.hunks) else "; ".join(hunk.header for hunk in file.hunks),
        )
        for file in current.files
    )
    return queries.ReviewState(files, current.since, checks, message)


def _shown(hunk: Hunk) -> queries.ReviewHunk:
    return queries.ReviewHunk(
        id=hunk.id,
        header=hunk.header,
        lines=hunk.lines,
        origin="agent" if hunk.origin == "agent" else "person",
        state="open" if hunk.state == "stale" else hunk.state,
        stale=hunk.state == "stale",
        why=hunk.reason,
    )
