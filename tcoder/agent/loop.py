"""The `agent` strategy: the model drives with tools until it is done, and the tests have the last word."""

from msgspec.structs import replace

from tcoder.agent import halt
from tcoder.agent.proof import Proof, needs_change
from tcoder.agent.turn import Turn
from tcoder.agent.verdict import Ending, done, stopped
from tcoder.protocol.errors import TcoderError
from tcoder.protocol.messages import AssistantMessage
from tcoder.tools.checks import describe

MAX_EMPTY = 3
CUT_OFF = "not run: your answer reached the output limit, so this call may be incomplete; use a smaller one"


async def run(turn: Turn) -> Ending:
    """Answer the last message of the conversation. Raises `ModelError`, and `Halt` when nothing had been changed.
    A turn that ends without a proof leaves its best attempt, never the last by accident."""
    try:
        ending = await _drive(turn)
    except halt.Halt as stop:
        if not turn.changed:
            raise
        return await _stopped(turn, stop)
    if ending.verified is False and (kept := await turn.tries.keep_best()):
        return replace(ending, reason=f"{ending.reason}; {kept}")
    turn.tries.kept()
    return ending


async def _stopped(turn: Turn, stop: halt.Halt) -> Ending:
    """The model may not go on: what it left is proven if tests have not told of it yet, and held against the attempts
    before."""
    proof: Proof | None = None
    try:
        if turn.tries.pending and turn.env.checks is not None:
            proof = await turn.prove(anyway=True)
        kept = await turn.tries.keep_best() if proof is None or proof.verified is not True else ""
        if kept and turn.env.checks is not None:
            proof = await turn.prove(anyway=True)
    except TcoderError as error:
        turn.warn("tests", f"the tests could not be run at the end: {error}")
        return stopped(stop, turn.state)
    turn.tries.kept()
    ending = stopped(stop, turn.state, proof)
    return replace(ending, reason=f"{ending.reason}; {kept}") if kept else ending


async def _drive(turn: Turn) -> Ending:
    attempts = empty = cut_off = 0
    disproven, proof = "", None
    while True:
        message = await turn.converse()
        if message.calls:
            await _call_all(turn, message)
            turn.deliver_steering()
            cut_off = cut_off + 1 if message.stop in ("length", "context_full") else 0
            if cut_off >= MAX_EMPTY:
                why = f"the model's calls were cut off by its output limit {cut_off} times in a row"
                raise halt.no_progress(why, "ask for smaller steps, or use a model that may answer at greater length")
            continue
        if not message.text.strip() or message.stop in ("length", "context_full"):
            empty += 1
            if empty >= MAX_EMPTY:
                raise halt.no_progress(f"the model's answer was empty or cut off {empty} times")
            turn.note("model", "Your answer was cut off." if message.text else "Your answer was empty. Go on.")
            continue
        if message.stop in ("refusal", "filtered"):
            raise halt.refused(message.text)
        if any(queued.steer for queued in turn.state.queue):
            turn.deliver_steering()
            continue
        if not turn.changed:
            return done(message.text, None, wanted_change=needs_change(turn.task))
        if disproven and disproven == turn.last_change:
            return done(message.text, proof, wanted_change=False)  # told that it fails, and changed nothing since
        proof = await turn.prove()
        attempts += 1
        if proof.verified is not False or attempts >= turn.env.max_attempts:
            return done(message.text, proof, wanted_change=False)
        disproven = turn.last_change
        turn.note("tests", _feedback(turn, proof))


async def _call_all(turn: Turn, message: AssistantMessage) -> None:
    """One result for each call, in order."""
    for call in message.calls:
        if message.stop in ("length", "context_full"):
            turn.refuse(call, CUT_OFF)
        else:
            await turn.call(call)


def _feedback(turn: Turn, proof: Proof) -> str:
    report = turn.state.checks
    shown = describe(report) if report else ""
    gone = f"\nThese no longer run: {', '.join(proof.vanished[:10])}" if proof.vanished else ""
    tried = turn.tries.feedback()
    parts = (f"tcoder ran the tests after your change: {proof.why}.{gone}", shown, tried, "Fix the cause and finish.")
    return "\n\n".join(part for part in parts if part)
