"""From options to an exit code: chooses the front end or command, and turns every known error into one sentence."""

import os
import sys
from collections.abc import Callable, Coroutine
from importlib import import_module
from pathlib import Path

from tcoder.app import wide
from tcoder.app.options import Options
from tcoder.protocol.errors import (
    DeniedError,
    JournalError,
    ModelError,
    NoModelError,
    SandboxError,
    TcoderError,
    UsageError,
    WeightsError,
    WorkspaceError,
)
from tcoder.protocol.outcome import ExitCode


def start(options: Options) -> int:
    """Run what was asked. Returns the exit code of the contract."""
    try:
        begin = _choose(options)
        import asyncio  # late: the first frame of the interface is drawn without it

        return asyncio.run(begin())
    except TcoderError as error:
        return _tell(error, options)
    except KeyboardInterrupt:
        return int(ExitCode.INTERRUPTED)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 128 + 13


def _choose(options: Options) -> Callable[[], Coroutine[None, None, int]]:
    """What to run; for the interface, its first frame is drawn before anything else is imported."""
    if options.command:
        command = import_module(f"tcoder.app.commands.{options.command}")
        return lambda: command.run(options)
    if options.task is not None:
        from tcoder.app import run  # late: the smaller commands do not need what a run needs

        return lambda: run.headless(options)
    wide.ask(options)
    if os.environ.get("TCODER_WEB"):
        from tcoder.app import interactive  # late: a headless run needs nothing of it

        return lambda: interactive.textual(options, None)
    if _wants_lines(options):
        from tcoder.app import interactive  # late: a headless run needs nothing of it

        return lambda: interactive.line_mode(options)
    from tcoder.frontends.tui import prepaint  # late: only the interface has a first frame

    colour = options.color != "never" and not os.environ.get("NO_COLOR")
    first = prepaint.begin(Path(options.path).absolute().name, colour=colour)
    try:
        from tcoder.app import interactive  # late: behind the first frame
    except BaseException:
        if first is not None:
            first.end()
        raise
    return lambda: interactive.textual(options, first)


LINES_ASKED = ("TCODER_PLAIN", "SCREEN_READER", "ACCESSIBLE")
"""Variables with which a person says that lines suit them better than a screen."""
NARROWEST = 40


def _wants_lines(options: Options) -> bool:
    environ = os.environ
    if options.plain or environ.get("TERM", "") in ("", "dumb") or any(map(environ.get, LINES_ASKED)):
        return True
    if not (sys.stdout.isatty() and sys.stdin.isatty()):
        return True
    return 0 < os.get_terminal_size(sys.stdout.fileno()).columns < NARROWEST


def exit_code(error: TcoderError) -> ExitCode:
    """The exit code for an error that ends the process."""
    match error:
        case NoModelError():
            return ExitCode.NO_MODEL
        case ModelError():
            return ExitCode.RETRY_LATER if error.retryable else ExitCode.MODEL_UNUSABLE
        case WeightsError():
            return ExitCode.MODEL_UNUSABLE
        case SandboxError() | DeniedError():
            return ExitCode.DENIED
        case UsageError() | WorkspaceError() | JournalError():
            return ExitCode.USAGE
        case _:
            return ExitCode.BUG


def _tell(error: TcoderError, options: Options) -> int:
    from tcoder.app.printing import complain, say_json  # late: only an error needs it

    if options.json:
        say_json({"error": {"kind": error.kind, "message": error.message, "hint": error.hint}})
        sys.stdout.flush()
    else:
        complain(error)
    return int(exit_code(error))
