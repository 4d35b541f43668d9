"""The command line: `--version` without importing anything, then parse and hand over to the app."""

import sys

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
