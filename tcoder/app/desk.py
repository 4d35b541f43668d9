"""A stored session opened for what a person does to it without a model: undo, diff, review, commit."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from tcoder.agent.journal import Journal
from tcoder.agent.recall import recall
from tcoder.agent.reviewing import Reviewer
from tcoder.agent.state import SessionState
from tcoder.app.options import Options
from tcoder.app.place import find_place, find_session
from tcoder.protocol.events import Event, NoteAdded, PatchApplied
from tcoder.workspace.ledger.ledger import Ledger


@dataclass
class Desk:
    """The session's state and ledger. What is recorded goes into its journal, so that it knows when it goes on."""

    state: SessionState
    ledger: Ledger
    reviewer: Reviewer
    _journal: Journal

    def record(self, event: Event) -> None:
        self._journal.append(event)

    def record_patches(self, verb: str) -> None:
        """Tell the session of every patch of the ledger that it does not know, and its model that files changed."""
        known = {patch.id: patch for patch in self.state.patches}
        fresh = [patch for patch in self.ledger.patches if known.get(patch.id) != patch]
        for patch in fresh:
            self.record(PatchApplied(patch))
        files = sorted({change.path for patch in fresh if patch.id not in known for change in patch.files})
        if files:
            self.record(NoteAdded("undo", f"The person {verb} changes in: {', '.join(files)}. Read these files again."))


@asynccontextmanager
async def open_desk(options: Options) -> AsyncGenerator[Desk]:
    """The last session of this repository, or `-r ID`. Raises `UsageError`, and `JournalError` when it is open
    elsewhere."""
    place = find_place(options)
    path = find_session(place, options.resume or "")
    recalled = recall(path)
    state = recalled.state
    journal = Journal(path, next_seq=recalled.next_seq)
    try:
        ledger = await Ledger.open(place.root, place.config.folders.state, path.stem)
        try:

            async def opened() -> Ledger:
                return ledger

            # A commit is the person's own, so signing and, once they trust the folder, its hooks run as with git.
            reviewer = Reviewer(opened, path.with_suffix("") / "review.json", trusted=place.trusts_programs)
            yield Desk(state, ledger, reviewer, journal)
        finally:
            await ledger.close()
    finally:
        journal.close()
