"""From options to an exit code: chooses the front end or command, and turns every known error into one sentence."""

import asyncio
import os
import sys
from collections.abc import Coroutine
from importlib import import_module

from tcoder.app.options import Options
from tcoder.protocol.errors import (
    DeniedError,
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
        return asyncio.run(_choose(options))
    except TcoderError as error:
        return _tell(error, options)
    except KeyboardInterrupt:
        return int(ExitCode.INTERRUPTED)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 128 + 13


def _choose(options: Options) -> Coroutine[None, None, int]:
    if options.command:
        return import_module(f"tcoder.app.commands.{options.command}").run(options)
    from tcoder.app import run  # late: the smaller commands do not need what a run needs

    if options.task is not None:
        return run.headless(options)
    if options.plain or not sys.stdout.isatty() or os.environ.get("TERM") in ("dumb", None, ""):
        return run.plain(options)
    return run.interface(options)


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
        case UsageError() | WorkspaceError():
            return ExitCode.USAGE
        case _:
            return ExitCode.BUG


def _tell(error: TcoderError, options: Options) -> int:
    if options.json:
        from tcoder.protocol.codec import encode  # late: only an error in JSON mode needs it

        body = {"error": {"kind": error.kind, "message": error.message, "hint": error.hint}}
        sys.stdout.write(encode(body).decode() + "\n")
        sys.stdout.flush()
    else:
        sys.stderr.write(f"tcoder: {error}\n")
    return int(exit_code(error))
