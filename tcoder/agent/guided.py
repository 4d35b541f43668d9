"""The `guided` strategy: tcoder drives, a small model answers one small question at a time, the tests decide.

Run the tests, find where failing ones differ from passing ones, try edits of the most suspicious statements one by one
against the failing tests, keep what makes a full run better, stop with an honest verdict.
"""

import re
import time
from collections.abc import Sequence

import msgspec

from tcoder.agent import absent, failures, guided_answer, guided_moves, guided_request, integrity, repairs, units
from tcoder.agent.attempts import Tried, signature, unified, verdict
from tcoder.agent.candidates import Candidate
from tcoder.agent.guided_asking import Asking
from tcoder.agent.halt import Halt
from tcoder.agent.integrity import FileEdit
from tcoder.agent.proof import about_tests, is_question, judge, needs_change
from tcoder.agent.suspects import Suspect, rank
from tcoder.agent.trial import Trial
from tcoder.agent.turn import Turn
from tcoder.agent.verdict import Ending, done
from tcoder.protocol.attempt import Attempt
from tcoder.protocol.checks import CheckReport, TestResult, TestTrace
from tcoder.protocol.edits import Cause, WriteFile
from tcoder.protocol.errors import TcoderError
from tcoder.protocol.events import AttemptRecorded, Located, Notice, PlanChanged, Progress
from tcoder.protocol.location import FileHit, Location, SymbolHit
from tcoder.protocol.outcome import ExitCode
from tcoder.protocol.plan import PlanStep, StepState
from tcoder.workspace import checks

STEPS = ("run the tests", "find the suspects", "try edits of the suspects", "prove it with all tests")
TRACE_BUDGET_S, TRACE_SLOWDOWN, MAX_TRACED = 8.0, 12.0, 150
MAX_SELECTED = 10
MAX_NAMES = 30
MAX_SOURCE = 400_000
MAX_ATTEMPTS, PATIENCE = 250, 15


async def run(turn: Turn) -> Ending:
    """Answer a question, make failing tests pass, or change what a person names. Raises `Halt`, `ModelError`."""
    task = turn.task
    if not is_question(task) and guided_request.is_request(task):
        return await guided_request.carry_out(turn)
    if is_question(task) or not (needs_change(task) or about_tests(task)):
        return await guided_answer.answer(turn)
    return await _Repair(turn).run()


def _nothing(answer: str, reason: str) -> Ending:
    return Ending("no_progress", ExitCode.NO_PROGRESS, answer, None, reason)


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


class _Repair:
    """One turn of repairing. `failing` are the tests that are still to be fixed."""

    def __init__(self, turn: Turn) -> None:
        self.turn = turn
        self.failing: tuple[TestResult, ...] = ()
        self.flaky: tuple[str, ...] = ()
        self.absent: dict[str, str] = {}
        self.report: CheckReport | None = None
        self.tried = Tried()
        self.number = 0
        self.kept = 0
        self.partial: tuple[int, Candidate, str] | None = None
        self.partial_at = 0

    async def run(self) -> Ending:
        turn = self.turn
        if turn.env.checks is None:
            reason = "it is not known how this project is tested, and a small model is led by its tests"
            return Ending("error", ExitCode.USAGE, "", None, f"{reason}: name the command with --test-cmd CMD")
        self._plan(0)
        await turn.checkpoint()
        baseline = self.report = await turn.run_checks("baseline")
        if baseline.problem and not baseline.failing:
            return _nothing("", f"the tests could not be run: {baseline.problem}")
        self.failing = await self._without_flaky(self._ours(baseline))
        if not self.failing and not self.flaky and not guided_request.REPAIR.search(turn.task):
            return await guided_request.carry_out(turn)
        if not self.failing:
            return _nothing("No test fails.", "no test fails, so nothing shows a small model what is to be changed")
        try:
            solved = await self._search()
        except Halt as stop:
            return Ending(stop.status, stop.code, self._summary(), False, str(stop))
        if not solved:
            reason = f"{len(self.failing)} tests still fail after {self.number} attempts"
            return Ending("checks_fail", ExitCode.CHECKS_FAIL, self._summary(), False, reason)
        self._plan(len(STEPS))
        given = turn.env.checks.given
        proof = judge(turn.task, self._counted(baseline), self._counted(self.report), given=given)
        return done(self._summary(), proof, wanted_change=False)

    def _plan(self, at: int) -> None:
        def state(number: int) -> StepState:
            return "done" if number < at else "active" if number == at else "open"

        steps = tuple(PlanStep(text, state(number)) for number, text in enumerate(STEPS))
        self.turn.record(PlanChanged(steps, "tcoder"))

    def _summary(self) -> str:
        patches = [patch for patch in self.turn.state.patches if patch.cause.kind == "edit" and not patch.undone]
        changed = (
            sorted({change.path for patch in patches[-self.kept :] for change in patch.files}) if self.kept else []
        )
        if not self.failing:
            return f"All tests pass after a change in {', '.join(changed)} ({_count(self.number, 'attempt')})."
        left = ", ".join(test.id for test in self.failing[:5])
        kept = (
            f"A change in {', '.join(changed)} that fixes some of them is kept. "
            if changed
            else "Nothing was changed. "
        )
        return f"{kept}{len(self.failing)} tests still fail: {left}"

    def _ours(self, baseline: CheckReport) -> tuple[TestResult, ...]:
        """The failing tests without those that only miss a package, which are named instead of repaired."""
        files = self.turn.env.root

        def is_ours(name: str) -> bool:
            return any(
                (files / place / name).exists() or (files / place / f"{name}.py").exists() for place in ("", "src")
            )

        self.absent = absent.packages(baseline.failing, is_ours)
        if self.absent:
            self.turn.warn("tests", absent.tell(self.absent, baseline.command))
        return tuple(test for test in baseline.failing if test.id not in self.absent)

    def _counts(self, test: TestResult) -> bool:
        """Whether a failure says something about the code: flaky and absent ones do not."""
        return test.id not in self.flaky and test.id not in self.absent

    def _counted(self, report: CheckReport) -> CheckReport:
        """The report without what only misses a package; its exit code then says nothing."""
        if not self.absent:
            return report
        tests = tuple(test for test in report.tests if test.id not in self.absent)
        return msgspec.structs.replace(report, tests=tests, exit_code=None)

    async def _without_flaky(self, failing: tuple[TestResult, ...]) -> tuple[TestResult, ...]:
        """The tests that fail twice: one that passes unchanged is flaky, and is named instead of repaired."""
        ids = tuple(test.id for test in failing[:MAX_SELECTED])
        if not ids or self.report is None:
            return failing
        again = await Trial(self.turn, ids, self.report).run()
        passed = {test.id for test in again.tests if test.outcome == "passed"}
        self.flaky = tuple(test_id for test_id in ids if test_id in passed)
        if self.flaky:
            self.turn.warn("tests", f"flaky, failed and then passed unchanged: {', '.join(self.flaky)}")
        return tuple(test for test in failing if test.id not in passed)

    # -- the search

    async def _search(self) -> bool:
        """Try edits until no test fails. Each edit that makes a full run better is kept, and the search begins anew
        from there."""
        while self.failing:
            self.partial = None
            if not (await self._try_names() or await self._try_suspects() or await self._try_partial()):
                return False
        return True

    async def _try_names(self) -> bool:
        """What needs no model: names that are not defined."""
        paths = {frame.path for test in self.failing for frame in test.frames[-1:]}
        sources = {path: text for path in paths if (text := self._read(path)) is not None}
        missing = repairs.named_errors(self.failing, sources, await self._defined())
        return await self._try_all(missing, "an undefined name")

    async def _defined(self) -> dict[str, str]:
        """Which module of the project defines the names that the failures miss."""
        known: dict[str, str] = {}
        for name in repairs.missing_names(self.failing):
            for hit in await self.turn.env.index.find_symbol(name):
                if hit.path.endswith(".py") and "." not in hit.name:
                    parts = hit.path.removesuffix(".py").removeprefix("src/").split("/")
                    known.setdefault(name, ".".join(parts).removesuffix(".__init__"))
        return known

    async def _try_suspects(self) -> bool:
        suspects, sources, pieces = await self._locate()
        can_fill = any(quirk.startswith("fill_") for quirk in self.turn.variant.quirks)
        for suspect in suspects:
            self.tried.is_new(suspect.unit.path, sources[suspect.unit.path])
        for move in guided_moves.schedule(suspects, can_fill=can_fill):
            if self.number >= MAX_ATTEMPTS or (self.partial and self.number - self.partial_at >= PATIENCE):
                return False  # several causes: what repairs one of them comes first
            self.turn.check_budget(tell_model=False)
            self.turn.deliver_steering()
            asked = Asking(self.turn, self.failing, sources, pieces, move)
            async for candidate in asked.candidates():
                if await self._try(candidate, f"{move.suspect.unit.name}: {candidate.how}"):
                    return True
        return False

    async def _try_all(self, wanted: Sequence[Candidate], hypothesis: str) -> bool:
        for candidate in wanted:
            if await self._try(candidate, hypothesis) or await self._try_partial():
                return True
        return False

    async def _try_partial(self) -> bool:
        """Nothing makes all the selected tests pass: keep what makes the most of them pass, if a full run agrees."""
        if self.partial is None:
            return False
        _, candidate, hypothesis = self.partial
        self.partial = None
        return await self._keep_if_better(candidate, hypothesis)

    async def _try(self, candidate: Candidate, hypothesis: str) -> bool:
        """Try one candidate against the failing tests, and if it helps, in a full run; True when it was kept."""
        old = self._read(candidate.path)
        if old is None:
            return False
        new = candidate.apply(old)
        if not self.tried.is_new(candidate.path, new) or not units.parses(candidate.path, new):
            return False
        if integrity.inspect([FileEdit(candidate.path, old, new)], self._tested_values()):
            return False  # an answer made for the tests is no repair
        ids = tuple(test.id for test in failures.representative(self.failing, MAX_SELECTED))
        assert self.report is not None
        began = time.monotonic()
        where = f"{candidate.path}:{candidate.line}"
        self.turn.emit(
            Progress(f"trying {where} {candidate.text.strip().splitlines()[0][:80] if candidate.text else ''}")
        )
        report = await Trial(self.turn, ids, self.report).run_with(candidate.path, old, new)
        left = [test for test in report.failing if self._counts(test)]
        seen = {test.id for test in report.tests}
        # where a file does not even load, one failure stands for all of its tests
        unseen = sum(name not in seen for name in ids) if left else 0
        after = len(left) + unseen if not report.problem and report.tests else -1
        if after == 0:
            return await self._keep_if_better(candidate, hypothesis)
        self._record(candidate, hypothesis, unified(candidate.path, old, new), (len(ids), after), report, began)
        if 0 < after < len(ids) and (self.partial is None or after < self.partial[0]):
            self.partial = (after, candidate, hypothesis)
            self.partial_at = self.number
        return False

    def _tested_values(self) -> frozenset[str]:
        texts = (self._read(path) for path in {test.path for test in self.failing if test.path})
        return integrity.literals_of([text for text in texts if text])

    def _record(
        self,
        candidate: Candidate,
        hypothesis: str,
        diff: str,
        counts: tuple[int, int],
        report: CheckReport,
        began: float,
        kept: str = "",
    ) -> None:
        self.number += 1
        attempt = Attempt(
            number=self.number,
            hypothesis=f"{hypothesis} at line {candidate.line}",
            diff=diff,
            failing_before=counts[0],
            failing_after=counts[1],
            verdict=verdict(*counts),
            signature=signature([test for test in report.failing if self._counts(test)]) or report.problem[:200],
            patch_id=kept,
            duration_s=round(time.monotonic() - began, 3),
            variant="" if candidate.how.endswith("no model asked") else self.turn.variant.id,
            kept=bool(kept),
        )
        self.turn.record(AttemptRecorded(attempt))

    async def _keep_if_better(self, candidate: Candidate, hypothesis: str) -> bool:
        """Apply for good and run everything: kept when fewer tests fail and none that passed before."""
        old = self._read(candidate.path)
        assert old is not None
        assert self.report is not None
        new = candidate.apply(old)
        began = time.monotonic()
        self._plan(3)
        cause = Cause("edit", f"{hypothesis}: {candidate.path}:{candidate.line}"[:200], attempt=self.number + 1)
        _, patch = await self.turn.apply((WriteFile(candidate.path, new),), cause)
        try:
            report = await self.turn.run_checks("final")
        except BaseException:
            await self._put_back(candidate.path, old)
            raise
        before = {test.id for test in self.report.failing if self._counts(test)}
        left = tuple(test for test in report.failing if self._counts(test))
        fresh = [test for test in left if test.id not in before]
        vanished = {test.id for test in self.report.tests} - {test.id for test in report.tests}
        better = not report.problem and not fresh and not vanished and len(left) < len(before)
        counts = (len(before), len(left) + len(vanished) if not report.problem else -1)
        diff = unified(candidate.path, old, new)
        self._record(candidate, hypothesis, diff, counts, report, began, patch.id if better and patch else "")
        if not better:
            await self._put_back(candidate.path, old)
            self._plan(2)
            return False
        self.kept += 1
        self.report = report
        self.failing = left
        return True

    async def _put_back(self, path: str, old: str) -> None:
        await self.turn.apply((WriteFile(path, old),), Cause("rollback", f"{path} as it was", attempt=self.number))

    def _read(self, path: str) -> str | None:
        try:
            file = self.turn.env.files.read_if_there(path)
        except TcoderError:
            return None
        return file.text if file is not None and len(file.text) <= MAX_SOURCE else None

    # -- locating

    async def _locate(self) -> tuple[tuple[Suspect, ...], dict[str, str], dict[str, tuple[units.Unit, ...]]]:
        """The suspects with the sources they are in and the units of each source, recorded for everybody to see."""
        turn = self.turn
        self._plan(1)
        began = time.monotonic()
        traces = await self._trace()
        said = "\n".join(f"{test.id}\n{test.message[:400]}" for test in self.failing[:3])
        located = await turn.env.index.locate(f"{turn.task}\n{said}", limit=10)
        paths = {path for trace in traces for path in trace.lines}
        paths |= {frame.path for test in self.failing for frame in test.frames}
        called: tuple[SymbolHit, ...] = ()
        if not any(trace.lines for trace in traces):
            called = await self._called()
            paths |= {hit.path for hit in (*located.files, *called)}
        assert self.report is not None
        tests = {test.path for test in self.report.tests}
        paths = {path for path in paths if path not in tests and not integrity.is_test_file(path)}
        sources = {path: text for path in sorted(paths) if (text := self._read(path)) is not None}
        pieces = {path: await self._units_of(path, text) for path, text in sources.items()}
        suspects = rank(self.failing, traces, pieces, (*called, *located.symbols))
        files = dict.fromkeys(suspect.unit.path for suspect in suspects)
        turn.record(
            Located(
                Location(
                    tuple(FileHit(path, 1.0) for path in files),
                    tuple(_as_hit(suspect) for suspect in suspects),
                    located.index,
                ),
                round(time.monotonic() - began, 3),
            )
        )
        if not suspects:
            turn.record(Notice("warning", "locate", "no function could be tied to the failing tests"))
        self._plan(2)
        return suspects, sources, pieces

    async def _called(self) -> tuple[SymbolHit, ...]:
        """Definitions of what the failing statements of the tests mention, where no trace tells what they run."""
        names: dict[str, None] = {}
        for test in self.failing[:MAX_SELECTED]:
            for frame in test.frames[-3:]:
                names.update(dict.fromkeys(re.findall(r"[A-Za-z_]\w{2,}", frame.source)))
        found: list[SymbolHit] = []
        for name in list(names)[:MAX_NAMES]:
            found += await self.turn.env.index.find_symbol(name)
        return tuple(hit for hit in found if not integrity.is_test_file(hit.path))

    async def _units_of(self, path: str, text: str) -> tuple[units.Unit, ...]:
        if path.endswith(".py"):
            return units.cut(path, text)
        return units.of_symbols(path, text, await self.turn.env.index.symbols(path))

    async def _trace(self) -> tuple[TestTrace, ...]:
        """Trace the failing tests and as many passing ones as a short run holds, those of the same files first."""
        turn, report = self.turn, self.report
        assert report is not None
        assert turn.env.checks is not None
        files = {test.path for test in self.failing}
        functions = {test.id.split("[")[0] for test in self.failing}
        passing = sorted(
            (test for test in report.tests if test.outcome == "passed"),
            key=lambda test: (test.id.split("[")[0] not in functions, test.path not in files, test.duration_s, test.id),
        )
        chosen = [test.id for test in failures.representative(self.failing, MAX_SELECTED)]
        spent = 0.0
        for test in passing[:MAX_TRACED]:
            spent += test.duration_s * TRACE_SLOWDOWN
            if spent > TRACE_BUDGET_S:
                break
            chosen.append(test.id)
        turn.emit(Progress("tracing which lines the failing and the passing tests run"))
        began = time.monotonic()
        try:
            return await checks.trace(
                turn.env.checks, turn.env.runner, select=tuple(chosen), timeout_s=60, root=turn.env.root
            )
        finally:
            turn.tools_s += time.monotonic() - began


def _as_hit(suspect: Suspect) -> SymbolHit:
    unit = suspect.unit
    score = round(suspect.score, 3)
    return SymbolHit(unit.path, unit.name, unit.kind, unit.line, unit.end_line, score, suspect.why, unit.signature)
