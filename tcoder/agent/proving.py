"""Runs the tests for a turn: the baseline, an attempt, and the proof at its end with all that speaks against it."""

import time
from contextlib import suppress
from dataclasses import replace as with_fields
from typing import TYPE_CHECKING

from msgspec.structs import replace

from tcoder.agent import integrity
from tcoder.agent.integrity import FileEdit
from tcoder.agent.proof import Proof, changes_tests, judge, weigh
from tcoder.protocol.checks import CheckPhase, CheckReport
from tcoder.protocol.edits import DeleteFile, Edit, WriteFile
from tcoder.protocol.errors import DeniedError, PatchError, TcoderError, WorkspaceError
from tcoder.protocol.events import ChecksRan, Progress
from tcoder.tools.edit import apply
from tcoder.workspace import checks

if TYPE_CHECKING:
    from tcoder.agent.turn import Turn

MOST_AGAIN, AGAIN_S = 10, 20.0
MOST_SELECTED = 200


async def run(
    turn: "Turn", phase: CheckPhase, select: tuple[str, ...] = (), *, again: bool = False, anyway: bool = False
) -> CheckReport:
    """Run tests and record what they said. A full run before the first change is the baseline. `again` = run the
    failing ones a second time: what passes then, with nothing changed, is flaky. Raises `TcoderError` when it is not
    known how the project is tested, `Halt` when the budget is spent (but for `anyway`)."""
    if not anyway:
        turn.check_budget()
    report = await _run(turn, select)
    if phase == "attempt" and not select and turn.state.baseline is None and not turn.changed:
        phase = "baseline"
    if again:
        report = await _with_flaky(turn, report)
    turn.record(ChecksRan(phase, report))
    return report


async def know_the_start(turn: "Turn") -> None:
    """Where the first change came from a command, no test has run before it: run them now on the files as they were at
    the start, and record that as the baseline."""
    state = turn.state
    if state.baseline is not None or turn.env.checks is None or not turn.changed:
        return
    own = {
        change.path
        for patch in state.patches
        if patch.cause.turn == state.turn and patch.cause.kind != "user"
        for change in patch.files
    }
    edits = tuple(edit for edit in await edits_of(turn) if edit.path in own)
    turn.emit(Progress("running the tests as they were at the start"))
    report = await _run_with(turn, edits, ())
    if report is not None:
        turn.record(ChecksRan("baseline", report))


async def _run(turn: "Turn", select: tuple[str, ...] = ()) -> CheckReport:
    command = turn.env.checks
    if command is None:
        raise TcoderError("it is not known how this project is tested", "set it with --test-cmd")
    turn.emit(Progress(f"running {command.command}"))
    began = time.monotonic()
    try:
        return await checks.run(command, turn.env.runner, select=select, timeout_s=_timeout_s(turn), root=turn.env.root)
    finally:
        if not turn.runs_a_tool:
            turn.tools_s += time.monotonic() - began


def _timeout_s(turn: "Turn") -> float:
    limit = turn.env.budget.max_time_s
    left = turn.env.checks_timeout_s if limit is None else max(1.0, limit - turn.elapsed_s)
    return min(left, turn.env.checks_timeout_s)


async def _with_flaky(turn: "Turn", report: CheckReport) -> CheckReport:
    """The report with the tests that pass at a second run named as flaky."""
    failing = report.failing
    if report.problem or not 0 < len(failing) <= MOST_AGAIN or sum(test.duration_s for test in failing) > AGAIN_S:
        return report
    ids = tuple(test.id for test in failing)
    second = await _run(turn, ids)
    passed = {test.id for test in second.tests if test.outcome == "passed"}
    flaky = tuple(name for name in ids if name in passed)
    if flaky:
        turn.warn("tests", f"flaky, failed and then passed with nothing changed: {', '.join(flaky)}")
    return replace(report, flaky=flaky)


async def prove(turn: "Turn", *, anyway: bool = False) -> Proof:
    """Run all tests now, after the last edit, and hold them against the baseline: failing tests once more, to tell
    flaky ones; the failing tests as they were at the start against the code as it is; the edits for what makes tests
    pass without a repair. Recorded as an attempt."""
    final: CheckReport | None = None
    if turn.env.checks is not None:
        with suppress(DeniedError):
            await know_the_start(turn)
            final = await run(turn, "final", again=True, anyway=anyway)
    if final is not None and final.flaky and len(final.flaky) == len(final.failing):
        # only a full run in which all pass proves anything; the flaky ones stay named
        flaky = final.flaky
        final = replace(await _run(turn), flaky=flaky)
        turn.record(ChecksRan("final", final))
    baseline = turn.state.baseline
    proof = judge(turn.task, baseline, final, given=turn.env.checks is not None and turn.env.checks.given)
    if final is not None:
        await turn.tries.record(final)
    edits = await edits_of(turn)
    findings = integrity.inspect(edits, _tested_values(edits, baseline, turn))
    if baseline is not None and final is not None and not final.problem:
        proof = await _against_originals(turn, proof, baseline, edits)
    proof = weigh(turn.task, proof, findings)
    for finding in proof.doubts:
        turn.warn("integrity", finding)
    return proof


async def edits_of(turn: "Turn") -> tuple[FileEdit, ...]:
    """The files that differ from the beginning of the turn, as text; binary ones are left out."""
    if not turn.start:
        return ()
    sides = await (await turn.env.ledger()).sides(turn.start)
    found: list[FileEdit] = []
    for path, both in sorted(sides.items()):
        with suppress(UnicodeDecodeError):
            old, new = (None if data is None else data.decode("utf-8") for data in both)
            found.append(FileEdit(path, old, new))
    return tuple(found)


def _tested_values(edits: tuple[FileEdit, ...], baseline: CheckReport | None, turn: "Turn") -> frozenset[str]:
    """Literals in the tests that failed at first, as they were then."""
    paths = {test.path for test in baseline.failing if test.path} if baseline else set[str]()
    was = {edit.path: edit.old for edit in edits}
    texts: list[str] = []
    for path in sorted(paths):
        text = was.get(path)
        if path not in was:
            with suppress(TcoderError):
                file = turn.env.files.read_if_there(path)
                text = file.text if file else None
        if text is not None:
            texts.append(text)
    return integrity.literals_of(texts)


async def _against_originals(turn: "Turn", proof: Proof, baseline: CheckReport, edits: tuple[FileEdit, ...]) -> Proof:
    """Where tests or their configuration were changed: run the tests that failed at first, and those that are gone, as
    they were, against the code as it is."""
    theirs = [edit for edit in edits if integrity.is_test_file(edit.path) or integrity.is_configuration(edit)]
    touched = [edit for edit in theirs if edit.old is not None or integrity.is_configuration(edit)]
    if not touched:
        return proof
    paths = {edit.path for edit in touched}
    failed = {test.id for test in baseline.failing} - set(baseline.flaky)
    wanted = failed | set(proof.vanished)
    wanted |= {test.id for test in baseline.tests if test.path in paths and test.outcome == "passed"}
    if not wanted:
        return proof
    select = tuple(sorted(wanted)) if len(wanted) <= MOST_SELECTED else ()
    turn.emit(Progress("running the tests as they were at the start"))
    report = await _run_with(turn, tuple(touched), select)
    if report is None or (report.problem and not report.tests):
        return with_doubt(proof, "the tests as they were at the start could not be run against the final code")
    outcome = {test.id: test for test in report.tests}
    left = tuple(outcome[name] for name in sorted(failed) if name in outcome and outcome[name].outcome in BAD)
    broken = tuple(name for name in sorted(wanted - failed) if name in outcome and outcome[name].outcome in BAD)
    there = {name for name, test in outcome.items() if test.outcome == "passed"}
    vanished = tuple(name for name in proof.vanished if name not in there)
    about = changes_tests(turn.task)
    return replace(
        _cleared(proof, vanished) if vanished != proof.vanished else proof,
        vanished=vanished,
        unmended=() if about else left,
        informs=about,
        doubts=(
            *proof.doubts,
            *(
                (f"as they were at the start, {_few(tuple(test.id for test in left))} still fail",)
                if left and about
                else ()
            ),
            *((f"as they were at the start, {_few(broken)} passed before and fail now",) if broken else ()),
        ),
    )


BAD = ("failed", "error")


def _few(names: tuple[str, ...]) -> str:
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return f"{', '.join(names[:3])}{more}"


def with_doubt(proof: Proof, text: str) -> Proof:
    return replace(proof, doubts=(*proof.doubts, text))


def _cleared(proof: Proof, vanished: tuple[str, ...]) -> Proof:
    """Tests that no longer run but pass as they were are not missed."""
    if proof.verified is False and not proof.missing and proof.vanished and not vanished:
        return replace(proof, verified=True, why=f"{proof.passed} tests pass")
    return proof


async def _run_with(turn: "Turn", edits: tuple[FileEdit, ...], select: tuple[str, ...]) -> CheckReport | None:
    """Run tests with some files as they were, which are back as they are before this returns or raises. None when they
    cannot be put there."""
    there: list[Edit] = []
    back: list[Edit] = []
    for edit in edits:
        if edit.old is not None:
            there.append(WriteFile(edit.path, edit.old))
        elif edit.new is not None:
            there.append(DeleteFile(edit.path))
        if edit.new is not None:
            back.append(WriteFile(edit.path, edit.new))
        else:
            back.append(DeleteFile(edit.path))
    await turn.mark("before the tests run on files as they were")  # whatever happens meanwhile, it can be had again
    tools = with_fields(turn.tools, seen={})
    try:
        apply(tools, tuple(there))
    except (PatchError, WorkspaceError):
        return None
    try:
        return await _run(turn, select)
    finally:
        tools.seen.clear()
        apply(tools, tuple(back))
