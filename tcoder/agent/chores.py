"""What a person does in a session without the model: undo, checkpoints, commands, tests, review and commit."""

from uuid import uuid4

from tcoder.agent import compaction
from tcoder.agent.reviewing import since_of
from tcoder.agent.rewind import rewound
from tcoder.agent.turn import Turn
from tcoder.protocol.edits import Cause, Patch
from tcoder.protocol.errors import UsageError
from tcoder.protocol.events import CheckpointMade, NoteAdded, Notice, PatchApplied, ToolFinished, ToolStarted
from tcoder.protocol.messages import ToolCall, ToolResult
from tcoder.protocol.ops import (
    CommitAccepted,
    Compact,
    EditHunk,
    JudgeHunks,
    MakeCheckpoint,
    Op,
    Redo,
    Rollback,
    RunChecks,
    RunShell,
    SplitHunk,
    Undo,
)

COMMAND_TIMEOUT_S = 600.0


async def perform(turn: Turn, op: Op) -> None:
    """Do what the op says, between two turns of the model. Raises `TcoderError`s that the person is told."""
    ledger = await turn.env.ledger()
    match op:
        case RunShell():
            await _run_shell(turn, op)
        case MakeCheckpoint():
            made = await ledger.checkpoint(Cause("checkpoint", op.name or "by hand", turn=turn.state.turn))
            turn.record(CheckpointMade(made))
        case Undo():
            await _tell(turn, await ledger.undo(op.patch_id), "undid")
        case Redo():
            await _tell(turn, await ledger.redo(op.patch_id), "redid")
        case Rollback():
            back = rewound(turn.session.whole_log, turn.state, op.checkpoint_id) if op.conversation else None
            patch = await ledger.rollback(op.checkpoint_id)
            if back is not None:
                turn.record(back)
            await _tell(turn, patch, "rolled back")
        case RunChecks():
            await turn.run_checks("attempt")
        case Compact():
            await compaction.summarise(turn, op.focus)
        case JudgeHunks() | EditHunk() | SplitHunk():
            await _review(turn, op)
        case CommitAccepted():
            await _commit(turn, op)
        case _:
            raise UsageError(f"{type(op).__name__} cannot be done now")


async def _tell(turn: Turn, patch: Patch, verb: str) -> None:
    """Record a patch of the person's with every patch that it changed, and tell the model to read the files again."""
    known = {one.id: one for one in turn.state.patches}
    for one in (await turn.env.ledger()).patches:
        if known.get(one.id) != one:
            turn.record(PatchApplied(one))
    files = ", ".join(change.path for change in patch.files[:10])
    turn.note("undo", f"The person {verb} changes in: {files}. Read these files again.")


async def _run_shell(turn: Turn, op: RunShell) -> None:
    call = ToolCall(f"person-{uuid4().hex[:8]}", "shell", "{}")
    turn.record(ToolStarted(call, op.command))
    await turn.checkpoint("before a command of the person")
    result = await turn.env.runner.run(op.command, timeout_s=COMMAND_TIMEOUT_S, on_output=turn.show_output)
    turn.record(ToolFinished(call.id, "shell", ToolResult(call.id, result.output), result.duration_s))
    await turn.after_change(Cause("user", op.command))
    if op.share:
        turn.record(NoteAdded("shell", f"The person ran: {op.command}\nexit {result.exit_code}\n{result.output}"))


async def _review(turn: Turn, op: JudgeHunks | EditHunk | SplitHunk) -> None:
    since = since_of(turn.state)
    reviewer = turn.env.reviewer
    match op:
        case JudgeHunks():
            patch = await reviewer.judge(since, op.ids, op.verdict, op.reason)
            told = reviewer.rejections() if patch is not None else ""
        case EditHunk():
            patch, told = await reviewer.edit(since, op.id, op.text), ""
        case SplitHunk():
            await reviewer.split(since, op.id)
            return
    if patch is not None:
        await _tell(turn, patch, "changed or took back")
    if told:
        turn.note("review", told)


async def _commit(turn: Turn, op: CommitAccepted) -> None:
    done = await turn.env.reviewer.commit(since_of(turn.state), op.message)
    output = f"\n{done.output.strip()}" if done.output.strip() else ""
    if not done.commit:
        turn.record(Notice("warning", "commit", f"nothing was committed: git or a hook refused{output}"))
        return
    left = f", {_count(done.left_out, 'hunk')} left out" if done.left_out else ""
    files = _count(len(done.files), "file")
    text = f"committed {done.commit[:10]}: {op.message.splitlines()[0]} ({files}{left}){output}"
    turn.record(Notice("info", "commit", "\n".join((text, *done.notices))))


def _count(number: int, thing: str) -> str:
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"
