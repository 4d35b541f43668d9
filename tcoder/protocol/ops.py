"""What a person, a script or an editor asks of a session."""

from typing import Literal

from msgspec import Struct

from tcoder.protocol.messages import ImagePart
from tcoder.protocol.permissions import Answer, Approval
from tcoder.protocol.plan import PlanStep
from tcoder.protocol.variant import Effort, VariantName


class Submit(Struct, frozen=True, tag="submit"):
    """A message. While a turn runs it waits: with `steer` for after the running tool, else for the next turn."""

    text: str
    images: tuple[ImagePart, ...] = ()
    steer: bool = False


class TakeBack(Struct, frozen=True, tag="take_back"):
    """Take a queued message out of the queue; empty id = the last one."""

    id: str = ""


class Interrupt(Struct, frozen=True, tag="interrupt"):
    """Stop the running turn; the conversation stays valid."""

    reason: str = "interrupted by the person"


class Decide(Struct, frozen=True, tag="decide"):
    """The answer to a `PermissionAsked`. `rule` is the pattern that an "always" adds; empty = the one proposed."""

    question_id: str
    answer: Answer
    note: str = ""
    rule: str = ""


class SetVariant(Struct, frozen=True, tag="set_variant"):
    """Move the slider; `name` None leaves the stop to the rules (auto)."""

    name: VariantName | None
    sticky: bool = True


class SetModel(Struct, frozen=True, tag="set_model"):
    model: str


class SetEffort(Struct, frozen=True, tag="set_effort"):
    effort: Effort


class SetApproval(Struct, frozen=True, tag="set_approval"):
    approval: Approval


class SetPlan(Struct, frozen=True, tag="set_plan"):
    steps: tuple[PlanStep, ...]


class Rename(Struct, frozen=True, tag="rename"):
    """Name the session."""

    name: str


class RunShell(Struct, frozen=True, tag="run_shell"):
    """A command the person typed with `!`; with `share` the model sees the output at the next turn."""

    command: str
    share: bool = True


class MakeCheckpoint(Struct, frozen=True, tag="make_checkpoint"):
    name: str = ""


class Undo(Struct, frozen=True, tag="undo"):
    """Undo one patch; empty id = the last one."""

    patch_id: str = ""


class Redo(Struct, frozen=True, tag="redo"):
    patch_id: str = ""


class Rollback(Struct, frozen=True, tag="rollback"):
    """Bring the files back to a checkpoint, and with `conversation` the conversation too."""

    checkpoint_id: str
    conversation: bool = False


class JudgeHunks(Struct, frozen=True, tag="judge_hunks"):
    """Accept or reject hunks of the review, or take such a judgement back (`open`). Rejecting takes the hunk out of the
    work tree after a checkpoint; `reason` becomes part of the next turn."""

    ids: tuple[str, ...]
    verdict: Literal["accepted", "rejected", "open"]
    reason: str = ""


class EditHunk(Struct, frozen=True, tag="edit_hunk"):
    """Replace the new side of a hunk in the work tree."""

    id: str
    text: str


class SplitHunk(Struct, frozen=True, tag="split_hunk"):
    """Split a hunk at its unchanged lines."""

    id: str


class CommitAccepted(Struct, frozen=True, tag="commit_accepted"):
    """Commit the accepted hunks and nothing else; the user's own index is left as it is."""

    message: str


class Compact(Struct, frozen=True, tag="compact"):
    focus: str = ""


class RunChecks(Struct, frozen=True, tag="run_checks"):
    """Run the tests now; an empty command means the known one."""

    command: str = ""


class Close(Struct, frozen=True, tag="close"):
    """End the session: the running turn is interrupted, the journal closed."""

    reason: Literal["quit", "sigint", "sigterm", "sighup", "done"] = "quit"


Op = (
    Submit
    | TakeBack
    | Interrupt
    | Decide
    | SetVariant
    | SetModel
    | SetEffort
    | SetApproval
    | SetPlan
    | Rename
    | RunShell
    | MakeCheckpoint
    | Undo
    | Redo
    | Rollback
    | JudgeHunks
    | EditHunk
    | SplitHunk
    | CommitAccepted
    | Compact
    | RunChecks
    | Close
)
