"""The final object of a headless run: a pure fold of the session's events."""

from collections.abc import Iterable

from msgspec import Struct

from tcoder.frontends.sanitise import clean_line
from tcoder.protocol.attempt import AttemptVerdict
from tcoder.protocol.checks import CheckReport
from tcoder.protocol.edits import CauseKind, ChangeKind, FileChange, Patch
from tcoder.protocol.events import (
    AttemptRecorded,
    ChecksRan,
    Event,
    ModelAnswered,
    ModelAsked,
    ModelFailed,
    Notice,
    PatchApplied,
    PermissionAnswered,
    PermissionAsked,
    SessionEnded,
    SessionResumed,
    SessionStarted,
    ToolFinished,
    ToolStarted,
    TurnFinished,
    TurnStarted,
    VariantChanged,
)
from tcoder.protocol.messages import TextPart
from tcoder.protocol.outcome import Duration, Outcome
from tcoder.protocol.permissions import Question
from tcoder.protocol.variant import ModelVariant, Served


class PatchSummary(Struct, frozen=True):
    """A patch that still stands; `diff` is unified."""

    id: str
    cause: CauseKind
    summary: str
    turn: int
    attempt: int
    files: tuple[FileChange, ...]
    diff: str


class FileSummary(Struct, frozen=True):
    path: str
    change: ChangeKind
    insertions: int
    deletions: int


class CheckCounts(Struct, frozen=True):
    """`problem` is why the run says nothing, else empty."""

    exit_code: int | None
    passed: int
    failed: int
    skipped: int
    failing: tuple[str, ...]
    duration_s: float
    problem: str = ""


class Checks(Struct, frozen=True):
    """None = was not run."""

    command: str = ""
    before: CheckCounts | None = None
    after: CheckCounts | None = None


class AttemptSummary(Struct, frozen=True):
    number: int
    hypothesis: str
    verdict: AttemptVerdict
    failing_before: int
    failing_after: int
    kept: bool
    duration_s: float


class Denied(Struct, frozen=True):
    tool: str
    action: str
    reason: str


class UsageSummary(Struct, frozen=True):
    """Tokens by kind; `cost` in US dollars, null when a price is unknown."""

    input: int
    input_uncached: int
    cache_read: int
    cache_write: int
    output: int
    reasoning: int
    cost: float | None
    calls: int


class AskedVariant(Struct, frozen=True):
    name: str = ""
    model: str = ""
    effort: str = ""
    tier: str = ""


class ServedVariant(Struct, frozen=True):
    model: str = ""
    tier: str = ""
    first_token_s: float | None = None


class Variant(Struct, frozen=True):
    """What was asked for, and what the provider said really ran (empty = it did not say)."""

    asked: AskedVariant
    served: ServedVariant


class Result(Struct, frozen=True):
    """The object that `--output-format json` prints."""

    status: str
    exit_code: int
    session_id: str
    task: str
    answer: str
    patches: tuple[PatchSummary, ...]
    files_changed: tuple[FileSummary, ...]
    checks: Checks
    verified: bool | None
    attempts: tuple[AttemptSummary, ...]
    denied: tuple[Denied, ...]
    usage: UsageSummary
    variant: Variant
    duration_s: Duration
    warnings: tuple[str, ...]
    reason: str = ""


class Collector:
    """Gathers what `Result` needs. `outcome` is the last turn's, None before it ended."""

    def __init__(self) -> None:
        self.outcome: Outcome | None = None
        self.ended = ""
        self._session_id = ""
        self._task = ""
        self._patches: list[tuple[Patch, str]] = []
        self._before: CheckReport | None = None
        self._after: CheckReport | None = None
        self._attempts: list[AttemptSummary] = []
        self._begun = 0
        self._questions: dict[str, tuple[str, Question]] = {}
        self._titles: dict[str, str] = {}
        self._denied: dict[str, Denied] = {}
        self._variant: ModelVariant | None = None
        self._stop = ""
        self._asked_model = ""
        self._served = Served()
        self._failures: list[str] = []
        self._warnings: list[str] = []

    def add(self, event: Event) -> None:
        """Take in the next event. Events that the result does not show are ignored."""
        match event:
            case SessionStarted() | SessionResumed():
                self._session_id, self._variant = event.session_id, event.variant
            case TurnStarted():
                self._begun = len(self._attempts)
                self._task = self._task or "".join(p.text for p in event.message.parts if isinstance(p, TextPart))
            case ModelAsked():
                self._stop, self._asked_model = event.variant, event.model
            case VariantChanged():
                self._stop = event.name
            case ModelAnswered():
                self._served = event.served
            case ModelFailed():
                self._failures.append(f"{event.failure}: {event.message}")
            case PatchApplied():
                self._patches = stand([*self._patches, (event.patch, event.diff)])
            case ChecksRan(phase="baseline"):
                self._before = self._before or event.report
            case ChecksRan():
                self._after = event.report
            case AttemptRecorded(attempt=attempt):
                earlier, now = self._attempts[: self._begun], self._attempts[self._begun :]
                self._attempts = [*earlier, *(one for one in now if one.number != attempt.number)]
                self._attempts.append(
                    AttemptSummary(
                        attempt.number, attempt.hypothesis, attempt.verdict, attempt.failing_before,
                        attempt.failing_after, attempt.kept, attempt.duration_s,
                    )
                )  # fmt: skip
            case ToolStarted():
                self._titles[event.call.id] = event.title
            case PermissionAsked():
                self._questions[event.question.id] = (event.call_id, event.question)
            case PermissionAnswered(answer="deny"):
                self._deny(event)
            case ToolFinished() if event.result.status == "denied":
                denied = Denied(event.name, self._titles.get(event.call_id, ""), event.result.content)
                self._denied.setdefault(event.call_id, denied)
            case Notice(level="warning") | Notice(level="error"):
                self._warnings.append(event.text)
            case TurnFinished():
                self.outcome = event.outcome
            case SessionEnded():
                self.ended = event.reason
            case _:
                return

    def _deny(self, event: PermissionAnswered) -> None:
        if event.question_id in self._questions:
            call_id, question = self._questions[event.question_id]
            self._denied[call_id] = Denied(question.tool, question.action, event.note or question.reason)

    @property
    def diffs(self) -> tuple[str, ...]:
        """The diffs of the patches that stand, oldest first."""
        return tuple(diff for _, diff in self._patches if diff)

    @property
    def patch_ids(self) -> tuple[str, ...]:
        """Of the patches that stand, oldest first."""
        return tuple(patch.id for patch, _ in self._patches)

    def result(self) -> Result:
        """The object so far. A session that ended without an outcome is an interrupted one."""
        outcome = self.outcome or ended_without_outcome(self.ended)
        usage, variant = outcome.usage, self._variant
        warnings = dict.fromkeys((*outcome.warnings, *self._warnings, *self._failures))
        return Result(
            status=outcome.status,
            exit_code=outcome.exit_code,
            session_id=self._session_id,
            task=self._task,
            answer=outcome.answer,
            patches=tuple(
                PatchSummary(
                    patch.id, patch.cause.kind, patch.cause.summary, patch.cause.turn, patch.cause.attempt,
                    patch.files, diff,
                )
                for patch, diff in self._patches
            ),
            files_changed=files_changed(patch for patch, _ in self._patches),
            checks=Checks(
                command=next((report.command for report in (self._after, self._before) if report), ""),
                before=check_counts(self._before),
                after=check_counts(self._after),
            ),
            verified=outcome.verified,
            attempts=tuple(self._attempts),
            denied=tuple(self._denied.values()),
            usage=UsageSummary(
                usage.prompt, usage.input_uncached, usage.cache_read, usage.cache_write, usage.output,
                usage.reasoning, None if usage.cost is None else round(float(usage.cost), 6), usage.calls,
            ),
            variant=Variant(
                AskedVariant(
                    self._stop or (variant.name if variant else ""),
                    self._asked_model or (variant.id if variant else ""),
                    (variant.effort or "") if variant else "",
                    variant.tier if variant else "",
                ),
                ServedVariant(self._served.model, self._served.tier, self._served.first_token_s),
            ),
            duration_s=outcome.duration_s,
            warnings=tuple(warnings),
            reason=outcome.reason,
        )  # fmt: skip


def stand(patches: list[tuple[Patch, str]]) -> list[tuple[Patch, str]]:
    """Without the patches that a later one took back: a patch that brings the tree to where an earlier one began takes
    itself and everything since along. Patches of the user's own are left out at the end of the story, not here."""
    last = patches[-1][0]
    if last.undone:
        return [entry for entry in patches if entry[0].id != last.id]
    earlier = patches[:-1]
    if last.after:
        for at, (patch, _) in enumerate(earlier):
            if patch.before == last.after:
                return earlier[:at]
    return [*(entry for entry in earlier if entry[0].id != last.id), patches[-1]]


def files_changed(patches: Iterable[Patch]) -> tuple[FileSummary, ...]:
    """Files that tcoder changed, in the order of their first change; lines are summed over the patches."""
    files: dict[str, FileSummary] = {}
    for patch in patches:
        if patch.cause.kind == "user":
            continue
        for change in patch.files:
            before = files.get(change.path)
            files[change.path] = FileSummary(
                change.path,
                "added" if before and before.change == "added" and change.change == "modified" else change.change,
                change.insertions + (before.insertions if before else 0),
                change.deletions + (before.deletions if before else 0),
            )
    return tuple(files.values())


def check_counts(report: CheckReport | None) -> CheckCounts | None:
    if report is None:
        return None
    return CheckCounts(
        exit_code=report.exit_code,
        passed=report.passed,
        failed=len(report.failing),
        skipped=report.count("skipped"),
        failing=tuple(test.id for test in report.failing),
        duration_s=report.duration_s,
        problem=clean_line(report.problem),
    )


def ended_without_outcome(reason: str) -> Outcome:
    """What to say of a session that closed before its turn did."""
    codes = {"sigint": 130, "sigterm": 143, "sighup": 143, "quit": 130}
    if reason in codes:
        return Outcome("interrupted", codes[reason], "", reason=reason)
    return Outcome("error", 1, "", reason=reason or "the session ended before the task did")
