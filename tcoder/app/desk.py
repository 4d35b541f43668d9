"""A stored session opened for what a person does to it without a model: undo, diff, review, commit."""

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from tcoder import __version__
from tcoder.agent.journal import Journal, private_folder
from tcoder.agent.recall import recall
from tcoder.agent.reviewing import Reviewer
from tcoder.agent.state import SessionState
from tcoder.agent.stored import journals
from tcoder.app.options import Options
from tcoder.app.place import Place, find_place, find_session, new_session_id
from tcoder.app.variants import NOBODY
from tcoder.protocol.edits import Cause
from tcoder.protocol.events import CheckpointMade, Event, NoteAdded, PatchApplied, SessionNamed, SessionStarted
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

    async def change(self, summary: str, work: Callable[[], None]) -> None:
        """Do `work`, which changes files, as a patch of its own: what the person changed before is recorded as theirs,
        and there is a checkpoint to go back to."""
        await self.ledger.record(Cause("user", "changed meanwhile", self.state.turn))
        if not self.state.checkpoints:
            made = await self.ledger.checkpoint(Cause("checkpoint", f"before {summary}", self.state.turn))
            self.record(CheckpointMade(made))
        work()
        await self.ledger.record(Cause("edit", summary, self.state.turn))
        self.record_patches("applied")

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
async def open_desk(options: Options, *, begins: str = "") -> AsyncGenerator[Desk]:
    """The last session of this repository, or `-r ID`; where there is none, one called `begins` is begun, if that is
    given. Raises `UsageError`, and `JournalError` when it is open
    elsewhere."""
    place = find_place(options)
    begun = options.resume is None and bool(begins) and not journals(place.sessions)
    path = _begin(place, begins) if begun else find_session(place, options.resume or "")
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


def _begin(place: Place, name: str) -> Path:
    """A session that no model has spoken in yet."""
    private_folder(place.sessions)
    path = place.sessions / f"{new_session_id()}.jsonl"
    journal = Journal(path)
    started = SessionStarted(path.stem, str(place.root), __version__, NOBODY, NOBODY.strategy, "ask", "off")
    try:
        journal.append(started)
        journal.append(SessionNamed(name))
    finally:
        journal.close()
    private_folder(path.with_suffix(""))
    return path
