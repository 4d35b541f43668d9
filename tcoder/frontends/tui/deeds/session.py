"""Actions on the session as a whole, its reports and its timeline."""

from pathlib import Path

from tcoder.frontends import explain, export, report_file
from tcoder.frontends.cards import NoticeLine
from tcoder.frontends.figures import clock, cost, plural
from tcoder.frontends.startup import LINES
from tcoder.frontends.tui.screens.entry import enter
from tcoder.frontends.tui.screens.main import Deeds, MainScreen
from tcoder.frontends.tui.screens.pick import pick
from tcoder.protocol.ops import Close, MakeCheckpoint, Redo, Rename, Undo
from tcoder.protocol.queries import (
    ContextReport,
    ListSessions,
    ReadContext,
    ReadStatus,
    SessionChoice,
    SessionList,
    StatusReport,
)


async def context(screen: MainScreen, _: str) -> None:
    report = await screen.desk.ask(ReadContext(), ContextReport)
    if report is not None:
        screen.desk.note(explain.context(report), topic="context")


async def spending(screen: MainScreen, _: str) -> None:
    screen.desk.note(explain.spending(screen.desk.view), topic="cost")


async def status(screen: MainScreen, _: str) -> None:
    text = explain.session(screen.desk.view)
    if screen.desk.session is not None:
        report = await screen.desk.session.query(ReadStatus())
        text = explain.status(report) if isinstance(report, StatusReport) else text
    screen.desk.note(text, topic="status")


async def new(screen: MainScreen, _: str) -> None:
    await screen.reconnect(SessionChoice("new"))


async def resume(screen: MainScreen, rest: str) -> None:
    if rest:
        await screen.reconnect(SessionChoice("resume", rest))
        return
    found = await screen.desk.ask(ListSessions(), SessionList)
    if found is None:
        return
    options = [
        (
            of.id,
            of.title or of.id,
            f"{of.updated[:10]} {clock(of.updated)}  {plural(of.turns, 'turn')}  {cost(of.usage.cost)}"
            + ("  open elsewhere" if of.busy else ""),
        )
        for of in found.sessions
    ]
    pick(screen, "Resume", options, lambda choice: resume(screen, choice))


async def fork(screen: MainScreen, rest: str) -> None:
    """A new session that goes on from here, or from a checkpoint."""
    await screen.reconnect(SessionChoice("fork", screen.desk.view.session_id, rest))


async def write(screen: MainScreen, rest: str) -> None:
    """The conversation as Markdown in a file."""
    path = (
        Path(rest).expanduser()
        if rest
        else Path(screen.desk.startup.workspace) / f"tcoder-{screen.desk.view.session_id}.md"
    )
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(export.markdown(screen.desk.transcript.blocks))
    except OSError as error:
        screen.desk.note(f"cannot write {path}: {error.strerror}", "warning")
        return
    screen.desk.note(f"written to {path}")


async def pager(screen: MainScreen, _: str) -> None:
    """The conversation as plain text in the pager, on the normal screen."""
    screen.run_outside(export.plain(screen.desk.transcript.blocks))


async def close(screen: MainScreen, _: str) -> None:
    """Quit; with queued messages or a running turn only after a question."""
    view = screen.desk.view
    waiting = len(view.queue)
    if (view.running or waiting) and not screen.quitting:
        screen.quitting = True
        what = "a turn is running" if view.running else f"{plural(waiting, 'message')} queued"
        screen.desk.note(f"{what}; quit again to leave, the session is saved", "warning")
        return
    if screen.desk.session is not None:
        await screen.desk.submit(Close("quit"))
    screen.leave()


async def checkpoint(screen: MainScreen, rest: str) -> None:
    await screen.desk.submit(MakeCheckpoint(rest))


async def undo(screen: MainScreen, rest: str) -> None:
    await screen.desk.submit(Undo(rest))


async def redo(screen: MainScreen, rest: str) -> None:
    await screen.desk.submit(Redo(rest))


async def rename(screen: MainScreen, rest: str) -> None:
    async def entered(name: str) -> None:
        await screen.desk.submit(Rename(name))

    if rest:
        await entered(rest)
    else:
        enter(screen, "Name of this session", entered, value=screen.desk.view.title)


async def bug(screen: MainScreen, _: str) -> None:
    """What a bug report needs, in a file; nothing is sent anywhere."""
    desk = screen.desk
    doctor = await desk.host.report("doctor") if desk.host is not None else None
    notices = [of.text for of in desk.transcript.blocks if isinstance(of, NoticeLine) and of.level != "info"]
    text = explain.bug(desk.view, desk.startup.version, doctor, notices[-20:])
    try:
        path = report_file.write_new(report_file.bug_file(desk.startup, desk.view.session_id), text)
    except OSError as error:
        desk.note(f"the report cannot be written: {error.strerror}", "warning")
        return
    desk.note(f"written to {path}; read it before you send it")


async def plain(screen: MainScreen, _: str) -> None:
    """The same session in line mode."""
    desk = screen.desk
    if desk.view.running:
        desk.note("a turn is running; Esc stops it", "warning")
        return
    if desk.session is not None:
        await desk.submit(Close("quit"))
        screen.leave(LINES)


DEEDS: Deeds = {
    "session.rename": rename,
    "session.bug": bug,
    "view.plain": plain,
    "context.show": context,
    "cost.show": spending,
    "status.show": status,
    "session.new": new,
    "session.resume": resume,
    "session.fork": fork,
    "session.export": write,
    "session.transcript": pager,
    "session.quit": close,
    "checkpoint.make": checkpoint,
    "patch.undo": undo,
    "patch.redo": redo,
}
