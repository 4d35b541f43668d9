"""How a turn's ending becomes an outcome: pure."""

from msgspec import Struct

from tcoder.agent.halt import Halt
from tcoder.agent.proof import Proof
from tcoder.agent.state import SessionState
from tcoder.protocol.outcome import Duration, ExitCode, Outcome, Status


class Ending(Struct, frozen=True):
    """What a strategy came to."""

    status: Status
    code: ExitCode
    answer: str
    verified: bool | None = None
    reason: str = ""
    warnings: tuple[str, ...] = ()


def done(answer: str, proof: Proof | None, *, wanted_change: bool) -> Ending:
    """The model says that it is done: what the tests say decides. `proof` None = nothing was changed."""
    if proof is None:
        if wanted_change:
            reason = "the task asks for a change and none was made"
            return Ending("no_progress", ExitCode.NO_PROGRESS, answer, None, reason)
        return Ending("done", ExitCode.DONE, answer)
    warnings = _warnings(proof)
    if proof.verified is False or (proof.verified is None and proof.owed):
        return Ending("checks_fail", ExitCode.CHECKS_FAIL, answer, proof.verified, proof.why, warnings)
    return Ending("done", ExitCode.DONE, answer, proof.verified, proof.why, warnings)


def stopped(stop: Halt, state: SessionState, proof: Proof | None = None) -> Ending:
    """A turn that was stopped: what was proven after the last edit is said, and nothing more."""
    if proof is not None:
        return Ending(stop.status, stop.code, stop.message, proof.verified, str(stop), _warnings(proof))
    verified: bool | None = None
    if state.checks is not None and state.patches and not state.edited_since_checks and not state.checks.partial:
        verified = state.checks.ok
    return Ending(stop.status, stop.code, stop.message, verified, str(stop))


def _warnings(proof: Proof) -> tuple[str, ...]:
    warnings: list[str] = []
    if proof.verified is None:
        warnings.append(f"not verified: {proof.why}")
    if proof.tolerated:
        warnings.append(f"failed before and still do ({len(proof.tolerated)}): {', '.join(proof.tolerated[:5])}")
    if proof.vanished:
        warnings.append(f"no longer run ({len(proof.vanished)}): {', '.join(proof.vanished[:5])}")
    if proof.flaky:
        warnings.append(f"flaky, not counted as fixed: {', '.join(proof.flaky[:5])}")
    warnings += proof.doubts
    return tuple(warnings)


def outcome(
    ending: Ending, state: SessionState, *, denied: bool, warnings: tuple[str, ...], duration: Duration
) -> Outcome:
    """The outcome that is recorded. Something denied turns an unfinished or empty result into code 4."""
    status, code = ending.status, int(ending.code)
    if denied and ending.code in (ExitCode.NO_PROGRESS, ExitCode.CHECKS_FAIL):
        status, code = "denied", int(ExitCode.DENIED)
    return Outcome(
        status=status,
        exit_code=code,
        answer=ending.answer,
        verified=ending.verified,
        reason=ending.reason,
        usage=state.turn_usage,
        duration_s=duration,
        warnings=(*warnings, *(warning for warning in ending.warnings if warning not in warnings)),
    )
