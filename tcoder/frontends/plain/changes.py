"""What was changed, in line mode: look at it, judge it hunk by hunk, commit it, go back in time."""

from tcoder.frontends import explain, reviews
from tcoder.frontends.figures import plural
from tcoder.frontends.plain.asking import ask, choose
from tcoder.frontends.plain.runner import Deed, LineMode
from tcoder.frontends.present import diff_lines
from tcoder.frontends.sanitise import clean, clean_line
from tcoder.protocol.ops import CommitAccepted, JudgeHunks, Rollback
from tcoder.protocol.queries import (
    ChangePreview,
    PreviewChange,
    ReadReview,
    ReadTimeline,
    ReviewState,
    SessionChoice,
    Timeline,
    TimelineEntry,
)


async def review(mode: LineMode, _: str) -> None:
    found = await ask(mode, PreviewChange(), ChangePreview)
    if found is None:
        return
    if found.diff.strip():
        mode.show(diff_lines(found.diff))
    else:
        mode.say("nothing changed")


async def commit(mode: LineMode, message: str) -> None:
    """Each hunk that nobody has judged is shown and asked about; then the message, and a yes. Only what was accepted is
    committed, and nothing before the word is written out."""
    state = await ask(mode, ReadReview(), ReviewState)
    if state is None:
        return
    if not any(file.hunks for file in state.files):
        mode.say("nothing changed")
        return
    state = await _judge(mode, state)
    if state is None:
        return
    accepted, left = reviews.left_out(state)
    if not accepted:
        mode.say("no hunk is accepted, so nothing is committed")
        return
    text = message or state.message
    mode.say(f"{plural(accepted, 'accepted hunk')}, {left} left out; the message:")
    mode.say("  " + clean(text).strip().replace("\n", "\n  "))
    answer = await choose(mode, "`commit` commits, other text is another message, an empty line leaves> ")
    if answer and answer != "commit":
        text = answer
        mode.say("  " + clean(text))
        answer = await choose(mode, "`commit` commits, an empty line leaves> ")
    if answer != "commit":
        mode.say("nothing is committed")
    elif problem := reviews.message_problem(text):
        mode.say(problem)
    else:
        await mode.settled(CommitAccepted(text.strip()))


async def _judge(mode: LineMode, state: ReviewState) -> ReviewState | None:
    """The review with an answer to each open hunk; None when the person leaves, and what was accepted stays so."""
    todo = [(file, hunk) for file in state.files for hunk in file.hunks if hunk.state == "open"]
    for at, (file, hunk) in enumerate(todo):
        own = hunk.origin == "person"
        mode.say(f"{clean_line(file.path)} {clean_line(hunk.header)}" + ("  (your own change)" if own else ""))
        mode.show(tuple(reviews.hunk_body(hunk)))
        ways = "1 accept  2 leave out" + ("" if own else "  3 take back [reason]") + "  4 accept the rest  q leave> "
        while True:
            key, _, reason = (await choose(mode, ways)).partition(" ")
            match key:
                case "1":
                    await mode.settled(JudgeHunks((hunk.id,), "accepted"))
                case "2":
                    pass
                case "3" if not own:
                    await mode.settled(JudgeHunks((hunk.id,), "rejected", reason.strip()))
                case "4":
                    rest = tuple(of.id for _, of in todo[at:] if of.origin != "person")
                    await mode.settled(JudgeHunks(rest, "accepted"))
                    return await ask(mode, ReadReview(), ReviewState)
                case "q" | "":
                    mode.say("nothing is committed")
                    return None
                case _:
                    continue
            break
    return await ask(mode, ReadReview(), ReviewState)


async def checkpoints(mode: LineMode, rest: str) -> None:
    """The timeline; with a point's id, or by its number when asked, back to it."""
    found = await ask(mode, ReadTimeline(), Timeline)
    if found is None:
        return
    if not found.entries:
        mode.say("no checkpoint yet")
        return
    if rest:
        entry = next((of for of in found.entries if of.id == rest), None)
    else:
        rows = [
            (str(number), of.id, of.time[11:16], of.kind, of.cause, f"+{of.insertions} -{of.deletions}", of.checks)
            for number, of in enumerate(found.entries, 1)
        ]
        mode.say(explain.columns(rows))
        number = await choose(mode, "number to go back to, an empty line leaves> ")
        if not number:
            return
        chosen = int(number) if number.isdecimal() else 0
        entry = found.entries[chosen - 1] if 0 < chosen <= len(found.entries) else None
    if entry is None:
        mode.say("there is no such point")
        return
    await _back(mode, entry)


async def _back(mode: LineMode, entry: TimelineEntry) -> None:
    preview = await ask(mode, PreviewChange(entry.id), ChangePreview)
    if preview is None:
        return
    mode.say(f"changed since {clean_line(entry.cause)}:" if preview.diff.strip() else "nothing has changed since")
    mode.show(diff_lines(preview.diff) if preview.diff.strip() else ())
    if preview.untracked:
        mode.say("made since, kept by a roll back: " + ", ".join(map(clean_line, preview.untracked[:8])))
    match await choose(mode, "1 files  2 files and conversation  3 fork from here  an empty line leaves> "):
        case "1":
            await mode.settled(Rollback(entry.id))
        case "2":
            await mode.settled(Rollback(entry.id, conversation=True))
        case "3":
            await mode.switch(SessionChoice("fork", mode.view.session_id, entry.id))
        case _:
            mode.say("nothing is changed")


DEEDS: dict[str, Deed] = {"review.open": review, "review.commit": commit, "timeline.open": checkpoints}
