"""Where a conversation stood at a checkpoint: pure. For going back, and for a fork from there."""

from collections.abc import Iterable
from itertools import islice

from tcoder.agent.state import SessionState, replay
from tcoder.protocol.errors import UsageError
from tcoder.protocol.events import CheckpointMade, PatchApplied, Recorded, Rewound, TurnFinished, TurnStarted


def events_before(log: Iterable[Recorded], point: str) -> int:
    """How many events had come when the checkpoint (or patch) `point` was made; when a turn was running then, how many
    before that turn, so that what the person asked can be asked again. Raises `UsageError` for an unknown point."""
    began: int | None = None
    for at, recorded in enumerate(log):
        match recorded.event:
            case TurnStarted():
                began = at
            case TurnFinished():
                began = None
            case CheckpointMade() as made if made.checkpoint.id == point:
                return at + 1 if began is None else began
            case PatchApplied() as applied if applied.patch.id == point:
                return at if began is None else began
            case _:
                pass
    raise UsageError(f"this session has no checkpoint {point!r}", "see /rewind or `tcoder timeline`")


def rewound(log: Iterable[Recorded], state: SessionState, point: str) -> Rewound:
    """The event that takes the conversation of `state` back to where it stood at `point`. `log` is gone through
    twice."""
    then = replay(recorded.event for recorded in islice(log, events_before(log, point)))
    kept = len(then.messages)
    if tuple(then.messages) == state.messages[:kept]:
        return Rewound(point, kept, len(then.said))
    return Rewound(point, 0, len(then.said), tuple(then.messages))
