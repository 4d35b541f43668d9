"""The blocks of a conversation: values that are replaced when they change, never altered."""

from typing import Literal

from msgspec import Struct

from tcoder.protocol.attempt import Attempt
from tcoder.protocol.checks import CheckPhase, CheckReport
from tcoder.protocol.display import Display
from tcoder.protocol.edits import Checkpoint, Patch
from tcoder.protocol.location import Location
from tcoder.protocol.outcome import Outcome
from tcoder.protocol.permissions import Question

CardState = Literal["running", "asking", "ok", "error", "denied", "cancelled"]


class UserSaid(Struct, frozen=True):
    """`time` is ISO 8601 UTC."""

    text: str
    images: int = 0
    time: str = ""


class ModelSaid(Struct, frozen=True):
    """`open` = still arriving."""

    text: str
    open: bool = False


class Thought(Struct, frozen=True):
    """What the model thought, or wrote aside (`aside`)."""

    text: str
    open: bool = False
    aside: bool = False


class ToolCard(Struct, frozen=True):
    """A tool call with its `arguments` as the model wrote them. `output` is the tail of what it has printed so far;
    `display` and `content` come with its result; `patch` is what it changed, `report` what the tests said that it
    ran. The last of several reads in a row stands for all: `group` are the titles of those before it, which are
    `folded`."""

    call_id: str
    name: str
    title: str
    state: CardState = "running"
    output: str = ""
    content: str = ""
    display: tuple[Display, ...] = ()
    duration_s: float = 0.0
    patch: Patch | None = None
    diff: str = ""
    report: CheckReport | None = None
    question: Question | None = None
    arguments: str = ""
    group: tuple[str, ...] = ()
    folded: bool = False

    @property
    def by_person(self) -> bool:
        """A command that the person typed with `!`."""
        return self.call_id.startswith("person-")


class ChecksCard(Struct, frozen=True):
    phase: CheckPhase
    report: CheckReport


class PatchCard(Struct, frozen=True):
    """A change that no tool card shows: a rollback, the person's own edits, a guided step."""

    patch: Patch
    diff: str


class LocatedCard(Struct, frozen=True):
    location: Location
    duration_s: float


class AttemptCard(Struct, frozen=True):
    attempt: Attempt


class CheckpointMark(Struct, frozen=True):
    checkpoint: Checkpoint


class NoticeLine(Struct, frozen=True):
    level: Literal["info", "warning", "error"]
    topic: str
    text: str


class ErrorCard(Struct, frozen=True):
    """A model call that failed."""

    failure: str
    message: str
    hint: str = ""
    partial: str = ""


class TurnEnd(Struct, frozen=True):
    turn: int
    outcome: Outcome


Block = (
    UserSaid
    | ModelSaid
    | Thought
    | ToolCard
    | ChecksCard
    | PatchCard
    | LocatedCard
    | AttemptCard
    | CheckpointMark
    | NoticeLine
    | ErrorCard
    | TurnEnd
)


def failed(block: Block) -> bool:
    """Whether a model call has failed there, for good or until its retry."""
    return isinstance(block, ErrorCard) or (isinstance(block, NoticeLine) and block.topic == "retry")
