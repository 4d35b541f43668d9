"""The conversation as blocks: a fold of events and deltas without any drawing.

The same events always give the same blocks, whatever deltas came in between: an answer that has arrived replaces what
was streamed of it. Blocks are values; a block that changes is replaced at its index, and none is ever removed, so a
view only has to look at the indexes that `feed` returns.
"""

from collections.abc import Iterable

from msgspec.structs import replace

from tcoder.frontends.cards import (
    AttemptCard,
    Block,
    CardState,
    CheckpointMark,
    ChecksCard,
    ErrorCard,
    LocatedCard,
    ModelSaid,
    NoticeLine,
    PatchCard,
    Thought,
    ToolCard,
    TurnEnd,
    UserSaid,
)
from tcoder.frontends.merging import merged
from tcoder.frontends.present import REWOUND
from tcoder.protocol.events import (
    AttemptRecorded,
    CheckpointMade,
    ChecksRan,
    Compacted,
    Delta,
    Event,
    Located,
    MessageQueued,
    MessageUnqueued,
    ModelAnswered,
    ModelAsked,
    ModelFailed,
    Notice,
    OutputDelta,
    PatchApplied,
    PermissionAnswered,
    PermissionAsked,
    Recorded,
    Rewound,
    ToolFinished,
    ToolStarted,
    TurnFinished,
    TurnStarted,
)
from tcoder.protocol.messages import ImagePart, ReasoningPart, ResultStatus, TextPart
from tcoder.protocol.request import ReasoningDelta, RetryDelta, TextDelta

LIVE_TAIL = 4000
"""Characters of a running tool's output that are kept for showing; the whole comes with its result."""

READS_SHOWN = 3
"""Reads in a row that are shown each on its own line."""

_STATES: dict[ResultStatus, CardState] = {"ok": "ok", "error": "error", "denied": "denied", "cancelled": "cancelled"}


class Transcript:
    """The blocks so far. Not thread-safe; costs are those of what changes, never of the history."""

    def __init__(self) -> None:
        self.blocks: list[Block] = []
        self._cards: dict[str, int] = {}
        self._asked: dict[str, int] = {}
        self._attempts: dict[int, int] = {}
        self._queued: dict[str, str] = {}
        self._text: int | None = None
        self._thought: int | None = None
        self._aside = False
        self._said = ""
        self._changed: set[int] = set()

    def feed(self, items: Iterable[Recorded | Delta]) -> list[int]:
        """Take in events and deltas in their order. Returns the indexes of new and changed blocks, ascending."""
        self._changed = set()
        for item in merged(items):
            if isinstance(item, Recorded):
                self._event(item.event, item.time)
            else:
                self._delta(item)
        return sorted(self._changed)

    def add(self, block: Block) -> int:
        """Append a block of the front end's own (an answer to a slash command); returns its index."""
        self.blocks.append(block)
        self._changed.add(len(self.blocks) - 1)
        return len(self.blocks) - 1

    def _put(self, index: int, block: Block) -> None:
        if self.blocks[index] != block:
            self.blocks[index] = block
            self._changed.add(index)

    def _card(self, call_id: str) -> tuple[int, ToolCard] | None:
        index = self._cards.get(call_id)
        if index is None:
            return None
        card = self.blocks[index]
        return (index, card) if isinstance(card, ToolCard) else None

    def _delta(self, delta: Delta) -> None:
        match delta:
            case TextDelta() if self._aside:
                self._think(delta.text)
            case TextDelta():
                self._close_thought()
                if self._text is None:
                    self._text = self.add(ModelSaid(delta.text, open=True))
                    return
                said = self.blocks[self._text]
                assert isinstance(said, ModelSaid)
                self._put(self._text, ModelSaid(said.text + delta.text, open=True))
            case ReasoningDelta():
                self._think(delta.text)
            case OutputDelta():
                if found := self._card(delta.call_id):
                    index, card = found
                    self._put(index, replace(card, output=(card.output + delta.text)[-LIVE_TAIL:]))
            case RetryDelta():
                self._drop_stream()
                wait = f", again in {delta.after_s:.0f} s" if delta.after_s >= 1 else ", again now"
                self.add(NoticeLine("warning", "retry", f"{delta.reason}{wait} (attempt {delta.attempt})"))
            case _:
                return

    def _think(self, text: str) -> None:
        if self._thought is None:
            self._thought = self.add(Thought(text, open=True, aside=self._aside))
            return
        thought = self.blocks[self._thought]
        assert isinstance(thought, Thought)
        self._put(self._thought, Thought(thought.text + text, open=True, aside=self._aside))

    def _close_thought(self) -> None:
        if self._thought is not None:
            thought = self.blocks[self._thought]
            assert isinstance(thought, Thought)
            self._put(self._thought, replace(thought, open=False))
            self._thought = None

    def _drop_stream(self) -> None:
        """What was streamed of a failed request does not count."""
        if self._text is not None:
            self._put(self._text, ModelSaid(""))
        if self._thought is not None:
            self._put(self._thought, Thought("", aside=self._aside))
        self._text = self._thought = None

    def _event(self, event: Event, time: str) -> None:
        match event:
            case TurnStarted():
                self._said = ""
                self._attempts.clear()
                text = "".join(part.text for part in event.message.parts if isinstance(part, TextPart))
                images = sum(isinstance(part, ImagePart) for part in event.message.parts)
                self.add(UserSaid(text, images, time))
            case MessageQueued(steer=True):
                self._queued[event.id] = event.text
            case MessageUnqueued(delivered=True):
                if text := self._queued.pop(event.id, ""):
                    self.add(UserSaid(text, 0, time))
            case ModelAsked():
                self._drop_stream()
                self._aside = event.aside
            case ModelAnswered():
                self._answered(event)
            case ModelFailed():
                self._drop_stream()
                self.add(ErrorCard(event.failure, event.message, event.hint, event.partial))
            case ToolStarted():
                self._cards[event.call.id] = self.add(
                    ToolCard(event.call.id, event.call.name, event.title, arguments=event.call.arguments)
                )
            case PermissionAsked():
                if found := self._card(event.call_id):
                    index, card = found
                    self._asked[event.question.id] = index
                    self._put(index, replace(card, state="asking", question=event.question))
            case PermissionAnswered():
                index = self._asked.pop(event.question_id, None)
                if index is not None and isinstance(card := self.blocks[index], ToolCard):
                    self._put(index, replace(card, state="running"))
            case ToolFinished():
                self._finished(event)
            case Located():
                self.add(LocatedCard(event.location, event.duration_s))
            case PatchApplied():
                self._patched(event)
            case ChecksRan():
                self._checked(event)
            case CheckpointMade():
                self.add(CheckpointMark(event.checkpoint))
            case AttemptRecorded():
                at = self._attempts.get(event.attempt.number)
                if at is None:
                    self._attempts[event.attempt.number] = self.add(AttemptCard(event.attempt))
                else:  # the same again: it is the one that was kept
                    self._put(at, AttemptCard(event.attempt))
            case Compacted():
                self.add(NoticeLine("info", "compaction", f"{event.tokens_before} → {event.tokens_after} tokens"))
            case Rewound():
                self.add(NoticeLine("info", "rewind", REWOUND))
            case Notice(topic="attention"):
                return  # a call for attention is no text: the front end rings
            case Notice():
                self.add(NoticeLine(event.level, event.topic, event.text))
            case TurnFinished():
                self._turn_over(event)
            case _:  # a new name is in the header; the outline is for the model, `/context` shows its size
                return

    def _answered(self, event: ModelAnswered) -> None:
        thought = "".join(part.text for part in event.message.parts if isinstance(part, ReasoningPart))
        text = event.message.text
        if event.aside:
            thought, text = thought + text, ""
        self._aside = False
        if thought or self._thought is not None:
            at = self._thought if self._thought is not None else self._last_open_thought()
            block = Thought(thought or self._text_of(at), aside=event.aside)
            if at is not None:
                self._put(at, block)
            else:
                self.add(block)
        if self._text is not None:
            self._put(self._text, ModelSaid(text))
        elif text.strip():
            self.add(ModelSaid(text))
        self._text = self._thought = None
        self._said = text or self._said

    def _last_open_thought(self) -> int | None:
        """The thought that was closed by the text that followed it."""
        at = self._text - 1 if self._text is not None else len(self.blocks) - 1
        return at if at >= 0 and isinstance(self.blocks[at], Thought) and self._text is not None else None

    def _text_of(self, index: int | None) -> str:
        block = None if index is None else self.blocks[index]
        return block.text if isinstance(block, Thought) else ""

    def _finished(self, event: ToolFinished) -> None:
        found = self._card(event.call_id)
        if found is None:
            return
        index, card = found
        result = event.result
        self._put(
            index,
            replace(
                card,
                state=_STATES[result.status],
                content=result.content,
                display=result.display,
                duration_s=event.duration_s,
                output="" if result.display else card.output,
            ),
        )
        if card.name == "read" and result.status == "ok":
            self._fold_reads(index)

    def _fold_reads(self, index: int) -> None:
        """More than three reads in a row become one line."""
        first = index
        while first > 0 and _is_read(self.blocks[first - 1]):
            first -= 1
        run = [block for block in self.blocks[first : index + 1] if isinstance(block, ToolCard)]
        if len(run) <= READS_SHOWN:
            return
        for at, card in enumerate(run[:-1], first):
            self._put(at, replace(card, folded=True, group=()))
        self._put(index, replace(run[-1], group=tuple(card.title for card in run[:-1])))

    def _patched(self, event: PatchApplied) -> None:
        if event.patch.cause.call_id and (found := self._card(event.patch.cause.call_id)):
            index, card = found
            self._put(index, replace(card, patch=event.patch, diff=event.diff))
        else:
            self.add(PatchCard(event.patch, event.diff))

    def _checked(self, event: ChecksRan) -> None:
        for index in range(len(self.blocks) - 1, max(-1, len(self.blocks) - 4), -1):
            card = self.blocks[index]
            if isinstance(card, ToolCard) and card.name == "test" and card.state == "running":
                self._put(index, replace(card, report=event.report))
                return
        self.add(ChecksCard(event.phase, event.report))

    def _turn_over(self, event: TurnFinished) -> None:
        self._drop_stream()
        answer = event.outcome.answer.strip()
        if answer and answer != self._said.strip():
            self.add(ModelSaid(event.outcome.answer))
        self.add(TurnEnd(event.turn, event.outcome))


def _is_read(block: Block) -> bool:
    return isinstance(block, ToolCard) and block.name == "read" and block.state == "ok"
