"""The attempts of one turn of the `agent` strategy: recorded when tests ran after a change, nothing equivalent to a
failed one twice, the best one kept when the turn ends without a proof."""

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import replace

from tcoder.agent import attempts
from tcoder.agent.equivalence import fingerprint, same_command, waits
from tcoder.agent.proof import about_tests
from tcoder.protocol.attempt import Attempt
from tcoder.protocol.budget import Usage
from tcoder.protocol.checks import CheckReport
from tcoder.protocol.edits import DeleteFile, Edit, WriteFile
from tcoder.protocol.errors import TcoderError
from tcoder.protocol.events import AttemptRecorded, Notice
from tcoder.protocol.messages import AssistantMessage, ToolCall
from tcoder.tools.edit import apply

if TYPE_CHECKING:
    from tcoder.agent.turn import Turn

HYPOTHESIS = 160
MAX_TEXT = 1_000_000
NEW_FAILURES = 20
NEW_HYPOTHESIS = (
    "The same error came {count} times with different changes, so what you assume about its cause is wrong. State"
    " another hypothesis in one sentence, check it by reading or running something, and only then edit."
)


class Tries:
    """What was tried in a turn. `base` of a file is its text before the first edit by a tool."""

    def __init__(self, turn: "Turn") -> None:
        self._turn = turn
        self._base: dict[str, str | None] = {}
        self._recorded = ""  # the last patch that an attempt is about
        self._spent = Usage()
        self._began = time.monotonic()
        self._seen = 0  # messages that earlier attempts came from
        self._failed: dict[str, str] = {}

    # -- nothing twice

    def before_edit(self, paths: Sequence[str]) -> dict[str, str | None]:
        """The texts of files that are about to be edited, also kept as what they were before this turn."""
        now = {path: self._read(path) for path in paths}
        for path, text in now.items():
            self._base.setdefault(path, text)
        return now

    def _read(self, path: str) -> str | None:
        try:
            file = self._turn.env.files.read_if_there(path)
        except TcoderError:
            return None
        return file.text if file is not None and len(file.text) <= MAX_TEXT else None

    def _fingerprint(self) -> str:
        """Of everything this turn changed; empty when other ways than edits changed something too."""
        turn = self._turn
        own = [p for p in turn.state.patches if p.cause.turn == turn.state.turn and p.cause.kind != "user"]
        if any(change.path not in self._base for patch in own for change in patch.files):
            return ""
        return fingerprint({path: (old, self._read(path)) for path, old in self._base.items()})

    def refuse_edit(self, before: dict[str, str | None]) -> str:
        """Why the edit that was just made is none: it brings back a patch that failed. Then the files are put back as
        `before` says. Empty when it stands."""
        turn = self._turn
        known = attempts.equivalent(turn.state.tried, turn.start_tree, self._fingerprint())
        if known is None or all(self._read(path) == text for path, text in before.items()):
            return ""
        edits: list[Edit] = [
            DeleteFile(path) if text is None else WriteFile(path, text)
            for path, text in before.items()
            if self._read(path) != text
        ]
        apply(turn.tools, tuple(edits))
        left = f": {known.signature}" if known.signature else ""
        return (
            f"refused and taken back: with this edit the tree is what attempt {known.number} was, but for layout and"
            f" comments, and {known.failing_after} tests failed then{left}. Try something else."
        )

    def refuse_command(self, call: ToolCall) -> str:
        """Why a command must not run: it is one that just failed, and nothing has changed since. Empty when it may."""
        key = _key(call)
        if not key or key not in self._failed:
            return ""
        return (
            "refused: this command just failed, and nothing has changed since. It said:\n"
            f"{self._failed[key][:600]}\nChange something first, or run another command."
        )

    def ran(self, call: ToolCall, kind: str, failed: str) -> None:
        """A call ran; `failed` is what it said when it failed."""
        if kind not in ("edit", "shell"):
            return
        self._failed.clear()
        key = _key(call)
        if key and failed:
            self._failed[key] = failed

    # -- the ledger of attempts

    @property
    def pending(self) -> bool:
        """Whether something was changed that no attempt tells of."""
        return self._turn.last_change not in ("", self._recorded)

    async def record(self, report: CheckReport) -> Attempt | None:
        """Record an attempt when tests ran after a change that no attempt tells of, or all tests after some of them."""
        turn = self._turn
        state = turn.state
        last = state.attempts[-1] if state.attempts else None
        again = last is not None and not last.full and not report.partial and not self.pending
        if not turn.changed or not (self.pending or again):
            return None
        before, fresh, lost = _held_against(state.baseline, report)
        after = attempts.failing(report)
        if after >= 0:
            after += lost
        number = last.number if again and last else len(state.attempts) + 1
        made = await turn.mark(f"attempt {number}")
        diff = await (await turn.env.ledger()).diff(turn.start)
        spent = state.turn_usage
        attempt = Attempt(
            number=number,
            hypothesis=last.hypothesis if again and last else self._hypothesis(),
            diff=diff,
            failing_before=before,
            failing_after=after,
            verdict=attempts.verdict(before, after),
            signature=attempts.signature(report.failing) or report.problem[:200],
            patch_id=last.patch_id if again and last else self._first_patch(),
            duration_s=round(time.monotonic() - self._began, 3),
            variant=turn.variant.id,
            new_failures=fresh[:NEW_FAILURES],
            checkpoint_id=made,
            base=turn.start_tree,
            fingerprint=self._fingerprint(),
            full=not report.partial,
            calls=spent.calls - self._spent.calls,
            tokens=spent.total - self._spent.total,
            cost=None if spent.cost is None else spent.cost - (self._spent.cost or 0),
        )
        self._recorded, self._spent, self._began = turn.last_change, spent, time.monotonic()
        self._seen = len(state.messages)
        turn.record(AttemptRecorded(attempt))
        return attempt

    def _first_patch(self) -> str:
        """The first patch of tcoder's own since the last attempt."""
        turn = self._turn
        own = [p.id for p in turn.state.patches if p.cause.turn == turn.state.turn and p.cause.kind != "user"]
        since = own.index(self._recorded) + 1 if self._recorded in own else 0
        return own[since] if since < len(own) else turn.last_change

    def _hypothesis(self) -> str:
        """What the model said when it changed something, else its active step, else what was changed."""
        turn = self._turn
        seen = self._seen if self._seen <= len(turn.state.messages) else 0  # the conversation was made shorter
        said = [message for message in turn.state.messages[seen:] if isinstance(message, AssistantMessage)]
        for message in reversed(said):
            changes = any(call.name in ("edit", "write", "shell") for call in message.calls)
            if changes and message.text.strip():
                return _sentence(message.text)
        step = next((step.text for step in turn.state.plan if step.state == "active"), "")
        if step:
            return step[:HYPOTHESIS]
        paths = dict.fromkeys(
            change.path
            for patch in turn.state.patches
            if patch.cause.turn == turn.state.turn and patch.cause.kind != "user"
            for change in patch.files
        )
        return f"change {', '.join(list(paths)[-4:])}"[:HYPOTHESIS]

    def feedback(self) -> str:
        """What the model is told of its attempts after one that failed: short, and a demand when it goes in circles."""
        tried = self._turn.state.attempts
        parts: list[str] = []
        if len(tried) > 1:
            parts.append(f"Your attempts so far:\n{attempts.tell(tried)}")
        if (count := attempts.repeats(tried)) > 1:
            parts.append(NEW_HYPOTHESIS.format(count=count))
        return "\n\n".join(parts)

    # -- the best is kept

    async def keep_best(self) -> str:
        """At the end of a turn without a proof: bring back the best attempt when the tree is another, and say so.
        Where every attempt breaks more than it mends and the task was to mend, that is the state before them."""
        turn = self._turn
        chosen = attempts.best(turn.state.attempts)
        if chosen is None or not chosen.checkpoint_id:
            return ""
        worse = bool(chosen.new_failures) and chosen.failing_after >= chosen.failing_before and about_tests(turn.task)
        point = turn.start if worse else chosen.checkpoint_id
        told = ""
        if await turn.differs_from(point):
            what = "the state before all attempts" if worse else f"attempt {chosen.number}"
            try:
                await turn.roll_back(point)
            except TcoderError as error:
                turn.warn("attempts", f"{what} was better than what is left, but cannot be brought back: {error}")
                return ""
            left = chosen.failing_before if worse else chosen.failing_after
            told = f"kept {what}, the best of {len(turn.state.attempts)} ({left} failing tests)"
            turn.record(Notice("info", "attempts", told))
        if not worse:
            self.kept(chosen)
        return told

    def kept(self, attempt: Attempt | None = None) -> None:
        """Mark the attempt that the turn leaves behind; None = the last one, unless one is marked."""
        tried = self._turn.state.attempts
        if attempt is None and any(one.kept for one in tried):
            return
        chosen = attempt or (tried[-1] if tried else None)
        if chosen is not None and chosen.checkpoint_id and not chosen.kept:
            self._turn.record(AttemptRecorded(replace(chosen, kept=True)))


def _held_against(baseline: CheckReport | None, report: CheckReport) -> tuple[int, tuple[str, ...], int]:
    """How many of the tests that ran now failed before (-1 = not known), which passed before and do not now, and how
    many tests are lost: they ran before and do not in a full run now, as when a file cannot even be loaded."""
    if baseline is None or baseline.problem:
        return -1, (), 0
    if not baseline.tests:
        return attempts.failing(baseline), (), 0
    ran = {test.id for test in report.tests}
    failed = [test.id for test in baseline.failing if not report.partial or test.id in ran]
    passed = {test.id for test in baseline.tests if test.outcome == "passed"}
    worse = [test.id for test in report.failing if test.id in passed]
    if report.partial or not report.tests:
        return len(failed), tuple(worse), 0
    counted = passed | {test.id for test in baseline.failing}
    lost = [test.id for test in baseline.tests if test.id in counted and test.id not in ran]
    return len(failed), (*worse, *(name for name in lost if name in passed)), len(lost)


def _sentence(text: str) -> str:
    """The first sentence of what the model said."""
    line = next((line.strip() for line in text.split("\n") if line.strip()), "")
    end = min((at + 1 for mark in (". ", "! ", "? ") if (at := line.find(mark)) > 0), default=len(line))
    return line[:end].strip("#*` ")[:HYPOTHESIS]


def _key(call: ToolCall) -> str:
    """What makes a command the same as another; empty for what is no command or waits for something."""
    if call.name != "shell":
        return ""
    try:
        arguments: dict[str, Any] = msgspec.json.decode(call.arguments, type=dict[str, Any])
    except msgspec.MsgspecError:
        return ""
    command = str(arguments.pop("command", ""))
    return "" if waits("shell", command) else f"{same_command(command)} {arguments}"
