"""A task without an interface: the session, its signals, its exit code."""

import asyncio
import fcntl
import os
import signal
import stat
import struct
import sys
import termios
from pathlib import Path
from typing import Literal

from tcoder.agent import ci_log, summary
from tcoder.agent.session import Session
from tcoder.app.build import Opened, open_session
from tcoder.app.options import Options
from tcoder.app.place import find_place
from tcoder.app.printing import complain
from tcoder.frontends import headless as headless_front
from tcoder.protocol.errors import UsageError
from tcoder.protocol.ops import Close
from tcoder.protocol.outcome import ExitCode
from tcoder.workspace.git.repository import wide_folder

MAX_TASK = 400_000
Reason = Literal["sigint", "sigterm", "sighup"]
SIGNALS: dict[signal.Signals, Reason] = {
    signal.SIGINT: "sigint",
    signal.SIGTERM: "sigterm",
    signal.SIGHUP: "sighup",
}


async def headless(options: Options) -> int:
    """Do the task, print the result, return the exit code."""
    task = read_task(options)
    if not options.quiet and "-" not in (options.task, options.log) and _has_input():
        complain("standard input is not read: the task is its text alone (--task - reads the task, --log - a log)")
    place = find_place(options)
    if options.path == "." and (wide := wide_folder(place.root)):
        raise UsageError(f"{wide}, not a project", "start in a project, or say -C and the folder if you mean all of it")
    opened = await open_session(options, place, interactive=False)

    async def diff_since(patch_id: str) -> str:
        return await (await opened.env.ledger()).diff(patch_id)

    try:
        ended_by = _close_on_signals(opened.session)
        code = await headless_front.run(
            opened.session,
            task,
            output=options.output_format,
            verbosity=-1 if options.quiet else int(options.verbose),
            color=options.color,
            stdout=sys.stdout,
            stderr=sys.stderr,
            diff_since=diff_since,
        )
        await _write_reports(options, opened)
    finally:
        await opened.close()
    return ended_by[0] if ended_by else code


async def _write_reports(options: Options, opened: Opened) -> None:
    """The patch and the job summary, where they were asked for. Raises `UsageError` when they cannot be written."""
    if not options.patch_out and not options.summary_out:
        return
    state = opened.session.state
    diff = ""
    if state.checkpoints:
        ledger = await opened.env.ledger()
        diff = await ledger.diff(state.checkpoints[0].id)
    for name, text in ((options.patch_out, diff), (options.summary_out, summary.markdown(state, diff))):
        if name:
            try:
                Path(name).write_text(text, encoding="utf-8")
            except OSError as error:
                raise UsageError(f"cannot write {name}: {error.strerror}") from error


def read_task(options: Options) -> str:
    """The task's text; `-` reads stdin, which nothing else ever waits for. With `--log`, what failed in that log is
    added. Raises `UsageError`."""
    text = options.task or ""
    if text == options.log == "-":
        raise UsageError("the task and the log cannot both come from stdin", "name the task: --task TEXT --log -")
    if text == "-":
        text = sys.stdin.buffer.read(4 * MAX_TASK).decode("utf-8", "replace")
    if options.log:
        text = f"{text}\n\nThis is what failed in the log of the pipeline:\n\n{_read_log(options.log)}"
    if not text.strip():
        raise UsageError("the task is empty", "say what to do: tcoder --task 'make the failing tests pass'")
    if len(text) > MAX_TASK:
        raise UsageError(
            f"the task is longer than {MAX_TASK} characters", "put long material in a file and name it in the task"
        )
    return text


def _has_input() -> bool:
    """Whether something waits to be read on standard input; reads nothing and never blocks."""
    try:
        status = os.fstat(0)
        if stat.S_ISREG(status.st_mode):
            return status.st_size > 0
        if not (stat.S_ISFIFO(status.st_mode) or stat.S_ISSOCK(status.st_mode)):
            return False
        return struct.unpack("i", fcntl.ioctl(0, termios.FIONREAD, bytes(4)))[0] > 0
    except OSError:
        return False  # it is closed, or does not say


def _read_log(name: str) -> str:
    """What failed in a log; `-` is stdin. Raises `UsageError`."""
    try:
        if name == "-":
            found = ci_log.excerpt(sys.stdin.buffer)
        else:
            with Path(name).open("rb") as file:
                found = ci_log.excerpt(file)
    except OSError as error:
        raise UsageError(f"cannot read {name}: {error.strerror}") from error
    if not found.errors:
        raise UsageError(f"there is no failure to be seen in {name} ({found.lines} lines)", "is it the right log?")
    return found.text


def _close_on_signals(session: Session) -> list[int]:
    """Close the session on SIGINT, SIGTERM and SIGHUP: children end, the journal is whole. The list that is returned
    gets the exit code of the signal. A second signal ends the process at once."""
    ended_by: list[int] = []
    loop = asyncio.get_running_loop()
    closing: set[asyncio.Task[None]] = set()

    def close(number: signal.Signals) -> None:
        if ended_by:
            os._exit(128 + number)
        ended_by.append(int(ExitCode.INTERRUPTED if number == signal.SIGINT else 128 + number))
        closing.add(asyncio.ensure_future(session.submit(Close(SIGNALS[number]))))

    for number in SIGNALS:
        loop.add_signal_handler(number, close, number)
    return ended_by
