"""The command line: `--version` without importing anything, then parse and hand over to the app."""

import os
import sys
from typing import NoReturn

from tcoder import __version__


def main(argv: list[str] | None = None) -> int:
    """Run tcoder; returns the exit code of the contract."""
    arguments = sys.argv[1:] if argv is None else argv
    if arguments in (["--version"], ["-V"]):
        print(f"tcoder {__version__}")
        return 0
    from tcoder.app.arguments import parse

    options = parse(arguments)
    if isinstance(options, int):
        return options
    from tcoder.app.start import start

    return start(options)


def run() -> NoReturn:
    """The program: `main`, then out, without taking the interpreter apart piece by piece."""
    try:
        code = main()
        sys.stdout.flush()
        sys.stderr.flush()
    except BrokenPipeError:
        code = 128 + 13
    os._exit(code)
